#include <algorithm>
#include <ostream>
#include <sstream>

#include "ir/script/printer.h"
#include "ir/structural.h"
#include "tools/commands.h"
#include "tools/peer/same_form.h"
#include "tools/program_file.h"

namespace tilewright {
namespace {

constexpr size_t kMaxLines = 20;
constexpr size_t kMaxColumn = 78;

std::vector<std::string> Lines(const Stmt& s) {
  std::vector<std::string> lines;
  if (!s) return lines;
  std::istringstream text(Print(s));
  for (std::string line; std::getline(text, line);) {
    if (lines.size() == kMaxLines) {
      lines.push_back("...");
      break;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// The two statements in two columns; '|' between lines that differ.
void PrintSideBySide(const Mismatch& mismatch, std::ostream& out) {
  const std::vector<std::string> left = Lines(mismatch.a), right = Lines(mismatch.b);
  size_t width = 0;
  for (const std::string& line : left) width = std::max(width, line.size());
  width = std::min(width, kMaxColumn);
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string a = i < left.size() ? left[i] : "";
    const std::string b = i < right.size() ? right[i] : "";
    const char* mark = a == b ? "   " : " | ";
    if (a.size() < width) a.resize(width, ' ');
    out << a << mark << b << "\n";
  }
}

int Equal(const CommandArguments& args) {
  std::optional<Module> a = ReadProgram(args, args.operands()[0]);
  std::optional<Module> b = ReadProgram(args, args.operands()[1]);
  if (!a || !b) return kRefused;
  Mismatch mismatch;
  if (StructuralEqual(*a, *b, &mismatch)) {
    args.out() << "equal\n";
    return kDone;
  }
  if (args.Has("--simplify")) {
    const Module left = Simplified(*a), right = Simplified(*b);
    if (StructuralEqual(left, right, &mismatch) || StructuralEqual(Sorted(left), Sorted(right))) {
      args.out() << "equal after simplification\n";
      return kDone;
    }
  }
  args.out() << "different at " << mismatch.path << ": " << mismatch.reason << "\n";
  PrintSideBySide(mismatch, args.out());
  return kRefused;
}

}  // namespace

Command EqualCommand() {
  return {.name = "equal",
          .operands = "A B",
          .summary = "compares two programs up to the names of variables and buffers",
          .details =
              "Prints the first difference, both sides next to each other, and exits with 1 when there is one. With "
              "--simplify, indices, regions, bindings and conditions are compared after simplification: 14 <= v0 * 4 + "
              "v1 is v0 == 3 and 2 <= v1 where v1 has 4 values, and iterators of one value are that value.",
          .takes = kPrograms,
          .run = Equal};
}

}  // namespace tilewright

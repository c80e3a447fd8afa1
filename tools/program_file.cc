#include "tools/program_file.h"

#include <iterator>
#include <ostream>

#include "base/files.h"
#include "ir/script/parser.h"

namespace tilewright {

std::optional<std::string> ReadText(const CommandArguments& args, const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(args.in()), std::istreambuf_iterator<char>());
  absl::StatusOr<std::string> text = ReadFile(path);
  if (text.ok()) return *std::move(text);
  args.err() << path << ": error: cannot read this file\n";
  return std::nullopt;
}

bool WriteText(const CommandArguments& args, const std::string& path, std::string_view text) {
  if (WriteFile(path, text).ok()) return true;
  args.err() << path << ": cannot be written\n";
  return false;
}

std::optional<Module> ReadProgram(const CommandArguments& args, const std::string& path) {
  std::optional<std::string> text = ReadText(args, path);
  if (!text) return std::nullopt;
  script::ParseResult result = script::Parse(*text, path == "-" ? "<stdin>" : path);
  if (result.diagnostics.empty()) return std::move(result.module);
  for (const script::Diagnostic& diagnostic : result.diagnostics) args.err() << diagnostic.ToString() << "\n";
  return std::nullopt;
}

}  // namespace tilewright

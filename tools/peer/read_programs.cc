// Reads each program named on the command line, prints it, reads that again and compares; says what was refused and
// what came back changed, equal messages once with their number.
//
//   read_programs FILE...
//
// Exit status 0 when every program came back equal.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

struct Outcome {
  std::string summary;  // empty: read and came back
  std::string detail;
};

// Diagnostics of one kind differ in file and line: what follows "error: " tells them apart.
std::string Summary(const std::string& kind, const std::string& message) {
  const size_t from = message.find("error: ");
  const std::string rest = from == std::string::npos ? message : message.substr(from + 7);
  return kind + ": " + rest.substr(0, rest.find('\n'));
}

Outcome RoundTrip(const std::string& text, const std::string& file) {
  const absl::StatusOr<Module> module = ParseModule(text, file);
  if (!module.ok()) {
    const std::string message(module.status().message());
    return {Summary("refused", message), message};
  }
  const std::string printed = Print(*module);
  const absl::StatusOr<Module> again = ParseModule(printed, file);
  if (!again.ok()) {
    const std::string message(again.status().message());
    return {Summary("printed text refused", message), message};
  }
  Mismatch mismatch;
  if (!StructuralEqual(*module, *again, &mismatch)) {
    const std::string message = file + ": " + mismatch.path + ": " + mismatch.reason;
    return {"came back changed: " + mismatch.reason, message};
  }
  if (Print(*again) != printed) return {"printed differently", file};
  return {};
}

int Run(int argc, char** argv) {
  std::map<std::string, std::pair<int, std::string>> outcomes;
  int read = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
      return 1;
    }
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const Outcome outcome = RoundTrip(text, argv[i]);
    if (outcome.summary.empty()) {
      ++read;
      continue;
    }
    auto& [count, example] = outcomes[outcome.summary];
    if (count++ == 0) example = outcome.detail;
  }
  for (const auto& [summary, outcome] : outcomes) {
    std::printf("---- %d: %s\n%s\n", outcome.first, summary.c_str(), outcome.second.c_str());
  }
  std::printf("%d of %d programs came back equal\n", read, argc - 1);
  return read == argc - 1 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) { return tilewright::Run(argc, argv); }

#include "tools/program_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "ir/script/parser.h"

namespace tilewright {

std::optional<std::string> ReadText(const CommandArguments& args, const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(args.in()), std::istreambuf_iterator<char>());
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, error)) {
    args.err() << path << ": error: cannot read this file\n";
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
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

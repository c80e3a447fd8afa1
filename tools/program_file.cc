#include "tools/program_file.h"

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/nearest_names.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

std::vector<std::string> NamesOfFunctions(const Module& module) {
  std::vector<std::string> names;
  for (const Function& function : module.functions()) names.push_back(function->name);
  return names;
}

}  // namespace

bool WriteText(const CommandArguments& args, const std::string& path, std::string_view text) {
  const absl::Status written = WriteFile(path, text);
  if (!written.ok()) args.err() << std::string(written.message()) << "\n";
  return written.ok();
}

std::optional<Module> ReadProgram(const CommandArguments& args, const std::string& path) {
  if (IsModelPath(path)) {
    args.err() << path << ": error: this is an ONNX model, and a program is wanted\n";
    return std::nullopt;
  }
  std::optional<std::string> text = ReadSource(args, path);
  if (!text) return std::nullopt;
  const std::string file = path == "-" ? "<stdin>" : path;
  if (const FileKind kind = KindOf(path, *text); (kPrograms & Bit(kind)) == 0) {
    args.err() << file << ": error: this is " << NameOf(kind) << ", and a program is wanted\n";
    return std::nullopt;
  }
  script::ParseResult result = script::Parse(*text, file);
  if (result.diagnostics.empty() && result.module.functions().empty()) {
    args.err() << file << ": error: there is no function (@T.prim_func) in this file\n";
    return std::nullopt;
  }
  if (result.diagnostics.empty()) return std::move(result.module);
  for (const script::Diagnostic& diagnostic : result.diagnostics) args.err() << diagnostic.ToString() << "\n";
  return std::nullopt;
}

std::optional<std::string> UnknownFunction(const CommandArguments& args, const Module& module) {
  const auto name = args.Get("--func");
  if (!name || module.Find(*name)) return std::nullopt;
  const std::vector<std::string> names = NamesOfFunctions(module);
  return "--func=" + *name + ": there is no such function" + DidYouMean(*name, names);
}

std::string NamingExtern(std::string_view message) {
  const bool missing =
      message.find("Symbols not found") != message.npos || message.find("undefined symbol") != message.npos;
  return std::string(message) + (missing ? "; --extern=LIB.so names a library that has it" : "");
}

std::string WhichFunction(const Module& module) {
  return "which function? --func says: " + absl::StrJoin(NamesOfFunctions(module), ", ");
}

}  // namespace tilewright

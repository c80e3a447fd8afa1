#include "tools/command_line/input_text.h"

#include <filesystem>
#include <fstream>
#include <ostream>

#include "base/files.h"

namespace tilewright {
namespace {

bool Refuse(const CommandArguments& args, const std::string& path, const std::string& message) {
  args.err() << path << ": error: " << message << "\n";
  return false;
}

}  // namespace

std::optional<std::string> ReadText(const CommandArguments& args, const std::string& path) {
  if (const std::string* known = args.FindText(path)) return *known;
  if (path == "-") return args.KeepText(path, args.Input());
  absl::StatusOr<std::string> text = ReadFile(path);
  if (text.ok()) return args.KeepText(path, *std::move(text));
  Refuse(args, path, "cannot read this file");
  return std::nullopt;
}

std::optional<std::string> ReadSource(const CommandArguments& args, const std::string& path) {
  std::optional<std::string> text = ReadText(args, path);
  if (!text) return std::nullopt;
  const std::string shown = path == "-" ? "<stdin>" : path;
  std::optional<std::string> other = WhatItIs(*text);
  if (text->find_first_not_of(" \t\r\n") == text->npos) other = "empty";
  if (BeginsAsModel(*text)) other = "an ONNX model, whose name has to end in .onnx";
  if (!other) return text;
  Refuse(args, shown, "this file is " + *other);
  return std::nullopt;
}

bool MayBeModel(const CommandArguments& args, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string beginning(kBeginningBytes, '\0');
  if (!file || (file.read(beginning.data(), kBeginningBytes), file.bad())) return true;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return true;
  beginning.resize(static_cast<size_t>(file.gcount()));
  const std::optional<std::string> other = WhatItIs(beginning);
  return !other || Refuse(args, path, "this file is " + *other);
}

}  // namespace tilewright

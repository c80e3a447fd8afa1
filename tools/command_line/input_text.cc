#include "tools/command_line/input_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string_view>

#include "base/files.h"

namespace tilewright {
namespace {

// Models have bytes below 9 within a few fields: their tags and lengths.
bool IsText(std::string_view beginning) {
  return std::ranges::none_of(beginning, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t';
  });
}

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
  std::error_code error;
  Refuse(args, path,
         std::filesystem::is_directory(path, error) ? "this is a folder"
         : std::filesystem::exists(path, error)     ? "cannot read this file"
                                                    : "there is no such file");
  return std::nullopt;
}

std::optional<std::string> ReadSource(const CommandArguments& args, const std::string& path) {
  std::optional<std::string> text = ReadText(args, path);
  if (!text) return std::nullopt;
  const std::string shown = path == "-" ? "<stdin>" : path;
  std::optional<std::string> other = WhatItIs(*text);
  if (text->find_first_not_of(" \t\r\n") == text->npos) other = "empty";
  if (path == "-" && BeginsAsModel(*text)) return text;
  if (BeginsAsModel(*text)) other = "an ONNX model, whose name has to end in .onnx";
  const std::string_view beginning = std::string_view(*text).substr(0, kBeginningBytes);
  if (!other && beginning.find('\0') != beginning.npos) other = "binary, and of no kind that is known";
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
  std::optional<std::string> other = WhatItIs(beginning);
  if (!other && IsText(beginning)) other = "text: the name of an ONNX model ends in .onnx, that of a program does not";
  return !other || Refuse(args, path, "this file is " + *other);
}

}  // namespace tilewright

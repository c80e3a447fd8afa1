// Reading of the files that a command line names.
#pragma once

#include <optional>
#include <string>

#include "tools/command_line/command.h"

namespace tilewright {

// The text of a file, "-" being standard input; each is read once. Nothing when it cannot be read; the reason is on
// `args.err()`.
std::optional<std::string> ReadText(const CommandArguments& args, const std::string& path);

// The text of a file that may hold a program, a graph or a kernel: what is compressed, empty, a pointer to another
// file and the like is refused for what it is.
std::optional<std::string> ReadSource(const CommandArguments& args, const std::string& path);

// Whether the file of an ONNX model may be one, by its first bytes; reports what it is where it is not. Files that
// cannot be read are good: who opens them says why.
bool MayBeModel(const CommandArguments& args, const std::string& path);

}  // namespace tilewright

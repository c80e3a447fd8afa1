// Reading and writing of files for commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/function.h"
#include "tools/command.h"

namespace tilewright {

// The text of a file, "-" being standard input. Nothing when it cannot be read; the reason is on `args.err()`.
std::optional<std::string> ReadText(const CommandArguments& args, const std::string& path);

// Writes a file. False when it cannot; the reason is on `args.err()`.
bool WriteText(const CommandArguments& args, const std::string& path, std::string_view text);

// The program in a file. Nothing when it is refused; the diagnostics are on `args.err()`.
std::optional<Module> ReadProgram(const CommandArguments& args, const std::string& path);

}  // namespace tilewright

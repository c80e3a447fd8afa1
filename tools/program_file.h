// Reading and writing of files for commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/function.h"
#include "tools/command_line/command.h"
#include "tools/command_line/input_text.h"

namespace tilewright {

// Writes a file. False when it cannot; the reason is on `args.err()`.
bool WriteText(const CommandArguments& args, const std::string& path, std::string_view text);

// The program in a file. Nothing when it is refused; the diagnostics are on `args.err()`.
std::optional<Module> ReadProgram(const CommandArguments& args, const std::string& path);

// What is wrong with --func, which has to name a function of the module; nothing where it does, or is not given.
std::optional<std::string> UnknownFunction(const CommandArguments& args, const Module& module);
// A message, and which flag is missing where it is about a function that no library has.
std::string NamingExtern(std::string_view message);
// What is said where --func has to choose: "which function? --func says: f, g".
std::string WhichFunction(const Module& module);

}  // namespace tilewright

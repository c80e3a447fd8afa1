// What is printed of the table of flags: help and completion.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line/command.h"

namespace tilewright {

// `tilewright --help`: the commands.
void PrintCommands(const std::vector<Command>& commands, std::ostream& out);
// `tilewright COMMAND --help`: what it does, and its flags, each with the kinds of FILE that it is for.
void PrintHelp(const Command& command, std::ostream& out);

// The shells that completion is for.
std::vector<std::string> Shells();
// A script for one of them that completes commands, flags and values that are words.
std::string Completion(std::string_view shell, const std::vector<Command>& commands);

}  // namespace tilewright

// `help --man`: the man page, made from the table of flags.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

#include "tools/command_line/command.h"

namespace tilewright {

// In the macros of man(7).
void PrintManPage(const std::vector<Command>& commands, std::string_view version, std::ostream& out);

}  // namespace tilewright

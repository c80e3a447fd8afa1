// Where a command line wants its results written: whether that can be, before work that may take long.
#pragma once

#include <optional>
#include <string>

#include "tools/command_line/command.h"

namespace tilewright {

// Tries every file and folder that a flag of the table says is written (ValueForm::kOut, kOutFolder), and leaves each as
// it was, or not there. Names the first that cannot be, and why: "DIR cannot be written: Not a directory".
std::optional<std::string> UnwritablePlace(const CommandArguments& args);

}  // namespace tilewright

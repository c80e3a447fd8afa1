// Files and folders that results are written to: whether they can be written, asked before the work.
#pragma once

#include <optional>
#include <string>

#include "tools/command_line/command.h"

namespace tilewright {

// Tries every file and folder that a flag of the table writes (ValueForm::kOut, kOutFolder), and leaves each as it was,
// or not there. Names the first one that cannot be written, and why: "DIR cannot be written: Not a directory".
std::optional<std::string> UnwritablePlace(const CommandArguments& args);

}  // namespace tilewright

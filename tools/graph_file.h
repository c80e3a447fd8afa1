// What the commands do with graph text (graph/ir/printer.h) in place of programs.
#pragma once

#include "tools/command_line/command.h"

namespace tilewright {

// `show GRAPH`: its canonical form.
int ShowGraph(const CommandArguments& args);
// `check GRAPH`: whether its functions are well formed, and its programs valid.
int CheckGraph(const CommandArguments& args);
// `run GRAPH`: its operators lowered to programs, these compiled for this machine, "main" on the arrays of --inputs or
// on random ones.
int RunGraph(const CommandArguments& args);

}  // namespace tilewright

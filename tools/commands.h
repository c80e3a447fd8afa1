// The table of commands.
#pragma once

#include <vector>

#include "tools/command.h"

namespace tilewright {

Command ShowCommand();
Command EqualCommand();
Command ScheduleCommand();
Command CompileCommand();

inline std::vector<Command> AllCommands() {
  return {
      ShowCommand(),
      EqualCommand(),
      ScheduleCommand(),
      CompileCommand(),
  };
}

}  // namespace tilewright

// The table of commands.
#pragma once

#include <vector>

#include "tools/command_line/command.h"

namespace tilewright {

Command ShowCommand();
Command EqualCommand();
Command ScheduleCommand();
Command CompileCommand();
Command CheckCommand();
Command RunCommand();
Command TargetCommand();
Command DbCommand();
Command ExplainCommand();
Command TuneCommand();
Command EmulateCommand();
Command ListCommand();

inline std::vector<Command> AllCommands() {
  return {
      ShowCommand(),   EqualCommand(), ScheduleCommand(), CompileCommand(), CheckCommand(),   RunCommand(),
      TargetCommand(), TuneCommand(),  DbCommand(),       ExplainCommand(), EmulateCommand(), ListCommand(),
  };
}

}  // namespace tilewright

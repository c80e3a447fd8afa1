#include "tools/testing/run_tool.h"

#include <sstream>

#include "tools/commands.h"

namespace tilewright {

ToolResult RunTool(const std::vector<std::string>& args, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int status = RunCommandLine(args, AllCommands(), in, out, err);
  return {status, out.str(), err.str()};
}

}  // namespace tilewright

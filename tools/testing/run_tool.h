// The program `tilewright` inside of a test.
//
//   EXPECT_EQ(RunTool({"show", "-"}, text).status, kDone);
#pragma once

#include <string>
#include <vector>

namespace tilewright {

struct ToolResult {
  int status = 0;
  std::string out, err;
};

// Runs a command line without the program's name; `input` is its standard input.
ToolResult RunTool(const std::vector<std::string>& args, const std::string& input = "");

}  // namespace tilewright

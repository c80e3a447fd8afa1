// Other programs: compilers and linkers.
//
//   std::string output;
//   if (RunCommand({"ld", "-shared", ...}, &output) != 0) ... output says why
#pragma once

#include <string>
#include <vector>

namespace tilewright {

// The exit status, with everything the program prints in `output`; -1 when it cannot be started, 127 where there is no
// such program. A program that a signal ends counts as one that fails with 1.
int RunCommand(const std::vector<std::string>& command, std::string* output);

}  // namespace tilewright

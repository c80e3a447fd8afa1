#include <csignal>
#include <iostream>

#include "tools/commands.h"

int main(int argc, char** argv) {
  // A reader that goes away is an error of writing, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> args(argv + 1, argv + argc);
  return tilewright::RunCommandLine(args, tilewright::AllCommands(), std::cin, std::cout, std::cerr);
}

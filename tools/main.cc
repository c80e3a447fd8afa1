#include <iostream>

#include "tools/commands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  return tilewright::RunCommandLine(args, tilewright::AllCommands(), std::cin, std::cout, std::cerr);
}

// A worker that does what it is told: "crash", "exit", "hang", "eat" memory, tell its "pid"; else it repeats the
// request.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "autoschedule/measure/protocol/serve.h"

int main(int argc, char** argv) {
  int answered = 0;
  return tilewright::ServeLines(argc, argv, [&](const std::string& request) {
    std::printf("this is not an answer\n");
    std::fflush(stdout);
    if (request == "crash") {
      std::fprintf(stderr, "about to crash\n");
      std::abort();
    }
    if (request == "exit") std::_Exit(3);
    if (request == "hang") {
      for (;;) pause();
    }
    if (request == "eat") {
      for (std::vector<std::vector<char>> eaten;;) eaten.emplace_back(size_t{64} << 20);
    }
    if (request == "pid") return std::to_string(getpid());
    return request + " " + std::to_string(++answered);
  });
}

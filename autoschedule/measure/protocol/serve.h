// The worker's side of worker_pool.h: what main() of a worker consists of.
//
//   int main(int argc, char** argv) {
//     return ServeLines(argc, argv, [](const std::string& request) { return Answer(request); });
//   }
//
// Flags: --memory-bytes=N, a limit of the address space; --library=PATH, a shared library whose functions what is run
// may call. What the code that is run writes to standard output goes to standard error instead. When the other side is
// gone the worker ends, also in the middle of a request.
#pragma once

#include <functional>
#include <string>

namespace tilewright {

// Answers each line of standard input by a line, until the end of input. Returns the exit status.
int ServeLines(int argc, char** argv, const std::function<std::string(const std::string& request)>& answer);

}  // namespace tilewright

#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace tilewright::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition)
    : file_(file), line_(line), condition_(condition), stream_(new std::ostringstream) {}

CheckFailure::~CheckFailure() {
  const std::string message = static_cast<std::ostringstream*>(stream_)->str();
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file_, line_, condition_, message.empty() ? "" : ": ",
               message.c_str());
  std::fflush(stderr);
  std::abort();
}

void ReachedUnreachable(const char* file, int line) {
  std::fprintf(stderr, "%s:%d: reached code that is marked unreachable\n", file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tilewright::internal

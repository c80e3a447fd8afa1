// A bound of the memory that a process may have.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace tilewright {

// Allocations fail from `bytes` of address space on. Sanitizers map far more than a program uses, so that under them
// there is no bound.
inline void LimitMemory([[maybe_unused]] uint64_t bytes) {
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace tilewright

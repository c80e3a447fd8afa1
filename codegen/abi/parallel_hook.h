// How compiled code runs a loop in parallel.
//
// Compiled code owns no threads and knows no global pool: the caller hands it a `TwParallelHook`, which is either
// `ThreadPool::hook()` or a table filled by a program that has a pool of its own. A null hook, or one without
// `parallel_for`, runs loops serially.
//
// Contract of `parallel_for(pool, body, closure, extent, max_threads)`:
//   * it calls `body(begin, end, closure)` on disjoint ranges that cover [0, extent), in any order, from any threads,
//     at most `max_threads` of them at once (0: as many as the pool has), and returns after the last has returned;
//   * memory written before the call is visible to every body, and what bodies wrote is visible after it returns;
//   * it may be called from inside a body (a nested loop) and from several threads at once;
//   * it returns 0, or another number, which compiled code hands back as its own result.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*TwParallelBody)(int64_t begin, int64_t end, void* closure);

typedef struct TwParallelHook {
  void* pool;           // Handed back to `parallel_for`.
  int64_t num_threads;  // Threads that can take part, the caller included; at least 1.
  int (*parallel_for)(void* pool, TwParallelBody body, void* closure, int64_t extent, int64_t max_threads);
} TwParallelHook;

// What compiled code calls: the loop through `hook`, or serially where there is none.
static inline int tw_parallel_for(const TwParallelHook* hook, TwParallelBody body, void* closure, int64_t extent,
                                  int64_t max_threads) {
  if (extent <= 0) return 0;
  if (hook != 0 && hook->parallel_for != 0 && max_threads != 1) {
    return hook->parallel_for(hook->pool, body, closure, extent, max_threads);
  }
  body(0, extent, closure);
  return 0;
}

#ifdef __cplusplus
}
#endif

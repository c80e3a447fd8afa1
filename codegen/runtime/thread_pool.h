// A pool of pinned threads for loops of a few microseconds.
//
//   ThreadPool pool;                                        // one thread per available CPU, the caller included
//   pool.ParallelFor(rows, [&](int64_t begin, int64_t end) { ... });
//   compiled_function(&hook, ...);                          // with TwParallelHook hook = pool.hook();
//
// Terms:
//   worker  a thread of the pool. It is pinned to one CPU, and the CPU on which the pool was made is left to callers.
//   chunk   a contiguous part of the loop: there are min(extent, max_threads, num_threads) of them, equal to within one
//           iteration, and which iterations form chunk i depends on nothing else.
//   post    handing a chunk to a worker; the caller keeps chunk 0 for itself.
//   steal   the caller runs a posted chunk that its worker has not begun, so that a worker without a CPU (asleep,
//           preempted, or sharing the caller's CPU) delays nobody.
//
// A worker spins for `spin_nanoseconds` after its last chunk and then sleeps on a futex: a pool that is not in use
// takes no CPU time. A loop that starts while the pool is busy, be it nested or from another thread, runs serially in
// its caller. Bodies must not throw. A pool does not survive fork().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "codegen/abi/parallel_hook.h"

namespace tilewright::runtime {

struct ThreadPoolOptions {
  // Threads that take part in a loop, the caller included; 0 for one per CPU of `cpus`. More threads than CPUs work,
  // slowly.
  int num_threads = 0;
  // CPUs to pin workers to; empty for AvailableCpus().
  std::vector<int> cpus = {};
  bool pin_workers = true;
  // About what waking a sleeping worker costs, so that spinning never wastes more than it can save.
  int64_t spin_nanoseconds = 50'000;
};

class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options = {});
  // No loop may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Less than what was asked for where the system refused to start a thread.
  int num_threads() const { return num_workers_ + 1; }

  // Runs `body` on the chunks of [0, extent) and returns after the last; `max_threads` 0 stands for all threads.
  void Run(TwParallelBody body, void* closure, int64_t extent, int64_t max_threads = 0);

  // The same for a callable `void(int64_t begin, int64_t end)`.
  template <typename Body>
  void ParallelFor(int64_t extent, Body&& body, int64_t max_threads = 0) {
    using Callable = std::remove_reference_t<Body>;
    Run([](int64_t begin, int64_t end, void* closure) { (*static_cast<Callable*>(closure))(begin, end); },
        const_cast<void*>(static_cast<const void*>(&body)), extent, max_threads);
  }

  // What compiled code takes; valid while the pool lives.
  TwParallelHook hook();

 private:
  struct Worker;
  struct FreeWorkers {
    void operator()(Worker* workers) const;
  };

  void RunWorker(Worker& worker);
  void Post(Worker& worker, TwParallelBody body, void* closure, int64_t begin, int64_t end);
  void Join(Worker& worker);
  static void* WorkerMain(void* worker);

  const int64_t spin_nanoseconds_;
  int num_workers_ = 0;
  std::unique_ptr<Worker, FreeWorkers> workers_;
  alignas(128) std::atomic<bool> busy_ = false;
};

}  // namespace tilewright::runtime

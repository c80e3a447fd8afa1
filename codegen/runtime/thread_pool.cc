#include "codegen/runtime/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "codegen/runtime/available_cpus.h"
#include "codegen/runtime/timer.h"

namespace tilewright::runtime {
namespace {

// States of a worker. The owner of a transition is named; every other thread only reads.
enum State : uint32_t {
  kIdle,      // Nothing to do, the worker spins.      worker -> kSleeping; caller -> kPosted, kStop
  kSleeping,  // Nothing to do, the worker is asleep.  caller -> kPosted, kStop
  kPosted,    // A chunk waits.                        worker -> kRunning; caller (steals) -> kIdle
  kRunning,   // The worker runs its chunk.            worker -> kIdle; caller -> kAwaited
  kAwaited,   // The same, and the caller is asleep.   worker -> kIdle
  kStop,      // The pool is being destroyed.
};

// Two lines, because the hardware prefetcher of common CPUs fetches lines in pairs.
constexpr size_t kWorkerAlignment = 128;

// A spinning worker begins a chunk within this time, so one that has not is without a CPU.
constexpr int64_t kStealNanoseconds = 2'000;

// Spins between two looks at the clock, which costs as much as several of them.
constexpr int kSpinsPerClock = 64;

void SpinOnce() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

void FutexWait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

// Spins until `state` leaves `from` or the time is over; returns the state last seen.
uint32_t SpinWhile(const std::atomic<uint32_t>& state, uint32_t from, int64_t nanoseconds) {
  int64_t start = 0;
  while (true) {
    for (int i = 0; i < kSpinsPerClock; ++i) {
      const uint32_t seen = state.load(std::memory_order_acquire);
      if (seen != from) return seen;
      SpinOnce();
    }
    const int64_t now = NowNanoseconds();
    if (start == 0) start = now;
    if (now - start >= nanoseconds) return from;
  }
}

// First iteration of chunk `i` of `chunks`: the remainder is spread over the first chunks.
int64_t ChunkBegin(int64_t extent, int64_t chunks, int64_t i) {
  return extent / chunks * i + std::min(i, extent % chunks);
}

}  // namespace

// A whole hand-over (state and chunk) moves between the two cores in one cache line.
struct alignas(kWorkerAlignment) ThreadPool::Worker {
  std::atomic<uint32_t> state = kIdle;
  TwParallelBody body = nullptr;
  void* closure = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  ThreadPool* pool = nullptr;
  pthread_t thread = {};
};

void ThreadPool::FreeWorkers::operator()(Worker* workers) const { std::free(workers); }

ThreadPool::ThreadPool(const ThreadPoolOptions& options) : spin_nanoseconds_(options.spin_nanoseconds) {
  std::vector<int> cpus = options.cpus.empty() ? AvailableCpus() : options.cpus;
  // The CPU of the caller goes last: workers take the others first.
  const auto own = std::find(cpus.begin(), cpus.end(), sched_getcpu());
  if (own != cpus.end()) std::rotate(cpus.begin(), own + 1, cpus.end());

  const int wanted = (options.num_threads > 0 ? options.num_threads : static_cast<int>(cpus.size())) - 1;
  if (wanted <= 0) return;
  workers_.reset(
      static_cast<Worker*>(std::aligned_alloc(kWorkerAlignment, static_cast<size_t>(wanted) * sizeof(Worker))));
  if (workers_ == nullptr) return;
  for (int i = 0; i < wanted; ++i) {
    Worker* worker = new (workers_.get() + i) Worker;
    worker->pool = this;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const int cpu = cpus[static_cast<size_t>(i) % cpus.size()];
    if (options.pin_workers && cpu < CPU_SETSIZE) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpu, &set);
      pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
    }
    int error = pthread_create(&worker->thread, &attributes, WorkerMain, worker);
    // A CPU that was taken away meanwhile is not a reason to have fewer threads.
    if (error == EINVAL) error = pthread_create(&worker->thread, nullptr, WorkerMain, worker);
    pthread_attr_destroy(&attributes);
    if (error != 0) break;
    ++num_workers_;
  }
}

ThreadPool::~ThreadPool() {
  for (int i = 0; i < num_workers_; ++i) {
    Worker& worker = workers_.get()[i];
    if (worker.state.exchange(kStop) == kSleeping) FutexWake(worker.state);
    pthread_join(worker.thread, nullptr);
  }
}

void* ThreadPool::WorkerMain(void* worker) {
  static_cast<Worker*>(worker)->pool->RunWorker(*static_cast<Worker*>(worker));
  return nullptr;
}

void ThreadPool::RunWorker(Worker& worker) {
  while (true) {
    uint32_t state = SpinWhile(worker.state, kIdle, spin_nanoseconds_);
    if (state == kIdle && worker.state.compare_exchange_strong(state, kSleeping)) {
      do {
        FutexWait(worker.state, kSleeping);
        state = worker.state.load(std::memory_order_acquire);
      } while (state == kSleeping);
    }
    if (state == kStop) return;
    if (state != kPosted || !worker.state.compare_exchange_strong(state, kRunning)) continue;
    worker.body(worker.begin, worker.end, worker.closure);
    if (worker.state.exchange(kIdle) == kAwaited) FutexWake(worker.state);
  }
}

void ThreadPool::Post(Worker& worker, TwParallelBody body, void* closure, int64_t begin, int64_t end) {
  worker.body = body;
  worker.closure = closure;
  worker.begin = begin;
  worker.end = end;
  if (worker.state.exchange(kPosted) == kSleeping) FutexWake(worker.state);
}

void ThreadPool::Join(Worker& worker) {
  uint32_t state = SpinWhile(worker.state, kPosted, kStealNanoseconds);
  if (state == kPosted && worker.state.compare_exchange_strong(state, kIdle)) {
    worker.body(worker.begin, worker.end, worker.closure);
    return;
  }
  state = SpinWhile(worker.state, kRunning, spin_nanoseconds_);
  if (state != kRunning || !worker.state.compare_exchange_strong(state, kAwaited)) return;
  do {
    FutexWait(worker.state, kAwaited);
  } while (worker.state.load(std::memory_order_acquire) == kAwaited);
}

void ThreadPool::Run(TwParallelBody body, void* closure, int64_t extent, int64_t max_threads) {
  if (extent <= 0) return;
  int64_t chunks = std::min<int64_t>(extent, num_threads());
  if (max_threads > 0) chunks = std::min(chunks, max_threads);
  if (chunks == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    body(0, extent, closure);
    return;
  }
  for (int64_t i = 1; i < chunks; ++i) {
    Post(workers_.get()[i - 1], body, closure, ChunkBegin(extent, chunks, i), ChunkBegin(extent, chunks, i + 1));
  }
  body(0, ChunkBegin(extent, chunks, 1), closure);
  for (int64_t i = 1; i < chunks; ++i) Join(workers_.get()[i - 1]);
  busy_.store(false, std::memory_order_release);
}

TwParallelHook ThreadPool::hook() {
  return {.pool = this,
          .num_threads = num_threads(),
          .parallel_for = [](void* pool, TwParallelBody body, void* closure, int64_t extent, int64_t max_threads) {
            static_cast<ThreadPool*>(pool)->Run(body, closure, extent, max_threads);
            return 0;
          }};
}

}  // namespace tilewright::runtime

// What it costs to start a loop on all threads and to wait for its end, with nothing to do in it: our pool against
// GNU's OpenMP, in one binary. `GOMP_parallel` is the function that GCC calls for `#pragma omp parallel`.
//
// Give OpenMP its best: OMP_PROC_BIND=true OMP_WAIT_POLICY=active in the environment.
// "on_workers" is the share of loops whose second chunk did run on a worker; a pool that let the caller do everything
// would look fast.
#include <benchmark/benchmark.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "codegen/runtime/thread_pool.h"
#include "codegen/runtime/timer.h"

extern "C" {
void GOMP_parallel(void (*body)(void*), void* closure, unsigned num_threads, unsigned flags);
int omp_get_thread_num();
}

namespace tilewright::runtime {
namespace {

constexpr int kLoopsPerSample = 64;

// OMP_PROC_BIND binds the main thread to one CPU before main(), so the affinity mask says nothing here.
std::vector<int> AllCpus() {
  std::vector<int> cpus(std::max(1u, std::thread::hardware_concurrency()));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

// The CPU on which each chunk ran; a line apart, so that writing it costs no traffic between cores.
struct alignas(128) Place {
  int cpu = -1;
};

// Times loops one sample of 64 at a time and reports the median of the samples, per loop.
template <typename Loop>
void MeasureLoops(benchmark::State& state, const std::vector<Place>& places, Loop loop) {
  std::vector<double> nanoseconds;
  int64_t on_workers = 0;
  for (auto _ : state) {
    const int64_t start = NowNanoseconds();
    for (int i = 0; i < kLoopsPerSample; ++i) loop();
    const int64_t spent = NowNanoseconds() - start;
    nanoseconds.push_back(static_cast<double>(spent) / kLoopsPerSample);
    state.SetIterationTime(static_cast<double>(spent) * 1e-9);
    on_workers += places[1].cpu != places[0].cpu;
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  state.counters["median_ns"] = nanoseconds[nanoseconds.size() / 2];
  state.counters["p90_ns"] = nanoseconds[nanoseconds.size() * 9 / 10];
  state.counters["on_workers"] = static_cast<double>(on_workers) / static_cast<double>(nanoseconds.size());
}

void ThreadPoolForkJoin(benchmark::State& state) {
  ThreadPool pool({.cpus = AllCpus()});
  std::vector<Place> places(static_cast<size_t>(std::max(2, pool.num_threads())));
  MeasureLoops(state, places, [&] {
    pool.ParallelFor(pool.num_threads(),
                     [&](int64_t begin, int64_t) { places[static_cast<size_t>(begin)].cpu = sched_getcpu(); });
  });
}

void GompForkJoin(benchmark::State& state) {
  const size_t num_threads = AllCpus().size();
  std::vector<Place> places(std::max<size_t>(2, num_threads));
  MeasureLoops(state, places, [&] {
    GOMP_parallel(
        [](void* closure) {
          (*static_cast<std::vector<Place>*>(closure))[static_cast<size_t>(omp_get_thread_num())].cpu = sched_getcpu();
        },
        &places, static_cast<unsigned>(num_threads), 0);
  });
}

// The cost when the workers have gone to sleep since the last loop.
void ThreadPoolColdForkJoin(benchmark::State& state) {
  ThreadPool pool({.cpus = AllCpus(), .spin_nanoseconds = 0});
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int64_t start = NowNanoseconds();
    pool.ParallelFor(pool.num_threads(), [](int64_t, int64_t) {});
    state.SetIterationTime(static_cast<double>(NowNanoseconds() - start) * 1e-9);
  }
}

BENCHMARK(ThreadPoolForkJoin)->UseManualTime()->Repetitions(5)->DisplayAggregatesOnly();
BENCHMARK(GompForkJoin)->UseManualTime()->Repetitions(5)->DisplayAggregatesOnly();
BENCHMARK(ThreadPoolColdForkJoin)->UseManualTime()->Iterations(200);

}  // namespace
}  // namespace tilewright::runtime

BENCHMARK_MAIN();

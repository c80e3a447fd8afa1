#include "codegen/runtime/thread_pool.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "codegen/runtime/available_cpus.h"
#include "codegen/runtime/timer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::runtime {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// The ranges that a loop was cut into, in ascending order.
std::set<std::pair<int64_t, int64_t>> Chunks(ThreadPool& pool, int64_t extent, int64_t max_threads) {
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> chunks;
  pool.ParallelFor(
      extent,
      [&](int64_t begin, int64_t end) {
        std::lock_guard lock(mutex);
        chunks.emplace(begin, end);
      },
      max_threads);
  return chunks;
}

TEST(ThreadPool, CutsIntoEqualChunksThatCoverTheLoop) {
  ThreadPool pool({.num_threads = 4});
  ASSERT_EQ(pool.num_threads(), 4);
  EXPECT_THAT(Chunks(pool, 10, 0), ElementsAre(std::pair(0, 3), std::pair(3, 6), std::pair(6, 8), std::pair(8, 10)));
  EXPECT_THAT(Chunks(pool, 2, 0), ElementsAre(std::pair(0, 1), std::pair(1, 2)));
  EXPECT_THAT(Chunks(pool, 10, 3), ElementsAre(std::pair(0, 4), std::pair(4, 7), std::pair(7, 10)));
  EXPECT_THAT(Chunks(pool, 10, 1), ElementsAre(std::pair(0, 10)));
  EXPECT_THAT(Chunks(pool, 10, 100), ElementsAre(std::pair(0, 3), std::pair(3, 6), std::pair(6, 8), std::pair(8, 10)));
  EXPECT_TRUE(Chunks(pool, 0, 0).empty());
  EXPECT_TRUE(Chunks(pool, -5, 0).empty());
}

TEST(ThreadPool, LargestExtentDoesNotOverflow) {
  ThreadPool pool({.num_threads = 3});
  const auto chunks = Chunks(pool, INT64_MAX, 0);
  ASSERT_EQ(chunks.size(), 3u);
  int64_t next = 0;
  for (const auto& [begin, end] : chunks) {
    EXPECT_EQ(begin, next);
    EXPECT_GT(end, begin);
    next = end;
  }
  EXPECT_EQ(next, INT64_MAX);
}

TEST(ThreadPool, ManyShortLoopsLoseNoIterationAndNoWrite) {
  for (int num_threads : {1, 2, 3, 8}) {
    ThreadPool pool({.num_threads = num_threads});
    std::vector<int64_t> counts(64, 0);
    constexpr int kLoops = 20'000;
    for (int loop = 0; loop < kLoops; ++loop) {
      pool.ParallelFor(loop % 64 + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++counts[static_cast<size_t>(i)];
      });
    }
    int64_t expected = 0;
    for (int i = 63; i >= 0; --i) {
      expected += kLoops / 64 + (i < kLoops % 64 ? 1 : 0);
      ASSERT_EQ(counts[static_cast<size_t>(i)], expected) << num_threads << " threads, iteration " << i;
    }
  }
}

TEST(ThreadPool, LoopsAfterPausesOfAnyLengthWakeSleepingWorkers) {
  ThreadPool pool({.num_threads = 3, .spin_nanoseconds = 5'000});
  std::atomic<int64_t> sum = 0;
  for (int loop = 0; loop < 400; ++loop) {
    // Pauses from none to 40 microseconds pass over the moment at which workers go to sleep.
    const int64_t until = NowNanoseconds() + loop * 100;
    while (NowNanoseconds() < until) {
    }
    pool.ParallelFor(30, [&](int64_t begin, int64_t end) { sum += end - begin; });
  }
  EXPECT_EQ(sum, 400 * 30);
}

TEST(ThreadPool, SlowChunkOfAWorkerIsAwaited) {
  ThreadPool pool({.num_threads = 2, .spin_nanoseconds = 1'000});
  for (int loop = 0; loop < 5; ++loop) {
    std::atomic<int> done = 0;
    pool.ParallelFor(2, [&](int64_t begin, int64_t) {
      if (begin == 1) usleep(3'000);
      ++done;
    });
    ASSERT_EQ(done, 2);
  }
}

TEST(ThreadPool, NestedLoopsRunSeriallyInTheirCaller) {
  ThreadPool pool({.num_threads = 4});
  std::atomic<int64_t> sum = 0;
  std::atomic<bool> moved = false;
  pool.ParallelFor(8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      pool.ParallelFor(100, [&](int64_t inner_begin, int64_t inner_end) {
        if (std::this_thread::get_id() != outer) moved = true;
        sum += inner_end - inner_begin;
      });
    }
  });
  EXPECT_EQ(sum, 800);
  EXPECT_FALSE(moved);
}

TEST(ThreadPool, CallersOnSeveralThreadsDoNotMix) {
  ThreadPool pool({.num_threads = 3});
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4, 0);
  for (size_t caller = 0; caller < sums.size(); ++caller) {
    callers.emplace_back([&, caller] {
      for (int loop = 0; loop < 2'000; ++loop) {
        std::atomic<int64_t> sum = 0;
        pool.ParallelFor(17, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum += i;
        });
        sums[caller] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(sums, Each(2'000 * 136));
}

TEST(ThreadPool, HookRunsLoopsOnThePool) {
  ThreadPool pool({.num_threads = 2});
  const TwParallelHook hook = pool.hook();
  EXPECT_EQ(hook.num_threads, 2);
  std::atomic<int64_t> sum = 0;
  const auto add = [](int64_t begin, int64_t end, void* closure) {
    *static_cast<std::atomic<int64_t>*>(closure) += end - begin;
  };
  EXPECT_EQ(tw_parallel_for(&hook, add, &sum, 10, 0), 0);
  EXPECT_EQ(sum, 10);
  EXPECT_EQ(tw_parallel_for(nullptr, add, &sum, 10, 0), 0);
  EXPECT_EQ(sum, 20);
  EXPECT_EQ(tw_parallel_for(&hook, add, &sum, 0, 0), 0);
  EXPECT_EQ(sum, 20);
}

TEST(ThreadPool, HookOfTheCallerIsCalledAndItsErrorReturned) {
  int64_t seen = 0;
  const TwParallelHook hook = {
      .pool = &seen, .num_threads = 7, .parallel_for = [](void* pool, TwParallelBody, void*, int64_t extent, int64_t) {
        *static_cast<int64_t*>(pool) = extent;
        return 42;
      }};
  const TwParallelBody nothing = [](int64_t, int64_t, void*) {};
  EXPECT_EQ(tw_parallel_for(&hook, nothing, nullptr, 13, 0), 42);
  EXPECT_EQ(seen, 13);
  // One thread needs no pool.
  EXPECT_EQ(tw_parallel_for(&hook, nothing, nullptr, 99, 1), 0);
  EXPECT_EQ(seen, 13);
}

TEST(ThreadPool, DefaultHasOneThreadPerAvailableCpu) {
  ThreadPool pool;
  EXPECT_EQ(pool.num_threads(), static_cast<int>(AvailableCpus().size()));
}

TEST(ThreadPool, AffinityMaskOfOneCpuGivesOneThread) {
  const std::vector<int> cpus = AffinityCpus();
  ASSERT_FALSE(cpus.empty());
  ASSERT_TRUE(SetAffinity({cpus.front()}));
  EXPECT_THAT(AffinityCpus(), ElementsAre(cpus.front()));
  {
    ThreadPool pool;
    EXPECT_EQ(pool.num_threads(), 1);
    // Threads that share one CPU are slow but correct.
    ThreadPool crowded({.num_threads = 4});
    ASSERT_EQ(crowded.num_threads(), 4);
    std::atomic<int64_t> sum = 0;
    for (int loop = 0; loop < 200; ++loop) {
      crowded.ParallelFor(100, [&](int64_t begin, int64_t end) { sum += end - begin; });
    }
    EXPECT_EQ(sum, 200 * 100);
  }
  ASSERT_TRUE(SetAffinity(cpus));
}

TEST(ThreadPool, WorkersArePinnedToOtherCpusThanTheCallers) {
  const std::vector<int> cpus = AffinityCpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  ASSERT_TRUE(SetAffinity({cpus[0]}));
  {
    ThreadPool pool({.cpus = {cpus[0], cpus[1]}});
    ASSERT_EQ(pool.num_threads(), 2);
    int worker_cpu = -1;
    const auto caller = std::this_thread::get_id();
    for (int loop = 0; loop < 1'000 && worker_cpu < 0; ++loop) {
      pool.ParallelFor(2, [&](int64_t begin, int64_t) {
        if (std::this_thread::get_id() != caller) worker_cpu = sched_getcpu();
        // Keeps the caller from stealing before the worker has come.
        if (begin == 0) usleep(200);
      });
    }
    EXPECT_EQ(worker_cpu, cpus[1]);
  }
  ASSERT_TRUE(SetAffinity(cpus));
}

TEST(ThreadPool, IdlePoolTakesNoCpuTime) {
  ThreadPool pool({.num_threads = 2});
  pool.ParallelFor(2, [](int64_t, int64_t) {});
  usleep(20'000);
  const auto cpu_microseconds = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  const int64_t before = cpu_microseconds();
  usleep(200'000);
  EXPECT_LT(cpu_microseconds() - before, 20'000);
}

}  // namespace
}  // namespace tilewright::runtime

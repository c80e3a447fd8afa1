#include "bench/harness/own_threads.h"

#include <future>
#include <thread>
#include <vector>

#include "codegen/runtime/available_cpus.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

// A thread that lives until it is asked for the CPUs that it may use.
class Waiting {
 public:
  Waiting() : thread_([this] { Wait(); }) {}
  ~Waiting() { thread_.join(); }
  std::vector<int> Cpus() {
    asked_.set_value();
    return cpus_.get_future().get();
  }

 private:
  void Wait() {
    asked_.get_future().wait();
    cpus_.set_value(runtime::AffinityCpus());
  }
  std::promise<void> asked_;
  std::promise<std::vector<int>> cpus_;
  std::thread thread_;
};

TEST(OwnThreads, BindsOnlyThreadsThatAreNew) {
  const std::vector<int> all = runtime::AffinityCpus();
  Waiting old;
  const OwnThreads before;
  Waiting first, second;
  before.BindNewOnes({all.back(), all.front()});
  EXPECT_EQ(old.Cpus(), all);
  EXPECT_EQ(first.Cpus(), std::vector<int>{all.back()});
  EXPECT_EQ(second.Cpus(), std::vector<int>{all.front()});
  EXPECT_EQ(runtime::AffinityCpus(), all);
}

TEST(OwnThreads, NoCpusChangeNothing) {
  const OwnThreads before;
  Waiting thread;
  before.BindNewOnes({});
  EXPECT_EQ(thread.Cpus(), runtime::AffinityCpus());
}

}  // namespace
}  // namespace tilewright::bench

#include "autoschedule/search/task_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tilewright {
namespace {

constexpr double kSlice = 2;

TEST(TaskScheduler, TakesWhatIsCalledOftenAndFarFromItsBound) {
  const std::vector<TaskProgress> tasks = {
      {.weight = 1, .best_seconds = 2e-3, .bound_seconds = 1e-3, .spent = kSlice},
      {.weight = 10, .best_seconds = 1e-3, .bound_seconds = 5e-4, .spent = kSlice},
      {.weight = 100, .best_seconds = 1e-3, .bound_seconds = 1e-3, .spent = kSlice}};
  EXPECT_EQ(NextTask(tasks, kSlice), 1u);
}

TEST(TaskScheduler, MeasuresWhatIsProjectedAtItsBound) {
  std::vector<TaskProgress> tasks = {{.best_seconds = 2e-3, .bound_seconds = 1e-3, .spent = 3 * kSlice},
                                     {.best_seconds = 1e-3, .bound_seconds = 1e-3}};
  EXPECT_EQ(NextTask(tasks, kSlice), 1u);
  tasks[1].spent = kSlice;
  EXPECT_EQ(NextTask(tasks, kSlice), 0u);
}

TEST(TaskScheduler, LeavesWhatBringsNothing) {
  std::vector<TaskProgress> tasks = {{.weight = 4, .best_seconds = 1e-3}, {.weight = 1, .best_seconds = 1e-3}};
  std::vector<size_t> order;
  for (int i = 0; i < 10; ++i) {
    const size_t next = *NextTask(tasks, kSlice);
    order.push_back(next);
    tasks[next].spent += kSlice;
    tasks[next].last_spent = kSlice;
    tasks[next].last_gain = 0;
  }
  EXPECT_EQ(order[0], 0u);
  EXPECT_EQ(std::count(order.begin(), order.end(), 1u), 2) << "four times as many slices for what is called as often";
}

TEST(TaskScheduler, GoesOnWhereTheLastSliceBroughtMuch) {
  std::vector<TaskProgress> tasks(2, {.best_seconds = 1e-3, .spent = 4, .last_spent = 2, .last_gain = 0});
  tasks[1].last_gain = 5e-4;
  EXPECT_EQ(NextTask(tasks, kSlice), 1u);
  // No more than what the bound allows.
  tasks[1].bound_seconds = 0.999e-3;
  EXPECT_EQ(NextTask(tasks, kSlice), 0u);
}

TEST(TaskScheduler, EndsWhereNothingIsLeft) {
  EXPECT_EQ(NextTask({}, kSlice), std::nullopt);
  const std::vector<TaskProgress> tasks = {{.best_seconds = 1e-3, .ended = true},
                                           {.best_seconds = 1e-3, .bound_seconds = 2e-3, .spent = kSlice}};
  EXPECT_EQ(NextTask(tasks, kSlice), std::nullopt);
}

}  // namespace
}  // namespace tilewright

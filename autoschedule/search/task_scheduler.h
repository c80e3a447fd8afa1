// Which of several programs is searched next, when they share one budget: the one from which most is expected.
//
//   std::vector<TaskProgress> tasks = {{.weight = 12, .best_seconds = 1e-3, .bound_seconds = 2e-4}, ...};
//   while (const std::optional<size_t> next = NextTask(tasks)) { ... search tasks[*next], and update it ... }
//
// The gradient of the objective, the sum of weight x time over all tasks, as in Ansor's task scheduler (section 6):
// what a second brought lately, and what the bound still allows, which is less likely to be found the longer it was
// searched for. The time of a task that was not searched yet is a projection, which may be wrong: all of it is expected
// to be gained in one slice, so that a projection near the bound does not leave a task unmeasured.
#pragma once

#include <optional>
#include <span>

namespace tilewright {

struct TaskProgress {
  double weight = 1;         // how often it is called
  double best_seconds = 0;   // of a call, measured or projected
  double bound_seconds = 0;  // no schedule is faster; 0: not known
  double spent = 0;          // seconds of search
  // How long the last slice took, and what it brought.
  double last_spent = 0, last_gain = 0;
  bool ended = false;  // nothing is left to search for
};

// Seconds of one run of everything that a second of search is expected to save; `slice`: how long a search takes.
double ExpectedGain(const TaskProgress& task, double slice);

// The task with the largest expected gain, the first of several; nothing where none is expected to gain.
std::optional<size_t> NextTask(std::span<const TaskProgress> tasks, double slice);

}  // namespace tilewright

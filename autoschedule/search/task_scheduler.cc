#include "autoschedule/search/task_scheduler.h"

#include <algorithm>

namespace tilewright {
namespace {

// How much the last slice says of the next, beside what the bound allows. Ansor's alpha.
constexpr double kTrustInThePast = 0.2;

}  // namespace

double ExpectedGain(const TaskProgress& task, double slice) {
  if (task.ended) return 0;
  const double bound_seconds = task.spent > 0 ? task.bound_seconds : 0;
  const double left = std::max(task.best_seconds - bound_seconds, 0.0);
  const double allowed = left / std::max(task.spent, slice);
  const double lately = task.last_spent > 0 ? std::min(task.last_gain / task.last_spent, left / slice) : allowed;
  return task.weight * (kTrustInThePast * std::max(lately, 0.0) + (1 - kTrustInThePast) * allowed);
}

std::optional<size_t> NextTask(std::span<const TaskProgress> tasks, double slice) {
  std::optional<size_t> next;
  double most = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const double gain = ExpectedGain(tasks[i], slice);
    if (gain <= most) continue;
    most = gain;
    next = i;
  }
  return next;
}

}  // namespace tilewright

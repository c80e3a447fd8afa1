#include "graph/tune/model_tasks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "graph/executor/scheduled_kernel.h"
#include "intrin/registry.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright::graph {
namespace {

// With the name that `tune` wants.
Module NamedMain(const PrimFunc& program) {
  tilewright::FunctionNode::Fields fields = program->fields();
  fields.name = "main";
  return Module(PrimFunc(std::move(fields)));
}

// As the executor schedules it.
Module ProgramOf(const KernelSource& source) {
  const PrimFunc canonical = CanonicalProgram(source.program);
  std::vector<int> constants;
  for (size_t i = 0; i < source.constant.size() && i < canonical->params.size(); ++i) {
    if (source.constant[i] && canonical->params[i].buffer) constants.push_back(static_cast<int>(i));
  }
  return NamedMain(constants.empty() ? canonical : MarkConstant(canonical, constants));
}

}  // namespace

ModelTask TaskOf(const std::string& name, const PrimFunc& program, const Target& target) {
  ModelTask task{.name = name, .program = NamedMain(program)};
  task.workload = WorkloadOf(task.program);
  const PrimFunc main = task.program.Main();
  task.sizes = WithTypicalSizes(main, {});
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Schedule schedule = AutoSchedule(task.program, target, &intrins).schedule;
  task.by_rules = WorkloadOf(schedule.module());
  const PrimFunc likely = WithLikelySizes(main, task.sizes);
  const PrimFunc scheduled = WithLikelySizes(schedule.module().Main(), task.sizes);
  task.projected_seconds = Project(scheduled, target).seconds;
  task.bound_seconds = BoundSeconds(likely, scheduled, target);
  return task;
}

std::vector<ModelTask> TasksOf(const ExecutablePlan& plan, const Target& target) {
  const ExecutablePlan* const plans[] = {&plan};
  return TasksOf(plans, target);
}

std::vector<ModelTask> TasksOf(absl::Span<const ExecutablePlan* const> plans, const Target& target) {
  std::vector<ModelTask> tasks;
  std::map<uint64_t, size_t> by_workload;
  for (size_t p = 0; p < plans.size(); ++p) {
    const ExecutablePlan* const plan = plans[p];
    std::vector<int> calls(plan->programs.size());
    for (const PlanStep& step : plan->steps) ++calls[static_cast<size_t>(step.program)];
    for (size_t i = 0; i < plan->programs.size(); ++i) {
      if (calls[i] == 0) continue;
      const Module program = ProgramOf(plan->programs[i]);
      const auto [known, is_new] = by_workload.emplace(WorkloadOf(program), tasks.size());
      if (is_new) tasks.push_back(TaskOf(plan->programs[i].program->name, program.Main(), target));
      ModelTask& task = tasks[known->second];
      task.calls += calls[i];
      task.kernels.push_back(absl::StrCat("k", i, p == 0 ? "" : absl::StrCat("@", p)));
    }
  }
  std::ranges::sort(
      tasks, {}, [](const ModelTask& task) { return std::pair(-task.calls * task.projected_seconds, task.workload); });
  return tasks;
}

}  // namespace tilewright::graph

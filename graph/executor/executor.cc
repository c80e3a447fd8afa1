#include "graph/executor/executor.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/executor/run_bindings.h"
#include "graph/executor/split_function.h"
#include "graph/ir/value.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {
namespace {

// How often a run calls a program, by its name; 0: that is not known.
using ProgramCalls = std::map<std::string, int64_t>;

// Constants and programs that a function needs.
struct Parts {
  const Uses& uses;
  bool runs_once;  // the function, in a run of the model
  ProgramCalls* programs;
  std::vector<const ConstantNode*>* constants;
  std::map<const CallNode*, HostFunction>* host;

  void AddHost(const CallNode& call) {
    for (const HostOp& op : HostOps()) {
      if (op.op.name == call.op->name) host->emplace(&call, op.prepare ? op.prepare(call.attrs) : op.run);
    }
  }
  void Add(const std::vector<Value>& values) {
    for (const Value& value : values) Add(value);
  }
  void Add(const SeqNode& seq) {
    for (const BindingBlock& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        if (IsNeeded(binding, uses)) Add(binding.value);
      }
    }
    Add(seq.result);
  }
  void Add(const Value& value) {
    if (!value) return;
    if (const auto* constant = dyn_cast<ConstantNode>(value)) constants->push_back(constant);
    if (const auto* tuple = dyn_cast<TupleNode>(value)) Add(tuple->fields);
    if (const auto* get = dyn_cast<TupleGetItemNode>(value)) Add(get->tuple);
    if (const auto* call = dyn_cast<CallNode>(value)) {
      AddHost(*call);
      Add(call->args);
    }
    if (const auto* function = dyn_cast<CallFunctionNode>(value)) Add(function->args);
    if (const auto* match = dyn_cast<MatchCastNode>(value)) Add(match->value);
    if (const auto* tir = dyn_cast<CallTirNode>(value)) {
      const auto [calls, is_new] = programs->try_emplace(tir->function, runs_once);
      if (!is_new) calls->second = runs_once && calls->second > 0 ? calls->second + 1 : 0;
      Add(tir->args);
    }
    if (const auto* branch = dyn_cast<IfNode>(value)) {
      Add(branch->condition);
      Add(*branch->then_branch);
      Add(*branch->else_branch);
    }
  }
};

// Why a part of a function does not run on a device.
absl::Status NoPlan(const std::string& obstacle, const ExecutorOptions& options) {
  return absl::UnimplementedError(
      absl::StrCat(obstacle.empty() ? "main" : obstacle,
                   " has no program that was compiled ahead: it runs on the host's CPU alone, not on ",
                   options.kernels.target.name));
}

// What a function without a plan runs in order, branches included: names of parts, and what is left to the host.
void AddSteps(const SeqNode& seq, std::vector<std::string>* steps) {
  for (const BindingBlock& block : seq.blocks) {
    for (const Binding& binding : block.bindings) {
      const auto* call = dyn_cast<CallNode>(binding.value);
      const auto* function = dyn_cast<CallFunctionNode>(binding.value);
      const auto* branch = dyn_cast<IfNode>(binding.value);
      if (function != nullptr) steps->push_back(function->function);
      const bool works = call != nullptr && call->op->name != "reshape";
      if (works || branch != nullptr || isa<CallTirNode>(binding.value)) steps->push_back(DescribeStep(binding));
      if (branch == nullptr) continue;
      AddSteps(*branch->then_branch, steps);
      AddSteps(*branch->else_branch, steps);
    }
  }
}

// Those of the kernels that are slow. They are of the programs, then of the plans' programs.
std::vector<SlowKernel> SlowKernelsOf(const std::vector<Kernel>& kernels, const std::vector<PrimFunc>& programs,
                                      const std::vector<ExecutablePlan>& plans) {
  std::map<std::pair<const void*, std::string>, SlowKernel> slow;
  const auto add = [&](const Kernel& kernel, const std::string& name, int calls) {
    if (!kernel.pace.slow()) return;
    SlowKernel& entry = slow[{kernel.code.get(), kernel.main.name}];
    if (entry.name.empty()) entry = {.name = name, .pace = kernel.pace};
    entry.calls += calls;
  };
  for (size_t i = 0; i < programs.size(); ++i) add(kernels[i], programs[i]->name, 0);
  size_t first = programs.size();
  for (const ExecutablePlan& plan : plans) {
    for (const PlanStep& step : plan.steps) add(kernels[first + static_cast<size_t>(step.program)], step.name, 1);
    first += plan.programs.size();
  }
  std::vector<SlowKernel> result;
  for (auto& [key, kernel] : slow) result.push_back(std::move(kernel));
  std::ranges::sort(result, std::greater(), [](const SlowKernel& kernel) {
    return std::max(kernel.calls, 1) * (kernel.pace.pace.seconds - kernel.pace.pace.limit_seconds);
  });
  return result;
}

bool RunsElsewhere(const ExecutorOptions& options) { return options.device != nullptr || options.worker.has_value(); }

bool IsMain(const GraphModule& module, const std::string& name) {
  const Function main = module.Main();
  return main && main->name == name;
}

// Says how often a run of the plan calls its programs.
void CountCalls(ExecutablePlan* plan) {
  for (const PlanStep& step : plan->steps) {
    ++plan->programs[static_cast<size_t>(step.program)].calls;
    if (step.in_place) ++plan->programs[static_cast<size_t>(step.in_place->program)].calls;
  }
}

// All kernels are compiled together: those of several functions at the same time, and equal ones once.
absl::Status LoadKernels(const ProgramCalls& names, std::vector<ExecutablePlan> plans, ExecutorState& state) {
  std::vector<PrimFunc> programs;
  std::vector<KernelSource> alone, sources;
  for (const auto& [name, calls] : names) {
    programs.push_back(state.module.FindProgram(name));
    alone.push_back({.program = programs.back(), .calls = calls});
  }
  if (state.options.interpret) {
    state.num_kernels = programs.size();
    TW_ASSIGN_OR_RETURN(state.kernels, Kernels::Interpret(programs));
    return absl::OkStatus();
  }
  for (const ExecutablePlan& plan : plans) sources.insert(sources.end(), plan.programs.begin(), plan.programs.end());
  std::vector<Kernel> kernels;
  if (RunsElsewhere(state.options)) {
    // Programs of no plan run here.
    TW_ASSIGN_OR_RETURN(kernels, CompileKernels(alone, ForHost(state.options.kernels)));
    TW_ASSIGN_OR_RETURN(std::vector<Kernel> planned, CompileKernels(sources, state.options.kernels));
    std::ranges::move(planned, std::back_inserter(kernels));
  } else {
    sources.insert(sources.begin(), alone.begin(), alone.end());
    TW_ASSIGN_OR_RETURN(kernels, CompileKernels(sources, state.options.kernels));
  }
  std::set<const void*> codes;
  for (const Kernel& kernel : kernels) {
    if (!codes.insert(kernel.code.get()).second) continue;
    state.num_unscheduled += kernel.scheduled ? 0 : 1;
    state.num_compiled += kernel.from_cache ? 0 : 1;
    state.num_kept += kernel.kept ? 1 : 0;
  }
  state.num_kernels = codes.size();
  state.slow_kernels = SlowKernelsOf(kernels, programs, plans);
  auto next = kernels.begin() + static_cast<std::ptrdiff_t>(programs.size());
  state.kernels = Kernels::Of(programs, {kernels.begin(), next});
  const TwParallelHook hook = state.pool->hook();
  for (ExecutablePlan& plan : plans) {
    const auto end = next + static_cast<std::ptrdiff_t>(plan.programs.size());
    const std::string name = plan.name;
    TW_ASSIGN_OR_RETURN(state.plans[name], PlannedFunction::Load(std::move(plan), {next, end},
                                                                 {.max_bytes = state.options.max_bytes,
                                                                  .poison = state.options.poison,
                                                                  .release_constants = state.options.release_constants,
                                                                  .device = state.options.device,
                                                                  .worker = state.options.worker},
                                                                 &hook));
    next = end;
  }
  return absl::OkStatus();
}

// What the functions of a module become: plans, or bindings that are executed one by one.
struct Loading {
  ExecutorState& state;
  ProgramCalls names = {};  // of programs that are called one by one
  std::vector<const ConstantNode*> constants = {};
  std::vector<ExecutablePlan> plans = {};

  absl::Status AddFunctions() {
    const Function main = state.module.Main();
    // A plan calls no other function.
    if ((RunsElsewhere(state.options) || state.options.for_library) && main) {
      TW_RETURN_IF_ERROR(Add(main));
      if (!state.uses.contains(main->name)) return absl::OkStatus();
    }
    const std::vector<ModuleEntry> entries = state.module.entries();
    for (const ModuleEntry& entry : entries) {
      const bool is_done = state.uses.contains(entry.name()) ||
                           std::ranges::any_of(plans, [&](const auto& plan) { return plan.name == entry.name(); });
      if (entry.function && !is_done) TW_RETURN_IF_ERROR(Add(entry.function));
    }
    return absl::OkStatus();
  }

  absl::Status Add(Function function) {
    const bool splits = state.options.kernels.use != KernelUse::kHere && !state.options.interpret;
    if (!state.options.interpret) {
      const bool on_cpu = !state.options.kernels.target.is_gpu(), exported = state.options.for_library && on_cpu;
      TW_ASSIGN_OR_RETURN(std::optional<ExecutablePlan> plan, Plan(state.module, function, nullptr, exported));
      if (plan) {
        if (on_cpu) AddInPlaceForms(&*plan);
        if (IsMain(state.module, function->name)) CountCalls(&*plan);
        if (!state.steps.empty()) state.steps.push_back(function->name);
        plans.push_back(*std::move(plan));
        return absl::OkStatus();
      }
    }
    if (splits) {
      SplitFunction split = SplitAtObstacles(function);
      for (const Function& part : split.parts) {
        std::string obstacle;
        TW_ASSIGN_OR_RETURN(std::optional<ExecutablePlan> plan, Plan(state.module, part, &obstacle));
        if (!plan) return NoPlan(obstacle, state.options);
        plans.push_back(*std::move(plan));
        state.module.Set(part);
      }
      function = std::move(split.function);
      state.module.Set(function);
      AddSteps(*function->body, &state.steps);
    }
    Uses& uses = state.uses[function->name];
    CountUses(*function->body, &uses);
    Parts{uses, IsMain(state.module, function->name), &names, &constants, &state.host}.Add(*function->body);
    return absl::OkStatus();
  }
};

}  // namespace

Executor::Executor(std::unique_ptr<ExecutorState> state) : state_(std::move(state)) {}
Executor::~Executor() = default;

absl::StatusOr<std::unique_ptr<Executor>> Executor::Compile(GraphModule module, const ExecutorOptions& options) {
  auto state = std::make_unique<ExecutorState>();
  state->module = std::move(module);
  state->options = options;
  TW_ASSIGN_OR_RETURN(state->options.kernels, WithMachine(options.kernels));
  state->pool = std::make_unique<runtime::ThreadPool>(runtime::ThreadPoolOptions{.num_threads = options.num_threads});
  Loading loading{*state};
  TW_RETURN_IF_ERROR(loading.AddFunctions());
  for (const ConstantNode* constant : loading.constants) {
    if (!state->constants.contains(constant)) state->constants.emplace(constant, constant->ToNDArray());
  }
  TW_RETURN_IF_ERROR(LoadKernels(loading.names, std::move(loading.plans), *state));
  state->options.kernels.scheduled = nullptr;
  return std::unique_ptr<Executor>(new Executor(std::move(state)));
}

absl::StatusOr<Arrays> Executor::Run(const Arrays& arguments, RunOptions options) const {
  const Function main = state_->module.Main();
  if (!main) return absl::FailedPreconditionError("the module has no main");
  const TwParallelHook hook = state_->pool->hook();
  if (options.parallel == nullptr) options.parallel = &hook;
  if (planned() != nullptr) return RunFunction(*state_, main, arguments, options);  // a plan aligns what it is given
  Arrays aligned;
  for (const NDArray& argument : arguments) {
    const bool is_aligned = reinterpret_cast<uintptr_t>(argument.data()) % kArenaAlignment == 0;
    aligned.push_back(is_aligned ? argument : argument.Clone());
  }
  return RunFunction(*state_, main, aligned, options);
}

absl::Status Executor::RunInto(const Arrays& arguments, const Arrays& results, RunOptions options) const {
  const PlannedFunction* const plan = planned();
  if (plan == nullptr) return absl::FailedPreconditionError("main has no plan");
  const TwParallelHook hook = state_->pool->hook();
  if (options.parallel == nullptr) options.parallel = &hook;
  return plan->RunInto(arguments, results, {}, options);
}

int Executor::num_threads() const { return state_->pool->num_threads(); }
size_t Executor::num_programs() const { return state_->num_kernels; }
size_t Executor::num_unscheduled() const { return state_->num_unscheduled; }
size_t Executor::num_compiled() const { return state_->num_compiled; }
size_t Executor::num_kept() const { return state_->num_kept; }
const std::vector<SlowKernel>& Executor::slow_kernels() const { return state_->slow_kernels; }

std::vector<ExecutorStep> Executor::steps() const {
  std::vector<ExecutorStep> steps;
  for (const std::string& step : state_->steps) {
    const auto plan = state_->plans.find(step);
    const bool is_part = plan != state_->plans.end();
    steps.push_back({is_part ? "" : step, is_part ? plan->second.get() : nullptr});
  }
  return steps;
}

const PlannedFunction* Executor::planned() const {
  const Function main = state_->module.Main();
  const auto plan = main ? state_->plans.find(main->name) : state_->plans.end();
  return plan == state_->plans.end() ? nullptr : plan->second.get();
}

}  // namespace tilewright::graph

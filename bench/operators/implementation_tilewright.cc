#include "bench/operators/implementation_tilewright.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"
#include "bench/device/device_runner.h"
#include "bench/harness/kept_workspace.h"
#include "bench/operators/choose_schedule.h"
#include "bench/operators/extents.h"
#include "bench/operators/program.h"
#include "bench/operators/tensor_sets.h"
#include "codegen/backend.h"
#include "codegen/remote/projection.h"
#include "codegen/remote/remote_module.h"
#include "codegen/runtime/thread_pool.h"
#include "intrin/registry.h"
#include "ir/script/printer.h"
#include "target/target.h"
#include "verify/verify.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

class TilewrightRunner : public Runner {
 public:
  // `output`: the parameter of main that is the output; the first one is the activation, the others are constants.
  TilewrightRunner(std::shared_ptr<CompiledModule> code, const Function& main, const std::string& output,
                   TensorSets sets, std::map<std::string, Tensor> constants, const RunSettings& settings)
      : code_(std::move(code)),
        function_(code_->Find("main")),
        sets_(std::move(sets)),
        constants_(std::move(constants)),
        pool_({.num_threads = settings.num_threads, .cpus = settings.cpus}),
        hook_(pool_.hook()),
        workspace_(*code_, "main"),
        call_(workspace_.Call(&hook_)) {
    const Buffer& activation = main->params.front().buffer;
    for (int set = 0; set < settings.num_sets; ++set) {
      std::vector<TwTensor*>& args = args_.emplace_back();
      for (const Param& param : main->params) {
        const bool is_output = param.buffer->name == output;
        if (is_output || param.buffer.same_as(activation)) {
          views_.push_back(
              std::make_unique<Tensor>(ViewAs(param.buffer, is_output ? sets_.output(set) : sets_.input(set))));
          args.push_back(views_.back()->abi());
        } else {
          args.push_back(constants_.at(param.buffer->name).abi());
        }
      }
    }
  }

  void Run(int set) override {
    const std::vector<TwTensor*>& args = args_[static_cast<size_t>(set)];
    function_(&call_, args.data(), static_cast<int32_t>(args.size()));
  }
  // Code that runs in a worker on another machine is repeated there, on operands that stay there, and timed there.
  std::optional<TimedBlock> RunBlock(int64_t warmup_nanoseconds, int64_t nanoseconds) override {
    const auto* worker = dynamic_cast<const remote::RemoteModule*>(code_.get());
    if (worker == nullptr) return std::nullopt;
    TimedBlock block;
    // Each set is written, as by runs that rotate over the sets.
    for (const std::vector<TwTensor*>& args : args_) {
      if (failure_.ok()) failure_ = code_->Run("main", args, &hook_);
    }
    auto times = worker->TimeAgain(kMostRuns, warmup_nanoseconds + nanoseconds);
    if (failure_.ok()) failure_ = times.status();
    if (!failure_.ok()) times = std::vector<int64_t>{warmup_nanoseconds + nanoseconds};
    int64_t before = 0;
    for (size_t i = 0; i < times->size(); ++i) {
      const int64_t time = (*times)[i];
      before += time;
      if (before - time < warmup_nanoseconds && i + 1 < times->size()) continue;
      block.samples_ms.push_back(static_cast<double>(time) * 1e-6);
      block.nanoseconds += time;
    }
    block.cpu_nanoseconds = block.nanoseconds * hook_.num_threads;
    return block;
  }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  void SetTuning(double seconds, int64_t trials) {
    tune_seconds_ = seconds;
    trials_ = trials;
  }
  double tune_seconds() const override { return tune_seconds_; }
  int64_t trials() const override { return trials_; }
  // What the run takes on the machine that is emulated, from what the emulator counts.
  void SetProjection(std::function<EmulatedRun(const CallCost&)> project) { project_ = std::move(project); }
  std::optional<EmulatedRun> LastEmulatedRun() override {
    if (!project_) return std::nullopt;
    return project_(code_->LastCall());
  }
  absl::Status CopyOutput(int set, Tensor& output) override {
    return failure_.ok() ? sets_.CopyOutput(set, output) : failure_;
  }
  // Run has no time for errors.
  absl::Status FirstRun(int set) override { return code_->Run("main", args_[static_cast<size_t>(set)], &hook_); }

 private:
  static constexpr int64_t kMostRuns = 1 << 20;  // of a block

  std::shared_ptr<CompiledModule> code_;
  TwFunction function_;
  TensorSets sets_;
  std::map<std::string, Tensor> constants_;     // by the names of main's parameters
  std::vector<std::unique_ptr<Tensor>> views_;  // in the shapes of main's parameters
  std::vector<std::vector<TwTensor*>> args_;    // of each set
  runtime::ThreadPool pool_;
  TwParallelHook hook_;
  KeptWorkspace workspace_;
  TwCall call_;
  absl::Status failure_;  // of the first run in a worker that failed
  std::function<EmulatedRun(const CallCost&)> project_;
  double tune_seconds_ = 0;
  int64_t trials_ = 0;
};

// The constants as the scheduled program takes them: packed ahead of time where it does that.
absl::StatusOr<std::map<std::string, Tensor>> PrepareConstants(const CompiledModule& code, const Module& module,
                                                               const Function& original,
                                                               std::vector<Tensor> constants) {
  std::map<std::string, Tensor> by_name;
  for (size_t i = 0; i < constants.size(); ++i) {
    by_name.emplace(original->params[i + 1].buffer->name, std::move(constants[i]));
  }
  TW_RETURN_IF_ERROR(PackConstants(code, module, by_name));
  return by_name;
}

// A schedule that is valid.
absl::StatusOr<Tuned> ScheduleProgram(const Function& function, const Target& target, const TuningSettings& tuning,
                                      const std::vector<int>& cpus) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  absl::StatusOr<Tuned> tuned = ChooseSchedule(Module(function), target, &intrins, tuning, cpus);
  if (!tuned.ok()) return tuned;
  for (const Function& scheduled : tuned->module.functions()) {
    const VerifyResult verified = VerifyProgram(scheduled, &target);
    if (verified.verdict() == Verdict::kRefuted) {
      return absl::InternalError(absl::StrCat("the schedule is not valid:\n", Render(verified, scheduled)));
    }
  }
  return tuned;
}

// An emulated CPU: by the inner loop of what was compiled.
absl::StatusOr<std::function<EmulatedRun(const CallCost&)>> ProjectOnCpu(const Function& main, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto assembly, Compile(Module(main), target, {.format = "s"}));
  const auto loop = remote::ProjectInnerLoop(assembly.bytes, target);
  if (!loop.ok()) return loop.status();
  return [loop = *loop, target](const CallCost& cost) {
    EmulatedRun run = {.instructions = cost.instructions};
    if (loop) {
      run.projected_ms = remote::ProjectedMilliseconds(run.instructions, *loop, target);
      run.inner_loop_rate = loop->rate;
    }
    return run;
  };
}

// An emulated GPU: what its compiler says of the kernels, and the time that is projected.
absl::StatusOr<std::function<EmulatedRun(const CallCost&)>> ProjectOnGpu(const Module& module, const Target& target) {
  EmulatedRun run = {.projected_ms = 1e3 * Project(module.Find("main"), target).seconds};
  auto kernels = Compile(module, target, {.format = "cubin"});
  if (absl::IsFailedPrecondition(kernels.status())) kernels = Compile(module, target, {.format = "cu"});
  if (!kernels.ok()) return kernels.status();
  run.counters = kernels->counters;
  return [run](const CallCost&) { return run; };
}

// A scheduled program with its machine code, which stands for every size of its symbolic extents.
struct CompiledProgram {
  Tuned tuned;
  // The scheduled program with the full extents where those of `tuned` were reduced; else empty.
  Module full;
  std::shared_ptr<CompiledModule> code;
};

Module AtSizes(const Module& module, const std::map<std::string, int64_t>& sizes) {
  Module result = module;
  for (const Function& function : module.functions()) result.Set(tilewright::AtSizes(function, sizes));
  return result;
}

class Tilewright : public Implementation {
 public:
  Tilewright(Target target, TuningSettings tuning, bool emulated, OwnPrograms programs)
      : target_(std::move(target)), tuning_(std::move(tuning)), emulated_(emulated), programs_(std::move(programs)) {}

  std::string name() const override { return programs_.name; }
  std::string version() const override { return ""; }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    const std::map<std::string, int64_t> sizes = SymbolicSizes(workload.shape, extents());
    if (!extents().symbolic.empty() && sizes.empty()) {
      return absl::UnimplementedError(absl::StrCat(std::string(Name(workload.shape.op)), " has no symbolic number"));
    }
    BenchProgram program = MakeProgram(workload, extents());
    Target target = target_;
    if (!target.is_gpu()) target.cores = settings.num_threads;
    TW_ASSIGN_OR_RETURN(auto compiled, CompileOnce(workload, program.function, target, settings));
    // What is allocated has the sizes of this workload.
    program.function = tilewright::AtSizes(program.function, sizes);
    compiled.tuned.module = AtSizes(compiled.tuned.module, sizes);
    TW_ASSIGN_OR_RETURN(auto runner, MakeRunner(compiled, program, target, workload, operands, settings));
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::move(runner));
    return runners;
  }

 private:
  const Extents& extents() const { return programs_.extents; }

  // A program with symbolic extents is compiled for the first of its workloads.
  absl::StatusOr<CompiledProgram> CompileOnce(const Workload& workload, const Function& program, const Target& target,
                                              const RunSettings& settings) {
    const std::string text = extents().symbolic.empty() ? "" : Print(program);
    if (const auto known = compiled_.find(text); known != compiled_.end()) return known->second;
    TuningSettings tuning = tuning_;
    tuning.sizes = SizesOfSameProgram(workload, programs_.workloads, extents());
    Module full_module;
    if (settings.full != nullptr) {
      const Function full_program = MakeProgram(*settings.full, extents()).function;
      TW_ASSIGN_OR_RETURN(const auto full, ScheduleProgram(full_program, target, tuning, settings.cpus));
      full_module = AtSizes(full.module, SymbolicSizes(settings.full->shape, extents()));
      // What runs has the tiles of the full size.
      tuning.like = full.trace;
    }
    TW_ASSIGN_OR_RETURN(Tuned tuned, ScheduleProgram(program, target, tuning, settings.cpus));
    TW_ASSIGN_OR_RETURN(auto code,
                        CompileAndLoad(tuned.module, target, {.emulate = emulated_, .launcher = tuning_.launcher}));
    CompiledProgram compiled{std::move(tuned), std::move(full_module), std::move(code)};
    if (!text.empty()) compiled_.emplace(text, compiled);
    return compiled;
  }

  absl::StatusOr<std::unique_ptr<Runner>> MakeRunner(const CompiledProgram& compiled, const BenchProgram& program,
                                                     const Target& target, const Workload& workload,
                                                     const Operands& operands, const RunSettings& settings) const {
    const auto& [tuned, full, code] = compiled;
    TW_ASSIGN_OR_RETURN(std::vector<Tensor> made, MakeConstants(workload, program, operands));
    TW_ASSIGN_OR_RETURN(auto constants, PrepareConstants(*code, tuned.module, program.function, std::move(made)));
    const Function main = tuned.module.Find("main");
    const std::string output = program.function->params.back().buffer->name;
    if (target.is_gpu() && !emulated_) {
      return MakeDeviceRunner(code, main, output, constants, workload, operands, settings);
    }
    TW_ASSIGN_OR_RETURN(TensorSets sets, TensorSets::Make(workload, operands, settings.num_sets));
    auto runner =
        std::make_unique<TilewrightRunner>(code, main, output, std::move(sets), std::move(constants), settings);
    runner->SetTuning(tuned.seconds, tuned.trials);
    if (emulated_) {
      TW_ASSIGN_OR_RETURN(auto projection, target.is_gpu()
                                               ? ProjectOnGpu(full.functions().empty() ? tuned.module : full, target)
                                               : ProjectOnCpu(main, target));
      runner->SetProjection(std::move(projection));
    }
    return std::unique_ptr<Runner>(std::move(runner));
  }

  const Target target_;
  const TuningSettings tuning_;
  const bool emulated_;
  const OwnPrograms programs_;
  std::map<std::string, CompiledProgram> compiled_;  // by text; of programs with symbolic extents
};

}  // namespace

std::unique_ptr<Implementation> MakeTilewright(Target target, TuningSettings tuning, bool emulated,
                                               OwnPrograms programs) {
  return std::make_unique<Tilewright>(std::move(target), std::move(tuning), emulated, std::move(programs));
}

}  // namespace tilewright::bench

#include "bench/operators/implementation_tilewright.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/harness/kept_workspace.h"
#include "bench/harness/projection.h"
#include "bench/operators/choose_schedule.h"
#include "bench/operators/program.h"
#include "bench/operators/tensor_sets.h"
#include "codegen/backend.h"
#include "codegen/remote/launcher.h"
#include "codegen/runtime/thread_pool.h"
#include "intrin/registry.h"
#include "target/target.h"
#include "verify/verify.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

class TilewrightRunner : public Runner {
 public:
  // `output`: the parameter of main that is the output; the first one is the activation, the others are constants.
  TilewrightRunner(std::unique_ptr<CompiledModule> code, const Function& main, const std::string& output,
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
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  void SetTuning(double seconds, int64_t trials) {
    tune_seconds_ = seconds;
    trials_ = trials;
  }
  double tune_seconds() const override { return tune_seconds_; }
  int64_t trials() const override { return trials_; }
  void SetProjection(const Target& target, const std::optional<InnerLoop>& loop) {
    emulated_on_ = target;
    inner_loop_ = loop;
  }
  std::optional<EmulatedRun> LastEmulatedRun() override {
    if (!emulated_on_) return std::nullopt;
    EmulatedRun run = {.instructions = code_->LastCall().instructions};
    if (inner_loop_) {
      run.projected_ms = ProjectedMilliseconds(run.instructions, *inner_loop_, *emulated_on_);
      run.inner_loop_rate = inner_loop_->rate;
    }
    return run;
  }
  absl::Status CopyOutput(int set, Tensor& output) override { return sets_.CopyOutput(set, output); }

  // A first call whose errors are reported; Run has no time for that.
  absl::Status TryRun() { return code_->Run("main", args_[0], &hook_); }

 private:
  std::unique_ptr<CompiledModule> code_;
  TwFunction function_;
  TensorSets sets_;
  std::map<std::string, Tensor> constants_;     // by the names of main's parameters
  std::vector<std::unique_ptr<Tensor>> views_;  // in the shapes of main's parameters
  std::vector<std::vector<TwTensor*>> args_;    // of each set
  runtime::ThreadPool pool_;
  TwParallelHook hook_;
  KeptWorkspace workspace_;
  TwCall call_;
  std::optional<Target> emulated_on_;
  std::optional<InnerLoop> inner_loop_;
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
  if (absl::Status status = PackConstants(code, module, by_name); !status.ok()) return status;
  return by_name;
}

class Tilewright : public Implementation {
 public:
  Tilewright(Target target, TuningSettings tuning) : target_(std::move(target)), tuning_(std::move(tuning)) {}

  std::string name() const override { return "tilewright"; }
  std::string version() const override { return ""; }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    const BenchProgram program = MakeProgram(workload);
    Target target = target_;
    target.cores = settings.num_threads;
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const absl::StatusOr<Tuned> tuned =
        ChooseSchedule(Module(program.function), target, &intrins, tuning_, settings.cpus);
    if (!tuned.ok()) return tuned.status();
    const Module& result = tuned->module;
    for (const Function& function : result.functions()) {
      const VerifyResult verified = VerifyProgram(function, &target);
      if (verified.verdict() == Verdict::kRefuted) {
        return absl::InternalError(absl::StrCat("the schedule is not valid:\n", Render(verified, function)));
      }
    }
    auto code = CompileAndLoad(result, target);
    if (!code.ok()) return code.status();
    absl::StatusOr<TensorSets> sets = TensorSets::Make(workload, operands, settings.num_sets);
    if (!sets.ok()) return sets.status();
    absl::StatusOr<std::vector<Tensor>> constants = MakeConstants(workload, program, operands);
    if (!constants.ok()) return constants.status();
    auto prepared = PrepareConstants(**code, result, program.function, *std::move(constants));
    if (!prepared.ok()) return prepared.status();
    auto runner = std::make_unique<TilewrightRunner>(*std::move(code), result.Find("main"),
                                                     program.function->params.back().buffer->name, *std::move(sets),
                                                     *std::move(prepared), settings);
    runner->SetTuning(tuned->seconds, tuned->trials);
    if (remote::IsForeign(target)) {
      const auto assembly = Compile(Module(result.Find("main")), target, {.format = "s"});
      if (!assembly.ok()) return assembly.status();
      const auto loop = ProjectInnerLoop(assembly->bytes, target);
      if (!loop.ok()) return loop.status();
      runner->SetProjection(target, *loop);
    }
    if (absl::Status status = runner->TryRun(); !status.ok()) return status;
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::move(runner));
    return runners;
  }

 private:
  const Target target_;
  const TuningSettings tuning_;
};

}  // namespace

std::unique_ptr<Implementation> MakeTilewright(Target target, TuningSettings tuning) {
  return std::make_unique<Tilewright>(std::move(target), std::move(tuning));
}

}  // namespace tilewright::bench

#include "bench/implementation_tilewright.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/auto_schedule.h"
#include "bench/tensor_sets.h"
#include "codegen/llvm/jit.h"
#include "codegen/runtime/thread_pool.h"
#include "intrin/registry.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/target.h"
#include "schedule/hoist_prepack.h"
#include "verify/verify.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

ops::OperandTypes TypesOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ops::OperandTypes::Float32();
    case DType::kBf16:
      return *ops::OperandTypes::Parse("bf16");
    case DType::kInt8:
      return *ops::OperandTypes::Parse("u8s8");
    case DType::kS8S8:
      return *ops::OperandTypes::Parse("s8s8");
  }
  return ops::OperandTypes::Float32();
}

// The operator as a program over (activation, weight, output), in the layouts of bench/problem.h.
absl::StatusOr<Function> MakeProgram(const Workload& workload) {
  const ops::OperandTypes types = TypesOf(workload.dtype);
  if (const auto* p = std::get_if<MatmulProblem>(&workload.problem); p != nullptr && p->heads == 1) {
    return ops::BatchMatmul(p->batch, p->m, p->n, p->k, types, p->b_transposed);
  }
  const auto* p = std::get_if<ConvolutionProblem>(&workload.problem);
  if (p == nullptr || p->transposed || p->normalized || p->groups != 1) {
    return absl::UnimplementedError(
        absl::StrCat("no schedule rule for ", std::string(Name(workload.shape.op)), " yet"));
  }
  ops::ConvShape shape{.batch = p->batch, .in_channels = p->in_channels, .out_channels = p->out_channels};
  for (size_t d = 3 - static_cast<size_t>(p->spatial_rank); d < 3; ++d) {
    shape.spatial.push_back(p->in[d]);
    shape.windows.push_back(
        {.kernel = p->kernel[d], .stride = p->stride, .padding = p->padding[d], .dilation = p->dilation});
  }
  return ops::Conv(shape, types);
}

class TilewrightRunner : public Runner {
 public:
  TilewrightRunner(std::unique_ptr<CompiledModule> code, TensorSets sets, Tensor weight, const RunSettings& settings)
      : code_(std::move(code)),
        function_(code_->Find("main")),
        sets_(std::move(sets)),
        weight_(std::move(weight)),
        pool_({.num_threads = settings.num_threads, .cpus = settings.cpus}),
        hook_(pool_.hook()),
        call_{.parallel = &hook_} {}

  void Run(int set) override {
    TwTensor* const args[] = {sets_.input(set).abi(), weight_.abi(), sets_.output(set).abi()};
    function_(&call_, args, 3);
  }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  absl::Status CopyOutput(int set, Tensor& output) override { return sets_.CopyOutput(set, output); }

  // A first call whose errors are reported; Run has no time for that.
  absl::Status TryRun() {
    TwTensor* const args[] = {sets_.input(0).abi(), weight_.abi(), sets_.output(0).abi()};
    return code_->Run("main", args, &hook_);
  }

 private:
  std::unique_ptr<CompiledModule> code_;
  TwFunction function_;
  TensorSets sets_;
  Tensor weight_;
  runtime::ThreadPool pool_;
  TwParallelHook hook_;
  TwCall call_;
};

class Tilewright : public Implementation {
 public:
  std::string name() const override { return "tilewright"; }
  std::string version() const override { return ""; }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    absl::StatusOr<Function> program = MakeProgram(workload);
    if (!program.ok()) return program.status();
    Target target = HostTarget();
    target.cores = settings.num_threads;
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Module module(MarkConstant(*program, {1}));
    const AutoScheduled scheduled = AutoSchedule(module, target, &intrins);
    if (!scheduled.left_alone.empty()) return absl::UnimplementedError(scheduled.left_alone[0].ToString());
    const Module& result = scheduled.schedule.module();
    for (const Function& function : result.functions()) {
      const VerifyResult verified = VerifyProgram(function);
      if (verified.verdict() == Verdict::kRefuted) {
        return absl::InternalError(absl::StrCat("the schedule is not valid:\n", Render(verified, function)));
      }
    }
    auto code = CompileToJit(result, target);
    if (!code.ok()) return code.status();
    absl::StatusOr<TensorSets> sets = TensorSets::Make(workload, operands, settings.num_sets);
    if (!sets.ok()) return sets.status();
    absl::StatusOr<Tensor> weight = Pack(**code, result, operands.weight);
    if (!weight.ok()) return weight.status();
    auto runner = std::make_unique<TilewrightRunner>(*std::move(code), *std::move(sets), *std::move(weight), settings);
    if (absl::Status status = runner->TryRun(); !status.ok()) return status;
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::move(runner));
    return runners;
  }

 private:
  // The weight as main takes it: packed ahead of time where the schedule does that.
  static absl::StatusOr<Tensor> Pack(const CompiledModule& code, const Module& module, const Tensor& weight) {
    absl::StatusOr<Tensor> plain = Copy(weight);
    const Function prepack = module.Find("main_prepack");
    if (!plain.ok() || !prepack) return plain;
    std::vector<int64_t> shape;
    for (const Expr& extent : prepack->params[1].buffer->shape) shape.push_back(*AsInt(extent));
    std::optional<Tensor> packed = Tensor::Allocate(weight.dtype(), shape);
    if (!packed) return absl::ResourceExhaustedError("not enough memory for the packed weight");
    TwTensor* const args[] = {plain->abi(), packed->abi()};
    if (absl::Status status = code.Run("main_prepack", args); !status.ok()) return status;
    return *std::move(packed);
  }
};

}  // namespace

std::unique_ptr<Implementation> MakeTilewright() { return std::make_unique<Tilewright>(); }

}  // namespace tilewright::bench

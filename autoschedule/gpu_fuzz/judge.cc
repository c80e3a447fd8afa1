#include "autoschedule/gpu_fuzz/judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autoschedule/gpu_fuzz/random_bindings.h"
#include "autoschedule/gpu_fuzz/random_programs.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/backend.h"
#include "codegen/cuda/cuda_module.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/emulation.h"
#include "codegen/cuda/testing/kernel_kinds.h"
#include "codegen/lower/pipeline.h"
#include "codegen/testing/equivalence.h"
#include "target/target.h"
#include "verify/threads/kernels.h"
#include "verify/verify.h"

namespace tilewright::fuzz {
namespace {

constexpr std::string_view kWays[] = {"preferred", "drawn", "primitives"};
constexpr uint64_t kWayCount = std::size(kWays);
constexpr const char* kTargets[] = {"cuda-sm80", "cuda-sm90a"};

Schedule ScheduleOf(const GpuCase& each, const Module& module, const Target& target, IntrinRegistry* intrins) {
  if (each.way == Way::kPrimitives) {
    Schedule sch(module, {.intrins = intrins});
    Random random(each.seed);
    ApplyRandomBindings(sch, random);
    return sch;
  }
  Choices choices = each.way == Way::kDrawn ? Choices::Drawn(each.seed) : Choices::Preferred();
  return AutoSchedule(module, target, intrins, choices).schedule;
}

}  // namespace

GpuCase CaseOf(uint64_t number) {
  const std::vector<std::string> kinds = GpuProgramKinds();
  const uint64_t round = number / kinds.size();
  return {.kind = kinds[number % kinds.size()],
          .way = static_cast<Way>(round % kWayCount),
          .seed = number,
          .target = kTargets[round / kWayCount % std::size(kTargets)]};
}

std::optional<Way> WayNamed(std::string_view name) {
  const auto found = std::ranges::find(kWays, name);
  if (found == std::end(kWays)) return std::nullopt;
  return static_cast<Way>(found - std::begin(kWays));
}

std::string ToString(const GpuCase& each) {
  return absl::StrCat("--kind=", each.kind, " --way=", std::string(kWays[static_cast<size_t>(each.way)]),
                      " --seed=", each.seed, " --target=", each.target);
}

namespace {

// Whether the emulator reports nothing but the end of its budget: of a kernel whose every thread copies a whole
// operand.
bool IsBudgetAlone(const std::string& difference) {
  return absl::StrContains(difference, " found 1 faults: ") && absl::StrContains(difference, ": budget: ");
}

}  // namespace

Judged Judge(const GpuCase& each, bool on_gpu) {
  const Target target = *NamedTarget(each.target);
  const GpuProgram program = DrawGpuProgram(each.kind, each.seed);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module module(program.function);
  Judged judged{.schedule = ScheduleOf(each, module, target, &intrins)};
  const auto is = [&](CaseResult result, absl::string_view why) {
    judged.result = result;
    judged.why = std::string(why);
    return judged;
  };
  const Module& scheduled = judged.schedule.module();
  const VerifyResult verified = VerifyProgram(scheduled.Main(), &target);
  if (verified.verdict() == Verdict::kRefuted) return is(CaseResult::kRefuted, Render(verified, scheduled.Main()));
  const absl::StatusOr<Module> lowered = Lower(scheduled, target);
  if (!lowered.ok()) return is(CaseResult::kRefused, lowered.status().message());
  const absl::StatusOr<cuda::Program> emitted = cuda::EmitProgram(*lowered, target);
  if (!emitted.ok()) return is(CaseResult::kRefused, emitted.status().message());
  judged.kernels = static_cast<int>(FindKernels(scheduled.Main()).size());
  judged.kernel_kinds = cuda::testing::KernelKinds(emitted->text);
  absl::StatusOr<std::unique_ptr<cuda::Device>> device = cuda::EmulatedDevice(*emitted);
  if (!device.ok()) return is(CaseResult::kWrong, device.status().message());
  const auto compiled = cuda::CudaModule::Make(*emitted, *std::move(device));
  if (!compiled.ok()) return is(CaseResult::kWrong, compiled.status().message());
  const testing::ComparisonOptions options = {.target = target,
                                              .original = program.function,
                                              .seed = each.seed,
                                              .integers = program.integers,
                                              .tolerance = program.tolerance};
  std::string difference = testing::CompareWithInterpreter(**compiled, scheduled.Main(), options);
  if (difference.empty() && on_gpu) {
    const auto loaded = CompileAndLoad(scheduled, target, {});
    if (!loaded.ok()) return is(CaseResult::kWrong, loaded.status().message());
    difference = testing::CompareWithInterpreter(**loaded, scheduled.Main(), options);
    if (!difference.empty()) difference = absl::StrCat("on the GPU: ", difference);
  }
  if (IsBudgetAlone(difference)) return is(CaseResult::kUnfinished, difference);
  return is(difference.empty() ? CaseResult::kRight : CaseResult::kWrong, difference);
}

}  // namespace tilewright::fuzz

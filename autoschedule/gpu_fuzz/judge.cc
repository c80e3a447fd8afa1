#include "autoschedule/gpu_fuzz/judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/gpu_fuzz/random_bindings.h"
#include "autoschedule/gpu_fuzz/random_programs.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/lower/pipeline.h"
#include "codegen/testing/equivalence.h"
#include "verify/threads/kernels.h"
#include "verify/verify.h"

namespace tilewright::fuzz {
namespace {

constexpr std::string_view kWays[] = {"preferred", "drawn", "primitives"};
constexpr uint64_t kWayCount = std::size(kWays);

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
  return {
      .kind = kinds[number % kinds.size()], .way = static_cast<Way>(number / kinds.size() % kWayCount), .seed = number};
}

std::optional<Way> WayNamed(std::string_view name) {
  const auto found = std::ranges::find(kWays, name);
  if (found == std::end(kWays)) return std::nullopt;
  return static_cast<Way>(found - std::begin(kWays));
}

std::string ToString(const GpuCase& each) {
  return absl::StrCat("--kind=", each.kind, " --way=", std::string(kWays[static_cast<size_t>(each.way)]),
                      " --seed=", each.seed);
}

Judged Judge(const GpuCase& each, const Target& target) {
  const GpuProgram program = DrawGpuProgram(each.kind, each.seed);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module module(program.function);
  Judged judged{.schedule = ScheduleOf(each, module, target, &intrins)};
  const Module& scheduled = judged.schedule.module();
  const VerifyResult verified = VerifyProgram(scheduled.Main(), &target);
  if (verified.verdict() == Verdict::kRefuted) {
    judged.result = CaseResult::kRefuted;
    judged.why = Render(verified, scheduled.Main());
    return judged;
  }
  const absl::StatusOr<Module> lowered = Lower(scheduled, target);
  if (!lowered.ok()) {
    judged.result = CaseResult::kRefused;
    judged.why = std::string(lowered.status().message());
    return judged;
  }
  judged.kernels = static_cast<int>(FindKernels(scheduled.Main()).size());
  judged.why = testing::CompareWithInterpreter(
      scheduled, {.target = target, .original = program.function, .seed = each.seed, .tolerance = program.tolerance});
  if (!judged.why.empty()) judged.result = CaseResult::kWrong;
  return judged;
}

}  // namespace tilewright::fuzz

#include <utility>

#include "schedule/primitive_lists.h"
#include "schedule/sample_compute_location.h"
#include "schedule/sampling.h"

namespace tilewright {
namespace {

Value ListOf(const std::vector<int64_t>& ints) {
  Value::List list;
  for (int64_t value : ints) list.push_back(value);
  return list;
}

Outcome<Applied> ApplyPerfectTile(Application& call) {
  std::optional<std::vector<int64_t>> wanted;
  if (!call.decision().is_none()) {
    Value decision = call.decision();
    if (!FitsKind(ArgKind::kInts, decision)) {
      return Refusal{"sample_perfect_tile", "the decision is no list of integers", {call.Id(0)}};
    }
    wanted.emplace();
    for (const Value& factor : *decision.As<Value::List>()) wanted->push_back(*factor.As<int64_t>());
  }
  Outcome<std::vector<int64_t>> factors =
      SamplePerfectTile(call.function(), call.Id(0), call.Int(1), call.Int(2), call.random(), wanted);
  if (!factors.ok()) return factors.refusal();
  Applied applied = call.Changed(call.function());
  applied.decision = ListOf(*factors);
  for (int64_t factor : *factors) applied.results.push_back(factor);
  return applied;
}

Outcome<Applied> ApplyCategorical(Application& call) {
  std::optional<int64_t> wanted;
  if (!call.decision().is_none()) {
    const auto* decision = call.decision().As<int64_t>();
    if (decision == nullptr) return Refusal{"sample_categorical", "the decision is no integer"};
    wanted = *decision;
  }
  const std::vector<int64_t> candidates = call.Ints(0);
  Outcome<int64_t> chosen = SampleCategorical(candidates.size(), call.Floats(1), call.random(), wanted);
  if (!chosen.ok()) return chosen.refusal();
  Applied applied = call.Changed(call.function());
  applied.decision = *chosen;
  applied.results.push_back(candidates[*chosen]);
  return applied;
}

Outcome<Applied> ApplyComputeLocation(Application& call) {
  std::optional<int64_t> wanted;
  if (!call.decision().is_none()) {
    const auto* decision = call.decision().As<int64_t>();
    if (decision == nullptr) return Refusal{"sample_compute_location", "the decision is no integer", {call.Id(0)}};
    wanted = *decision;
  }
  Outcome<ComputeLocation> location = SampleComputeLocation(call.function(), call.Id(0), call.random(), wanted);
  if (!location.ok()) return location.refusal();
  const uint32_t loop = location->decision == kLocationRoot     ? kComputeRoot
                        : location->decision == kLocationInline ? kComputeInline
                                                                : location->loop;
  Applied applied = call.WithLoop(call.function(), loop);
  applied.decision = location->decision;
  return applied;
}

}  // namespace

std::vector<Primitive> SamplingPrimitives() {
  using Role = Primitive::Role;
  return {
      {"sample_perfect_tile",
       "Factors of a loop's extent, the last one bounded.",
       {{"loop", ArgKind::kLoop}, {"n", ArgKind::kInt}, {"max_innermost_factor", ArgKind::kInt, 16}},
       ResultKind::kInts,
       Role::kSampling,
       ApplyPerfectTile},
      {"sample_categorical",
       "One of several integers, by weight.",
       {{"candidates", ArgKind::kInts}, {"probs", ArgKind::kFloats}},
       ResultKind::kInt,
       Role::kSampling,
       ApplyCategorical},
      {"sample_compute_location",
       "A place where a producer may be computed: a loop of its consumer, where it is (-1), or inlined (-2).",
       {{"block", ArgKind::kBlock}},
       ResultKind::kLoop,
       Role::kSampling,
       ApplyComputeLocation},
  };
}

}  // namespace tilewright

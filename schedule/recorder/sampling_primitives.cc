#include <utility>

#include "base/status_macros.h"
#include "schedule/recorder/primitive_lists.h"
#include "schedule/sampling/sample_compute_location.h"
#include "schedule/sampling/sampling.h"

namespace tilewright {
namespace {

Value ListOf(const std::vector<int64_t>& ints) {
  Value::List list;
  for (int64_t value : ints) list.push_back(value);
  return list;
}

// A decision that is a list of integers, or none.
Outcome<std::optional<std::vector<int64_t>>> FactorsDecided(const char* primitive, const Application& call) {
  std::optional<std::vector<int64_t>> wanted;
  if (call.decision().is_none()) return wanted;
  Value decision = call.decision();
  if (!FitsKind(ArgKind::kInts, decision)) {
    return Refusal{primitive, "the decision is not a list of integers", {call.Id(0)}};
  }
  wanted.emplace();
  for (const Value& factor : *decision.As<Value::List>()) wanted->push_back(*factor.As<int64_t>());
  return wanted;
}

Outcome<Applied> WithFactors(const Application& call, const Outcome<std::vector<int64_t>>& factors) {
  if (!factors.ok()) return factors.refusal();
  Applied applied = call.Changed(call.function());
  applied.decision = ListOf(*factors);
  for (int64_t factor : *factors) applied.results.push_back(factor);
  return applied;
}

Outcome<Applied> ApplyPerfectTile(Application& call) {
  TW_ASSIGN_OR_RETURN(auto wanted, FactorsDecided("sample_perfect_tile", call));
  return WithFactors(call,
                     SamplePerfectTile(call.function(), call.Id(0), call.Int(1), call.Int(2), call.random(), wanted));
}

Outcome<Applied> ApplyPartitionedTile(Application& call) {
  TW_ASSIGN_OR_RETURN(auto wanted, FactorsDecided("sample_partitioned_tile", call));
  const PartitionedTile tile = {.n = call.Int(1), .partition = call.Int(2), .inner_factor = call.Int(3)};
  return WithFactors(call, SamplePartitionedTile(call.function(), call.Id(0), tile, call.random(), wanted));
}

Outcome<Applied> ApplyImperfectTile(Application& call) {
  TW_ASSIGN_OR_RETURN(auto wanted, FactorsDecided("sample_imperfect_tile", call));
  return WithFactors(call,
                     SampleImperfectTile(call.function(), call.Id(0), call.Int(1), call.Int(2), call.random(), wanted));
}

Outcome<Applied> ApplyCategorical(Application& call) {
  std::optional<int64_t> wanted;
  if (!call.decision().is_none()) {
    const auto* decision = call.decision().As<int64_t>();
    if (decision == nullptr) return Refusal{"sample_categorical", "the decision is not an integer"};
    wanted = *decision;
  }
  const std::vector<int64_t> candidates = call.Ints(0);
  TW_ASSIGN_OR_RETURN(int64_t chosen, SampleCategorical(candidates.size(), call.Floats(1), call.random(), wanted));
  Applied applied = call.Changed(call.function());
  applied.decision = chosen;
  applied.results.push_back(candidates[chosen]);
  return applied;
}

Outcome<Applied> ApplyComputeLocation(Application& call) {
  std::optional<int64_t> wanted;
  if (!call.decision().is_none()) {
    const auto* decision = call.decision().As<int64_t>();
    if (decision == nullptr) return Refusal{"sample_compute_location", "the decision is not an integer", {call.Id(0)}};
    wanted = *decision;
  }
  TW_ASSIGN_OR_RETURN(ComputeLocation location,
                      SampleComputeLocation(call.function(), call.Id(0), call.random(), wanted));
  const uint32_t loop = location.decision == kLocationRoot     ? kComputeRoot
                        : location.decision == kLocationInline ? kComputeInline
                                                               : location.loop;
  Applied applied = call.WithLoop(call.function(), loop);
  applied.decision = location.decision;
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
      {"sample_partitioned_tile",
       "Factors of a loop's extent, the inner ones together a multiple of a number.",
       {{"loop", ArgKind::kLoop},
        {"n", ArgKind::kInt},
        {"partition_pos", ArgKind::kInt, 0},
        {"innerpart_factor", ArgKind::kInt, 1}},
       ResultKind::kInts,
       Role::kSampling,
       ApplyPartitionedTile},
      {"sample_imperfect_tile",
       "Factors whose product reaches a loop's extent, with a tail where it is more.",
       {{"loop", ArgKind::kLoop}, {"n", ArgKind::kInt}, {"max_innermost_factor", ArgKind::kInt, 16}},
       ResultKind::kInts,
       Role::kSampling,
       ApplyImperfectTile},
      {"sample_categorical",
       "One of several integers, by weight. The name says what is chosen, labels what each candidate stands for; both "
       "change nothing.",
       {{"candidates", ArgKind::kInts},
        {"probs", ArgKind::kFloats},
        {"name", ArgKind::kOptionalString, Value()},
        {"labels", ArgKind::kOptionalString, Value()}},
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

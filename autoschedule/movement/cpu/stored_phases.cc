#include "autoschedule/movement/cpu/stored_phases.h"

#include <string>
#include <utility>
#include <vector>

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "ir/analysis.h"
#include "ir/lane_runs.h"

namespace tilewright {
namespace {

std::optional<StoredPhases> PhasesOf(const BlockNode& block, const Access& store) {
  StoredPhases found;
  int64_t step = 0;  // of the iterator along a phase
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (!UsesVar(store.indices.back(), iter.var) || ExtentOf(iter) == 1) continue;
    const std::optional<int64_t> stride = store.strides[i];
    if (!stride || *stride != store.steps.back()[i]) return std::nullopt;
    if (*stride == 1 && found.count == 0) {
      found.phase = i;
      found.count = ExtentOf(iter).value_or(0);
    } else if (*stride > 1 && step == 0) {
      found.along = i;
      step = *stride;
    } else {
      return std::nullopt;
    }
  }
  const bool fits = 1 < found.count && found.count <= kMostPicked && step == found.count;
  return fits ? std::optional(found) : std::nullopt;
}

}  // namespace

std::optional<StoredPhases> StoredPhasesOf(const BlockNode& block) {
  for (const Access& access : AccessesOf(block)) {
    if (access.store && !access.indices.empty()) return PhasesOf(block, access);
  }
  return std::nullopt;
}

bool FuseStoredPhases(Schedule& sch, BlockRv copy) {
  const Block block = RealizeOf(sch, copy).block;
  const std::optional<StoredPhases> phases = StoredPhasesOf(*block);
  if (!phases) return false;
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    inputs.emplace_back("i" + std::to_string(i));
    if (i != phases->along && i != phases->phase) outputs.push_back(inputs[i]);
  }
  outputs.push_back(inputs[phases->along] * static_cast<int>(phases->count) + inputs[phases->phase]);
  return sch.TransformBlockLayout(copy, IndexMap(std::move(inputs), std::move(outputs))).ok();
}

}  // namespace tilewright

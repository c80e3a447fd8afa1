#include "autoschedule/program/computed_places.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// Whether operations on floats make the index, and not an element alone.
bool IsMadeOfFloats(const Expr& index) {
  bool found = false;
  PreOrder(index, [&](const Expr& e) {
    found |= e.dtype().is_float() && !isa<LoadNode>(e) && !isa<FloatImmNode>(e);
    return !found;
  });
  return found;
}

// Whether the iterator is divided by a size without a number.
bool IsDividedBySize(const BlockNode& block, const Expr& index, const Var& iterator) {
  const auto is_size = [&](const Expr& e) {
    return !AsInt(e) && std::ranges::none_of(block.iter_vars, [&](const IterVar& v) { return UsesVar(e, v.var); });
  };
  bool found = false;
  PreOrder(index, [&](const Expr& e) {
    const auto* division = dyn_cast<BinaryNode>(e);
    if (division == nullptr) return !found;
    const bool divides = division->op == BinaryOp::kFloorDiv || division->op == BinaryOp::kFloorMod;
    found |= divides && UsesVar(division->a, iterator) && is_size(division->b);
    return !found;
  });
  return found;
}

}  // namespace

int IteratorOfSameLanes(const BlockNode& block, int along, const std::vector<int64_t>& likely) {
  const Var& lane = block.iter_vars[static_cast<size_t>(along)].var;
  std::vector<Expr> divided;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr) return true;
    for (const Expr& index : load->indices) {
      if (UsesVar(index, lane) && IsDividedBySize(block, index, lane)) divided.push_back(index);
    }
    return true;
  });
  int found = -1;
  for (size_t i = 0; i < block.iter_vars.size() && !divided.empty(); ++i) {
    const Var& var = block.iter_vars[i].var;
    if (static_cast<int>(i) == along || likely[i] == 1) continue;
    if (std::ranges::none_of(divided, [&](const Expr& index) { return UsesVar(index, var); })) {
      found = static_cast<int>(i);
    }
  }
  return found;
}

std::vector<bool> IteratorsOfPlaces(const BlockNode& block, int along) {
  std::vector<bool> result(block.iter_vars.size(), false);
  bool any = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr) return true;
    for (const Expr& index : load->indices) {
      if (along >= 0 && !UsesVar(index, block.iter_vars[static_cast<size_t>(along)].var)) continue;
      if (!IsMadeOfFloats(index)) continue;
      any = true;
      for (size_t i = 0; i < block.iter_vars.size(); ++i) {
        if (UsesVar(index, block.iter_vars[i].var)) result[i] = true;
      }
    }
    return true;
  });
  return any ? result : std::vector<bool>();
}

bool WalksByResult(const BlockNode& block) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr) return false;
  const auto is_result = [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    return load != nullptr && load->buffer.same_as(store->buffer) && StructuralEqual(load->indices, store->indices);
  };
  bool found = false;
  PreOrder(store->value, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr) return !found;
    for (const Expr& index : load->indices) {
      PreOrder(index, [&](const Expr& inner) {
        found |= is_result(inner);
        return !found;
      });
    }
    return !found;
  });
  return found;
}

}  // namespace tilewright

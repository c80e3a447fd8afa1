#include "schedule/loops/reorder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_independence.h"
#include "schedule/program/loop_tree.h"
#include "verify/regions/init_order.h"
#include "verify/structure/instance_order.h"

namespace tilewright {
namespace {

constexpr const char* kName = "reorder";

// The nest from the outermost to the innermost of the loops named, or why they are not on one nest.
Outcome<std::vector<const ForNode*>> FindNest(const Function& function, const std::vector<uint32_t>& ids) {
  Path longest;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (std::find(ids.begin(), ids.begin() + i, ids[i]) != ids.begin() + i) {
      return Refusal{kName, "{loop0} is named twice", {ids[i]}};
    }
    TW_ASSIGN_OR_RETURN(Path path, PathToLoop(kName, function, ids[i]));
    if (path.size() > longest.size()) longest = path;
  }
  std::vector<const ForNode*> nest;
  size_t missing = ids.size();
  for (size_t i = longest.size(); i-- > 0 && missing > 0;) {
    const auto* loop = dyn_cast<ForNode>(longest[i]);
    const uint32_t innermost = cast<ForNode>(longest.back())->id;
    if (loop == nullptr) {
      return Refusal{kName, "a block lies between the loops and {loop0}", {innermost}};
    }
    if (!nest.empty() && loop->body.get() != nest.front()) {
      return Refusal{kName, "{loop0} is not the only statement in {loop1}", {nest.front()->id, loop->id}};
    }
    nest.insert(nest.begin(), loop);
    if (std::find(ids.begin(), ids.end(), loop->id) != ids.end()) --missing;
  }
  TW_CHECK(missing == 0) << "the root block is above all loops";
  return nest;
}

std::vector<const ForNode*> InNewOrder(const std::vector<const ForNode*>& nest, const std::vector<uint32_t>& ids) {
  std::vector<const ForNode*> order = nest;
  size_t next = 0;
  for (const ForNode*& place : order) {
    if (std::find(ids.begin(), ids.end(), place->id) == ids.end()) continue;
    const uint32_t id = ids[next++];
    place = *std::find_if(nest.begin(), nest.end(), [&](const ForNode* loop) { return loop->id == id; });
  }
  return order;
}

// Whether some binding of an iterator of that kind uses the variable.
bool Feeds(const Var& var, const BlockRealizeNode& realize, IterKind kind) {
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    if (realize.block->iter_vars[i].kind == kind && UsesVar(realize.bindings[i], var)) return true;
  }
  return false;
}

// An init runs in the instance where all reduce iterators are least, which must come before the others that combine
// into the same element. That holds in any order of the loops, unless some feed spatial and reduce iterators alike (a
// fused nest that was split again), or iterators that do not begin with their least values: these have to stay in the
// order of their significance.
std::optional<Refusal> WhyInitIsNotFirst(const Function& function, const std::vector<const ForNode*>& nest,
                                         const std::vector<const ForNode*>& order) {
  for (const BlockRealizeNode* realize : BlocksBelow(nest.back()->body)) {
    if (!realize->block->init) continue;
    auto mixed = [&](const std::vector<const ForNode*>& loops) {
      std::vector<const ForNode*> found;
      for (const ForNode* loop : loops) {
        if (!IsInt(loop->extent, 1) && Feeds(loop->var, *realize, IterKind::kSpatial) &&
            Feeds(loop->var, *realize, IterKind::kReduce)) {
          found.push_back(loop);
        }
      }
      return found;
    };
    const std::vector<const ForNode*> before = mixed(nest), after = mixed(order);
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      return Refusal{
          kName,
          "{loop0} and {loop1} feed spatial and reduce iterators of {block2} alike, whose init would not run "
          "first in another order",
          {before[i]->id, after[i]->id, realize->block->id}};
    }
    std::vector<const ForNode*> around = LoopsAbove(FindPath(function, realize->block->id));
    const bool was_first = InitRunsFirst(*realize, around);
    std::ranges::copy(order, std::ranges::find(around, nest.front()));
    if (was_first && !InitRunsFirst(*realize, around)) {
      return Refusal{kName, "the init of {block0} would not run first", {realize->block->id}};
    }
  }
  return std::nullopt;
}

// Instances that depend on each other run in the order of the loops that tell them apart.
std::optional<Refusal> WhyInstancesChangeOrder(const std::vector<const ForNode*>& nest,
                                               const std::vector<const ForNode*>& order) {
  for (const BlockRealizeNode* realize : BlocksBelow(nest.back()->body)) {
    const OrderedInstances ordered =
        FindOrderedInstances(*realize->block, InstancesAtOnce(*realize, VarsAtOnce(*nest.front(), {})));
    if (ordered.none()) continue;
    const auto telling_apart = [&](const std::vector<const ForNode*>& loops) {
      std::vector<const ForNode*> found;
      std::ranges::copy_if(loops, std::back_inserter(found), [&](const ForNode* loop) {
        return !IsInt(loop->extent, 1) && ordered.DependsOn(*realize, loop->var);
      });
      return found;
    };
    const std::vector<const ForNode*> before = telling_apart(nest), after = telling_apart(order);
    const auto changed = std::ranges::mismatch(before, after).in1;
    if (changed == before.end()) continue;
    return Refusal{kName,
                   ordered.by_elements
                       ? "instances of {block0} that depend on each other by {text0} would change their order"
                       : "{block0} would combine into {text0} in another order, and its updates do not commute",
                   {realize->block->id},
                   {},
                   {ordered.buffer->name}};
  }
  return std::nullopt;
}

}  // namespace

Outcome<ReorderResult> Reorder(const Function& function, const std::vector<uint32_t>& ids) {
  if (ids.empty()) return Refusal{kName, "there are no loops"};
  TW_ASSIGN_OR_RETURN(std::vector<const ForNode*> nest, FindNest(function, ids));
  const std::vector<const ForNode*> order = InNewOrder(nest, ids);
  for (size_t outer = 0; outer < order.size(); ++outer) {
    for (size_t inner = outer + 1; inner < order.size(); ++inner) {
      if (UsesVar({order[outer]->min, order[outer]->extent}, order[inner]->var)) {
        return Refusal{kName,
                       "the range of {loop0} depends on {loop1}, which would be inside of it",
                       {order[outer]->id, order[inner]->id}};
      }
    }
  }
  for (const ForNode* loop : nest) {
    if (auto refusal = WhyRangeMayChange(kName, *loop)) return *refusal;
  }
  if (auto refusal = WhyIterationsAreOrdered(kName, function, *nest.front(), *nest.back())) return *refusal;

  if (auto refusal = WhyInitIsNotFirst(function, nest, order)) return *refusal;
  if (auto refusal = WhyInstancesChangeOrder(nest, order)) return *refusal;

  std::vector<ForNode::Fields> loops;
  for (const ForNode* loop : order) loops.push_back(loop->fields());
  const Stmt reordered = Nest(std::move(loops), nest.back()->body);
  return ReorderResult{ReplaceIn(function, nest.front(), reordered, function->next_id)};
}

}  // namespace tilewright

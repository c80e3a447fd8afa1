#include "autoschedule/sketch/cpu/sibling_blocks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/cpu/elementwise_rule.h"
#include "autoschedule/sketch/cpu/plain_plan.h"
#include "base/status_macros.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using Done = std::monostate;

uint32_t IdOf(const Schedule& sch, BlockRv block) { return sch.Get(block).As<BlockRef>()->id; }

// Whether the block loads each buffer at one index; stencils have tiles of their own.
bool LoadsOnePlaceOfEach(const BlockNode& block) {
  std::vector<const LoadNode*> loads;
  bool once = true;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr) return once;
    for (const LoadNode* other : loads) {
      once &= !other->buffer.same_as(load->buffer) || StructuralEqual(other->indices, load->indices);
    }
    loads.push_back(load);
    return once;
  });
  return once;
}

// Whether one reads what the other reads or writes.
bool ShareABuffer(const BlockNode& a, const BlockNode& b) {
  const auto touches = [](const BlockNode& block, const Buffer& buffer) {
    const auto is_it = [&](const BufferRegion& region) { return region.buffer.same_as(buffer); };
    return std::ranges::any_of(block.reads, is_it) || std::ranges::any_of(block.writes, is_it);
  };
  return std::ranges::any_of(a.reads, [&](const BufferRegion& read) { return touches(b, read.buffer); }) ||
         std::ranges::any_of(b.reads, [&](const BufferRegion& read) { return touches(a, read.buffer); });
}

// Whether another block lies in the child's outermost loop: such blocks are neighbours.
bool SharesItsLoops(const BlockScope& scope, const ScopeChild& child) {
  const auto lies_beside = [&](std::ptrdiff_t step) {
    const std::ptrdiff_t place = &child - scope.children().data() + step;
    if (place < 0 || place >= std::ssize(scope.children()) || child.loops.empty()) return false;
    const ScopeChild& other = scope.children()[static_cast<size_t>(place)];
    return !other.loops.empty() && other.loops[0] == child.loops[0];
  };
  return lies_beside(-1) || lies_beside(1);
}

class Siblings {
 public:
  Siblings(Schedule& sch, BlockRv block, const Target& target) : sch_(sch), block_(block), target_(target) {}

  // The `blocks` that may join the loops, because they share a buffer with a block there, directly or through others.
  Outcome<std::vector<BlockRv>> Among(std::span<const BlockRv> blocks) {
    std::vector<BlockRv> siblings;
    const auto plan = MakePlainPlan(sch_, block_, target_);
    if (!plan.ok() || !Fits(block_, *plan)) return siblings;
    std::vector<BlockRv> left(blocks.begin(), blocks.end());
    std::erase_if(left, [&](BlockRv other) { return !IsLike(other, *plan); });
    std::vector<Block> there = {RealizeOf(sch_, block_).block};
    for (bool found = true; std::exchange(found, false);) {
      for (size_t i = 0; i < left.size() && !found; ++i) {
        const Block other = RealizeOf(sch_, left[i]).block;
        if (!std::ranges::any_of(there, [&](const Block& b) { return ShareABuffer(*b, *other); })) continue;
        there.push_back(other);
        siblings.push_back(left[i]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        found = true;
      }
    }
    return siblings;
  }

  // Merges the loops of both blocks; returns whether that is possible.
  Outcome<bool> Merge(BlockRv sibling) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> here, sch_.GetLoops(block_));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> there, sch_.GetLoops(sibling));
    return sch_.Merge({here.back(), there.back()}).ok() || sch_.Merge({there.back(), here.back()}).ok();
  }

 private:
  bool Fits(BlockRv block, const PlainPlan& plan) {
    const Block node = RealizeOf(sch_, block).block;
    if (!plan.reduce.empty() || plan.vector < 0 || plan.lanes < 2 || !LoadsOnePlaceOfEach(*node)) return false;
    return std::ranges::all_of(plan.accesses, [&](const Access& access) {
      const std::optional<int64_t> stride = access.strides[static_cast<size_t>(plan.vector)];
      return stride == 1 || (!access.store && stride == 0);
    });
  }

  bool IsLike(BlockRv other, const PlainPlan& plan) {
    if (!Exists(sch_, other) || IdOf(sch_, other) == IdOf(sch_, block_)) return false;
    const uint32_t id = IdOf(sch_, other);
    const BlockScope scope = BlockScope::Around(FunctionOf(sch_, other), id);
    const ScopeChild* child = scope.Find(id);
    if (child == nullptr || scope.Find(IdOf(sch_, block_)) == nullptr || !IsSerial(*child)) return false;
    if (SharesItsLoops(scope, *child) || child->loops.empty()) return false;
    const Block node = RealizeOf(sch_, other).block, mine = RealizeOf(sch_, block_).block;
    if (node->iter_vars.size() != mine->iter_vars.size()) return false;
    for (size_t i = 0; i < node->iter_vars.size(); ++i) {
      if (!StructuralEqual(node->iter_vars[i].domain.extent, mine->iter_vars[i].domain.extent)) return false;
    }
    const auto same = MakePlainPlan(sch_, other, target_);
    if (!same.ok() || !Fits(other, *same) || same->vector != plan.vector || same->lanes != plan.lanes ||
        IsFlat(*same, *node) != IsFlat(plan, *mine)) {
      return false;
    }
    Schedule asked = sch_;
    return LoopsByIterator(asked, other, "sibling_blocks").ok();
  }

  Schedule& sch_;
  const BlockRv block_;
  const Target& target_;
};

}  // namespace

Outcome<Done> MergeSiblings(Schedule& sch, BlockRv block, std::span<const BlockRv> blocks, const Target& target,
                            Choices& choices) {
  Siblings siblings(sch, block, target);
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> found, siblings.Among(blocks));
  if (found.empty()) return Done();
  const std::string name = RealizeOf(sch, block).block->name;
  TW_ASSIGN_OR_RETURN(const Choices::Pick together,
                      choices.Take(sch, name + ".siblings", {0, 1}, 1, {{"apart"}, {"together"}}));
  if (together.value == 0) return Done();
  for (const BlockRv& sibling : found) TW_RETURN_IF_ERROR(siblings.Merge(sibling));
  return Done();
}

}  // namespace tilewright

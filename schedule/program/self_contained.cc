#include "schedule/program/self_contained.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/region.h"
#include "ir/mentions.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/loop_ranges.h"

namespace tilewright {
namespace {

// The blocks that run in one iteration of a loop, and what they touch while it lasts.
class OneIteration {
 public:
  OneIteration(const Path& loop_path, const ForNode& innermost)
      : blocks_(BlocksWithLoopsBelow(innermost.body)), users_(blocks_) {
    std::vector<const ForNode*> around = LoopsAbove(loop_path);
    for (const ForNode* loop = cast<ForNode>(loop_path.back());; loop = cast<ForNode>(loop->body)) {
      around.push_back(loop);
      if (loop == &innermost) break;
    }
    BindLoops(analyzer_, around);
  }

  const std::vector<BlockBelow>& blocks() const { return blocks_; }

  // Why some block uses what another one wrote in another iteration.
  std::optional<Refusal> WhyNotSelfContained(const char* primitive, const ForNode& loop) {
    for (size_t reader = 0; reader < blocks_.size(); ++reader) {
      const BlockNode& block = *blocks_[reader].realize->block;
      for (const BufferRegion& read : block.reads) {
        const BlockNode* writer = OtherWriter(reader, read.buffer);
        if (writer == nullptr || CoveredBefore(reader, read)) continue;
        return Refusal{primitive,
                       "{block1} may use elements of {text0} that {block2} writes in another iteration of {loop0}",
                       {loop.id, block.id, writer->id},
                       {},
                       {read.buffer->name}};
      }
      for (const BufferRegion& write : block.writes) {
        const BlockNode* writer = OtherWriter(reader, write.buffer);
        if (writer == nullptr || OverlapsWithinIteration(reader, write)) continue;
        return Refusal{
            primitive,
            "{block1} and {block2} may write the same elements of {text0} in different iterations of {loop0}",
            {loop.id, block.id, writer->id},
            {},
            {write.buffer->name}};
      }
    }
    return std::nullopt;
  }

 private:
  const BlockNode* OtherWriter(size_t self, const Buffer& buffer) const {
    for (const size_t i : users_.Writers(buffer)) {
      if (i != self) return blocks_[i].realize->block.get();
    }
    return nullptr;
  }
  // The region in terms of the loops around the block.
  arith::Region InLoops(size_t block, const BufferRegion& region) const {
    const BlockRealizeNode& realize = *blocks_[block].realize;
    VarMap values;
    for (size_t i = 0; i < realize.bindings.size(); ++i) values[realize.block->iter_vars[i].var] = realize.bindings[i];
    return Substitute(region, values).region;
  }
  // Whether all that the one block may touch in an iteration, the other surely does.
  bool Inside(size_t inner_block, const BufferRegion& inner, size_t outer_block, const BufferRegion& outer) {
    const BlockBelow &a = blocks_[inner_block], &b = blocks_[outer_block];
    auto needed = arith::MayTouch(InLoops(inner_block, inner), DomainOf(a.loops), a.realize->predicate, &analyzer_);
    if (!needed) return false;
    auto provided = arith::MustCover(InLoops(outer_block, outer), DomainOf(b.loops), b.realize->predicate, &analyzer_);
    return provided && arith::Covers(*provided, *needed, inner.buffer->shape, &analyzer_);
  }
  // The same within each iteration of the inner loops that are around both blocks.
  bool InsideOfSharedIterations(size_t inner_block, const BufferRegion& inner, size_t outer_block,
                                const BufferRegion& outer) {
    const BlockBelow &a = blocks_[inner_block], &b = blocks_[outer_block];
    const auto ends = std::mismatch(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end());
    const std::vector<const ForNode*> shared(a.loops.begin(), ends.first), own_a(ends.first, a.loops.end()),
        own_b(ends.second, b.loops.end());
    const arith::Region needed_in_loops = Simplified(InLoops(inner_block, inner), a.loops);
    const arith::Region provided_in_loops = Simplified(InLoops(outer_block, outer), b.loops);
    arith::Analyzer::Scope inside(&analyzer_);
    BindLoops(analyzer_, shared);
    auto needed = arith::MayTouch(needed_in_loops, DomainOf(own_a), a.realize->predicate, &analyzer_);
    if (!needed) return false;
    const Expr left = LeftOf(b.realize->predicate, a.realize->predicate, own_b);
    auto provided = arith::MustCover(provided_in_loops, DomainOf(own_b), left, &analyzer_);
    return provided && arith::Covers(*provided, *needed, inner.buffer->shape, &analyzer_);
  }
  // What is left of a condition where another one holds: without the parts that both have, which are the same for all
  // iterations of `own`. Parts that load may change in between.
  static Expr LeftOf(const Expr& condition, const Expr& holds, const std::vector<const ForNode*>& own) {
    const std::vector<Expr> known = Conjuncts(holds);
    Expr left = True();
    for (const Expr& part : Conjuncts(condition)) {
      bool fixed = std::ranges::none_of(own, [&](const ForNode* loop) { return UsesVar(part, loop->var); });
      PreOrder(part, [&](const Expr& e) { return fixed = fixed && !isa<LoadNode>(e) && !isa<CallNode>(e); });
      const auto is_it = [&](const Expr& other) { return StructuralEqual(other, part); };
      if (!fixed || std::ranges::none_of(known, is_it)) left = IsTrue(left) ? part : And(left, part);
    }
    return left;
  }
  // Sums of tiles in quotients that are constant in the end, say.
  arith::Region Simplified(arith::Region region, const std::vector<const ForNode*>& loops) {
    arith::Analyzer::Scope inside(&analyzer_);
    BindLoops(analyzer_, loops);
    for (Range& range : region) range = analyzer_.Simplify(range);
    return region;
  }
  bool CoveredBefore(size_t reader, const BufferRegion& read) {
    for (const size_t i : users_.Writers(read.buffer)) {
      if (i >= reader) break;
      for (const BufferRegion& write : blocks_[i].realize->block->writes) {
        if (!write.buffer.same_as(read.buffer)) continue;
        if (Inside(reader, read, i, write) || InsideOfSharedIterations(reader, read, i, write)) return true;
      }
    }
    return false;
  }
  // Each other writer's region holds this one or is held by it (an init and its update).
  bool OverlapsWithinIteration(size_t self, const BufferRegion& write) {
    for (const size_t i : users_.Writers(write.buffer)) {
      if (i == self) continue;
      for (const BufferRegion& other : blocks_[i].realize->block->writes) {
        if (!other.buffer.same_as(write.buffer)) continue;
        if (!Inside(self, write, i, other) && !Inside(i, other, self, write)) return false;
      }
    }
    return true;
  }

  const std::vector<BlockBelow> blocks_;
  const UsersBelow users_;
  arith::Analyzer analyzer_;
};

}  // namespace

std::optional<Refusal> WhyNotSelfContained(const char* primitive, const Path& path, const ForNode& loop,
                                           const ForNode& innermost) {
  return OneIteration(path, innermost).WhyNotSelfContained(primitive, loop);
}

}  // namespace tilewright

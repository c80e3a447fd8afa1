#include "verify/threads/blocks_of_loop.h"

#include <algorithm>

#include "ir/arith/same_expr.h"
#include "verify/structure/loop_kinds.h"

namespace tilewright {
namespace {

// Each of the block's write regions is apart from those of the other instances that are compared.
bool InstancesAreApart(const BlockNode& block, const Buffer& buffer, bool with_reads,
                       const ComparedInstances& compared) {
  bool writes = false;
  const auto apart = [&](const BufferRegion& write, const BufferRegion& other) {
    return !other.buffer.same_as(buffer) || DifferingInSharedElements(block, write, other, compared).empty();
  };
  for (size_t w = 0; w < block.writes.size(); ++w) {
    const BufferRegion& write = block.writes[w];
    if (!write.buffer.same_as(buffer)) continue;
    writes = true;
    const auto is_apart = [&](const BufferRegion& other) { return apart(write, other); };
    if (!std::all_of(block.writes.begin() + static_cast<ptrdiff_t>(w), block.writes.end(), is_apart)) return false;
    if (with_reads && !std::all_of(block.reads.begin(), block.reads.end(), is_apart)) return false;
  }
  return writes;
}

}  // namespace

bool SameRegion(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (!arith::SameExpr(a[d].min, b[d].min) || !arith::SameExpr(a[d].extent, b[d].extent)) return false;
  }
  return true;
}

bool BlocksOfLoop::Decide(const Touch& a, const Touch& b) {
  if (facts_.repeats_writes) return false;
  const auto of_a = top_.find(a.block), of_b = top_.find(b.block);
  if (of_a == top_.end() || of_b == top_.end() || of_a->second != of_b->second) return false;
  const BlockRealizeNode& realize = *of_a->second;
  const BlockNode& block = *realize.block;
  if (facts_.repeating.contains(&block)) return false;
  if (!vars_) vars_ = VarsAtOnce(loop_, {a.loops.begin(), std::ranges::find(a.loops, &loop_)});
  return InstancesAreApart(block, a.region.buffer, !a.write || !b.write, InstancesAtOnce(realize, *vars_));
}

void BlocksOfLoop::VisitFor(const ForNode* op) {
  const bool threads = op->kind == ForKind::kThreadBound;
  if (threads) threads_.push_back(op);
  StmtVisitor::VisitFor(op);
  if (threads) threads_.pop_back();
}

void BlocksOfLoop::VisitBlockRealize(const BlockRealizeNode* op) {
  const BlockRealizeNode* outer = current_;
  if (outer == nullptr && HoldsBarrier(threads_, op->block->body)) return;
  if (current_ == nullptr) current_ = op;
  top_[op->block.get()] = current_;
  StmtVisitor::VisitBlockRealize(op);
  current_ = outer;
}

}  // namespace tilewright

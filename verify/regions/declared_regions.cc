#include "verify/regions/declared_regions.h"

#include <algorithm>

#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/script/printer.h"
#include "verify/regions/touched_places.h"
#include "verify/structure/block_checker.h"
#include "verify/structure/touched_reads.h"

namespace tilewright {
namespace {

// The block as if it took no addresses.
Block WithoutAddresses(const BlockNode& block) {
  BlockNode::Fields fields = block.fields();
  fields.body = RewriteExprs(fields.body, [](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    return call != nullptr && call->op == kAddressOf ? Expr(Var("address", e.dtype())) : e;
  });
  return Block(std::move(fields));
}

class Checker : public BlockChecker {
 public:
  using BlockChecker::BlockChecker;

 protected:
  void VisitBlock(const BlockNode* block) override {
    InsideOf(block, [&] { CheckBlock(block); });
  }

 private:
  void CheckBlock(const BlockNode* block) {
    // A function from outside that is given an address is taken at the declared regions, as one with access_ptr is.
    const bool calls_outside = CallsOutside(block->body);
    const AccessRegions touched = DetectRegions(calls_outside ? *WithoutAddresses(*block) : *block);
    Check(block, touched.reads, block->reads, Touch::kRead);
    Check(block, touched.writes, block->writes, Touch::kWrite);
    if (!calls_outside) return;
    diagnostics.push_back({Verdict::kAssumed, "declared regions", block->id,
                           "block " + block->name + " calls a function that is taken at the block's declared regions"});
  }
  void Check(const BlockNode* block, const std::vector<BufferRegion>& touched,
             const std::vector<BufferRegion>& declared, Touch touch) {
    for (const BufferRegion& region : touched) {
      const BufferRegion* found = nullptr;
      bool contained = false;
      for (const BufferRegion& candidate : declared) {
        if (!candidate.buffer.same_as(region.buffer)) continue;
        found = &candidate;
        contained = Contains(candidate, region, *block, touch);
        if (contained) break;
      }
      if (contained) continue;
      // Which element is read, the table says.
      const bool reads = touch == Touch::kRead;
      const bool gather = found != nullptr && reads && OnlyGathersLeave(*found, region, *block);
      std::string reason = "block " + block->name + (reads ? " reads " : " writes ") + Print(region);
      reason += found == nullptr ? ", which it does not declare" : ", but declares only " + Print(*found);
      diagnostics.push_back({gather ? Verdict::kAssumed : Verdict::kRefuted, "declared regions", block->id, reason,
                             /*enumerable=*/true});
    }
  }
  // Whether what lies outside of the declared region does so in dimensions that are looked up in memory.
  bool OnlyGathersLeave(const BufferRegion& declared, const BufferRegion& touched, const BlockNode& block) {
    for (size_t d = 0; d < touched.region.size(); ++d) {
      if (analyzer_.CanProveInside(touched.region[d], declared.region[d])) continue;
      const Range& range = declared.region[d];
      if (!FindTouchedPlaces(block, touched.buffer, d, Touch::kRead, range, &analyzer_).looked_up) return false;
    }
    return true;
  }
  // Along a dimension of which all is declared, blocks inside may declare, under a condition, more than there is: what
  // lies outside of a buffer is the business of verify/memory/access_bounds.h.
  bool Contains(const BufferRegion& outer, const BufferRegion& inner, const BlockNode& block, Touch touch) {
    for (size_t d = 0; d < inner.region.size(); ++d) {
      const Range& range = outer.region[d];
      const Expr& extent = outer.buffer->shape[d];
      if (analyzer_.CanProveInside(inner.region[d], range) ||
          analyzer_.CanProveInside({Const(extent.dtype(), 0), extent}, range)) {
        continue;
      }
      if (Changes(block, range) || !FindTouchedPlaces(block, outer.buffer, d, touch, range, &analyzer_).inside) {
        return false;
      }
    }
    return true;
  }
  // Whether the block changes memory that the range depends on.
  static bool Changes(const BlockNode& block, const Range& range) {
    bool changes = false;
    PreOrder(range.min + range.extent, [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      changes |= load != nullptr && Mentions(block.writes, load->buffer);
      return !changes;
    });
    return changes;
  }
};

}  // namespace

Diagnostics CheckDeclaredRegions(const Function& function) {
  Checker checker(function);
  // Nobody is outside of the root block, so it need not declare anything.
  const auto* root = dyn_cast<BlockRealizeNode>(function->body);
  const bool declares = root != nullptr && !(root->block->reads.empty() && root->block->writes.empty());
  checker.Visit(root != nullptr && !declares ? root->block->body : function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

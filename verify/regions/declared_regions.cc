#include "verify/regions/declared_regions.h"

#include <algorithm>

#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

bool ReachesMemoryByPointer(const Stmt& s) {
  bool found = false;
  PreOrderExprs(s, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    found |= call != nullptr && EffectOf(call->op) != CallEffect::kPure;
    return !found;
  });
  return found;
}

// The index of the dimension is read from memory, so its place is known only when the program runs.
bool IsGather(const Stmt& body, const Buffer& buffer, size_t dimension) {
  bool found = false;
  PreOrderExprs(body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || !load->buffer.same_as(buffer)) return true;
    PreOrder(load->indices[dimension], [&](const Expr& part) {
      found |= isa<LoadNode>(part);
      return !found;
    });
    return true;
  });
  return found;
}

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}
  Diagnostics diagnostics;

 protected:
  void VisitBlock(const BlockNode* block) override {
    arith::Analyzer::Scope scope(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    AccessRegions touched = DetectRegions(*block);
    Check(block, touched.reads, block->reads, "reads");
    Check(block, touched.writes, block->writes, "writes");
    if (block->init) CheckReadsOfOutput(*block);
    if (ReachesMemoryByPointer(block->body)) {
      diagnostics.push_back(
          {Verdict::kAssumed, "declared regions", block->id,
           "block " + block->name + " calls a function that is taken at the block's declared regions"});
    }
    Visit(block->init);
    Visit(block->body);
  }

 private:
  void Check(const BlockNode* block, const std::vector<BufferRegion>& touched,
             const std::vector<BufferRegion>& declared, const char* verb) {
    for (const BufferRegion& region : touched) {
      const BufferRegion* found = nullptr;
      bool contained = false;
      for (const BufferRegion& candidate : declared) {
        if (!candidate.buffer.same_as(region.buffer)) continue;
        found = &candidate;
        contained = Contains(candidate, region);
        if (contained) break;
      }
      if (contained) continue;
      const bool gather = found != nullptr && OnlyGathersLeave(*found, region, block->body);
      std::string reason = "block " + block->name + " " + verb + " " + Print(region);
      reason += found == nullptr ? ", which it does not declare" : ", but declares only " + Print(*found);
      diagnostics.push_back({gather ? Verdict::kAssumed : Verdict::kRefuted, "declared regions", block->id, reason,
                             /*enumerable=*/true});
    }
  }
  // A reduction reads its own output without saying so, but no more of it than it writes.
  void CheckReadsOfOutput(const BlockNode& block) {
    std::vector<BufferRegion> read = DetectRegions(block.body).reads;
    std::erase_if(read, [&](const BufferRegion& region) { return !Mentions(block.writes, region.buffer); });
    if (read.empty()) return;
    std::vector<BufferRegion> declared = block.reads;
    declared.insert(declared.end(), block.writes.begin(), block.writes.end());
    Check(&block, read, declared, "reads");
  }
  // Whether what lies outside of the declared region does so in dimensions that are looked up in memory.
  bool OnlyGathersLeave(const BufferRegion& declared, const BufferRegion& touched, const Stmt& body) {
    for (size_t d = 0; d < touched.region.size(); ++d) {
      if (analyzer_.CanProveInside(touched.region[d], declared.region[d])) continue;
      if (!IsGather(body, touched.buffer, d)) return false;
    }
    return true;
  }
  // Along a dimension of which all is declared, blocks inside may declare, under a condition, more than there is: what
  // lies outside of a buffer is the business of verify/memory/access_bounds.h.
  bool Contains(const BufferRegion& outer, const BufferRegion& inner) {
    for (size_t d = 0; d < inner.region.size(); ++d) {
      const Expr& extent = outer.buffer->shape[d];
      if (!analyzer_.CanProveInside(inner.region[d], outer.region[d]) &&
          !analyzer_.CanProveInside({Const(extent.dtype(), 0), extent}, outer.region[d])) {
        return false;
      }
    }
    return true;
  }
  arith::Analyzer analyzer_;
};

}  // namespace

Diagnostics CheckDeclaredRegions(const Function& function) {
  Checker checker;
  // Nobody is outside of the root block, so it need not declare anything.
  const auto* root = dyn_cast<BlockRealizeNode>(function->body);
  const bool declares = root != nullptr && !(root->block->reads.empty() && root->block->writes.empty());
  checker.Visit(root != nullptr && !declares ? root->block->body : function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

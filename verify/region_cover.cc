#include "verify/region_cover.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/region.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/block_scope.h"

namespace tilewright {
namespace {

size_t CommonLoops(const ScopeChild& a, const ScopeChild& b) {
  size_t n = 0;
  while (n < a.loops.size() && n < b.loops.size() && a.loops[n] == b.loops[n]) ++n;
  return n;
}

// The region in terms of the loops around the block instead of its iterators.
arith::Region InLoops(const ScopeChild& child, const BufferRegion& region) {
  VarMap bindings;
  for (size_t i = 0; i < child.realize->bindings.size(); ++i) {
    bindings[child.realize->block->iter_vars[i].var] = child.realize->bindings[i];
  }
  return Substitute(region, bindings).region;
}

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}
  Diagnostics diagnostics;

 protected:
  void VisitBlock(const BlockNode* block) override {
    arith::Analyzer::Scope around(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    const BlockScope scope = BlockScope::Of(block);
    for (const ScopeChild& child : scope.children()) CheckReads(scope, child);
    Visit(block->init);
    Visit(block->body);
  }

 private:
  void CheckReads(const BlockScope& scope, const ScopeChild& reader) {
    const auto& local = scope.block()->alloc_buffers;
    for (const BufferRegion& read : reader.realize->block->reads) {
      const bool is_local =
          std::any_of(local.begin(), local.end(), [&](const Buffer& b) { return b.same_as(read.buffer); });
      // Accumulating without an init: an earlier block must have written it, as for any other read.
      if (is_local && !IsCovered(scope, reader, read)) {
        diagnostics.push_back({Verdict::kRefuted, "region cover", reader.id(),
                               "block " + reader.realize->block->name + " reads " + Print(read) +
                                   ", which is not all written before" + (why_.empty() ? "" : ": " + why_),
                               /*enumerable=*/true});
      }
    }
  }

  bool IsCovered(const BlockScope& scope, const ScopeChild& reader, const BufferRegion& read) {
    why_.clear();
    std::vector<const ScopeChild*> writers;
    for (const ScopeChild& child : scope.children()) {
      if (child.id() == reader.id()) break;
      for (const BufferRegion& write : child.realize->block->writes) {
        if (write.buffer.same_as(read.buffer)) writers.push_back(&child);
      }
    }
    if (writers.empty()) {
      why_ = "no block before it writes " + read.buffer->name;
      return false;
    }
    // Any writer may cover it alone, at the loops the two have in common; else all together, at those all have.
    size_t common = reader.loops.size();
    for (const ScopeChild* writer : writers) {
      const size_t shared = CommonLoops(reader, *writer);
      if (CoversAt(shared, {writer}, reader, read)) return true;
      common = std::min(common, shared);
    }
    return writers.size() > 1 && CoversAt(common, writers, reader, read);
  }

  bool CoversAt(size_t common, const std::vector<const ScopeChild*>& writers, const ScopeChild& reader,
                const BufferRegion& read) {
    arith::Analyzer::Scope fixed(&analyzer_);
    for (size_t i = 0; i < common; ++i) {
      analyzer_.Bind(reader.loops[i]->var, {reader.loops[i]->min, reader.loops[i]->extent});
    }
    auto needed =
        arith::MayTouch(InLoops(reader, read), LoopsBelow(reader, common), reader.realize->predicate, &analyzer_);
    if (!needed) return false;
    AssumeAround(reader.realize->predicate, reader, common);
    std::optional<arith::Region> provided;
    for (const ScopeChild* writer : writers) {
      for (const BufferRegion& write : writer->realize->block->writes) {
        if (!write.buffer.same_as(read.buffer)) continue;
        auto covered = arith::MustCover(InLoops(*writer, write), LoopsBelow(*writer, common),
                                        writer->realize->predicate, &analyzer_);
        if (!covered) return false;
        if (provided && !Touching(*provided, *covered)) return false;
        provided = provided ? arith::UnionRegions(*provided, *covered, &analyzer_) : covered;
      }
    }
    return arith::Covers(*provided, *needed, read.buffer->shape, &analyzer_, &why_);
  }

  // What the reader's condition says of the loops around both.
  void AssumeAround(const Expr& condition, const ScopeChild& reader, size_t common) {
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op != nullptr && op->op == BinaryOp::kAnd) {
      AssumeAround(op->a, reader, common);
      AssumeAround(op->b, reader, common);
      return;
    }
    for (size_t i = common; i < reader.loops.size(); ++i) {
      if (UsesVar(condition, reader.loops[i]->var)) return;
    }
    analyzer_.Assume(condition);
  }
  static arith::Domain LoopsBelow(const ScopeChild& child, size_t common) {
    arith::Domain domain;
    for (size_t i = common; i < child.loops.size(); ++i) {
      domain.push_back({child.loops[i]->var, {child.loops[i]->min, child.loops[i]->extent}});
    }
    return domain;
  }

  // The hull of the boxes is their union: they agree in all dimensions but one, in which they meet or overlap.
  bool Touching(const arith::Region& a, const arith::Region& b) {
    int differing = 0;
    for (size_t d = 0; d < a.size(); ++d) {
      if (analyzer_.CanProveEqual(a[d].min, b[d].min) && analyzer_.CanProveEqual(a[d].extent, b[d].extent)) continue;
      ++differing;
      if (!analyzer_.CanProveLessEqual(a[d].min, b[d].min + b[d].extent) ||
          !analyzer_.CanProveLessEqual(b[d].min, a[d].min + a[d].extent)) {
        return false;
      }
    }
    return differing <= 1;
  }

  arith::Analyzer analyzer_;
  std::string why_;
};

}  // namespace

Diagnostics CheckRegionCover(const Function& function) {
  Checker checker;
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

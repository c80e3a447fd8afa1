#include "verify/regions/declared_regions.h"

#include <algorithm>

#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/structure/given_values.h"
#include "verify/structure/touched_reads.h"

namespace tilewright {
namespace {

// Where a block's body touches one buffer along one dimension, with the values of names put in.
class Places : public Visitor {
 public:
  Places(const Buffer& buffer, size_t dimension, const Stmt& body) : buffer_(buffer), dimension_(dimension) {
    Visit(body);
  }
  const std::vector<Range>& reads() const { return reads_; }
  const std::vector<Range>& writes() const { return writes_; }

 protected:
  using Visitor::Visit;
  void VisitLoad(const LoadNode* op) override {
    Visitor::VisitLoad(op);
    Add(BufferRegion::Point(op->buffer, op->indices), &reads_);
  }
  void VisitStore(const StoreNode* op) override {
    Visitor::VisitStore(op);
    Add(BufferRegion::Point(op->buffer, op->indices), &writes_);
  }
  void VisitLet(const LetNode* op) override {
    Visit(op->value);
    names_[op->var] = Now(op->value);
    Visit(op->body);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    names_[op->var] = Now(op->value);
    Visit(op->body);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VarMap bindings;
    for (size_t i = 0; i < op->bindings.size(); ++i) bindings[op->block->iter_vars[i].var] = op->bindings[i];
    for (const BufferRegion& read : op->block->reads) Add(Substitute(read, bindings), &reads_);
    for (const BufferRegion& write : op->block->writes) Add(Substitute(write, bindings), &writes_);
  }

 private:
  Expr Now(const Expr& e) const { return names_.empty() ? e : Substitute(e, names_); }
  void Add(const BufferRegion& region, std::vector<Range>* places) {
    if (!region.buffer.same_as(buffer_)) return;
    const Range& range = region.region[dimension_];
    places->push_back({Now(range.min), Now(range.extent)});
  }

  const Buffer& buffer_;
  const size_t dimension_;
  VarMap names_;
  std::vector<Range> reads_, writes_;
};

bool IsFromMemory(const Range& place) { return arith::ReadsMemory(place.min) || arith::ReadsMemory(place.extent); }

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  explicit Checker(const Function& function) { GivenValues(function).AssumeSizes(&analyzer_); }
  void Visit(const Expr&) override {}
  Diagnostics diagnostics;

 protected:
  void VisitBlock(const BlockNode* block) override {
    arith::Analyzer::Scope scope(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    AccessRegions touched = DetectRegions(*block);
    Check(block, touched.reads, block->reads, &Places::reads);
    Check(block, touched.writes, block->writes, &Places::writes);
    if (block->init) CheckReadsOfOutput(*block);
    if (CallsOutside(block->body)) {
      diagnostics.push_back(
          {Verdict::kAssumed, "declared regions", block->id,
           "block " + block->name + " calls a function that is taken at the block's declared regions"});
    }
    Visit(block->init);
    Visit(block->body);
  }

 private:
  using PlacesOf = const std::vector<Range>& (Places::*)() const;

  void Check(const BlockNode* block, const std::vector<BufferRegion>& touched,
             const std::vector<BufferRegion>& declared, PlacesOf places) {
    for (const BufferRegion& region : touched) {
      const BufferRegion* found = nullptr;
      bool contained = false;
      for (const BufferRegion& candidate : declared) {
        if (!candidate.buffer.same_as(region.buffer)) continue;
        found = &candidate;
        contained = Contains(candidate, region, *block, places);
        if (contained) break;
      }
      if (contained) continue;
      // Which element is read, the table says.
      const bool reads = places == &Places::reads;
      const bool gather = found != nullptr && reads && OnlyGathersLeave(*found, region, block->body);
      std::string reason = "block " + block->name + (reads ? " reads " : " writes ") + Print(region);
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
    Check(&block, read, declared, &Places::reads);
  }
  // Whether what lies outside of the declared region does so in dimensions that are looked up in memory.
  bool OnlyGathersLeave(const BufferRegion& declared, const BufferRegion& touched, const Stmt& body) {
    for (size_t d = 0; d < touched.region.size(); ++d) {
      if (analyzer_.CanProveInside(touched.region[d], declared.region[d])) continue;
      const Places places(touched.buffer, d, body);
      if (std::ranges::none_of(places.reads(), IsFromMemory)) return false;
    }
    return true;
  }
  // Along a dimension of which all is declared, blocks inside may declare, under a condition, more than there is: what
  // lies outside of a buffer is the business of verify/memory/access_bounds.h.
  bool Contains(const BufferRegion& outer, const BufferRegion& inner, const BlockNode& block, PlacesOf places) {
    for (size_t d = 0; d < inner.region.size(); ++d) {
      const Expr& extent = outer.buffer->shape[d];
      if (!analyzer_.CanProveInside(inner.region[d], outer.region[d]) &&
          !analyzer_.CanProveInside({Const(extent.dtype(), 0), extent}, outer.region[d]) &&
          !ContainsPlaces(outer.region[d], block, (Places(outer.buffer, d, block.body).*places)())) {
        return false;
      }
    }
    return true;
  }
  // Places that memory or a name gives, declared as they are used: Y[P[vi]]. The block must not change them meanwhile.
  bool ContainsPlaces(const Range& outer, const BlockNode& block, const std::vector<Range>& places) {
    if (!IsFromMemory(outer)) return false;
    bool changes = false;
    PreOrder(outer.min + outer.extent, [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      changes |= load != nullptr && Mentions(block.writes, load->buffer);
      return !changes;
    });
    return !changes &&
           std::ranges::all_of(places, [&](const Range& place) { return analyzer_.CanProveInside(place, outer); });
  }
  arith::Analyzer analyzer_;
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

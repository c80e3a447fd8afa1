#include "verify/regions/initialization.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/changes/known_inside.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "verify/regions/sure_writes.h"

namespace tilewright {
namespace {

bool Loads(const Expr& e, const Buffer& buffer) {
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    found |= load != nullptr && load->buffer.same_as(buffer);
    return !found;
  });
  return found;
}

// The buffers of a block that its own statements load, blocks inside left out.
class OwnLoads : public Visitor {
 public:
  using Visitor::Visit;
  explicit OwnLoads(const BlockNode& block) : own_(block.alloc_buffers) {
    Visit(block.init);
    Visit(block.body);
  }
  void Visit(const Expr& e) override {
    if (!own_.empty()) Visitor::Visit(e);
  }
  std::vector<Buffer> buffers;

 protected:
  void VisitLoad(const LoadNode* op) override {
    Visitor::VisitLoad(op);
    const auto is_it = [&](const Buffer& buffer) { return buffer.same_as(op->buffer); };
    if (std::ranges::any_of(own_, is_it) && std::ranges::none_of(buffers, is_it)) buffers.push_back(op->buffer);
  }
  void VisitAllocate(const AllocateNode* op) override {
    own_.push_back(op->buffer);
    Visitor::VisitAllocate(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VisitAll(op->bindings);
    Visit(op->predicate);
  }

 private:
  std::vector<Buffer> own_;
};

// Walks through a block in the order of execution.
class Walk {
 public:
  Walk(const BlockNode& block, const Buffer& buffer, SureWrites* sure) : block_(block), buffer_(buffer), sure_(sure) {
    for (const IterVar& iter : block.iter_vars) analyzer_.Bind(iter.var, iter.domain);
    covered_ = Covered(block.init) && Covered(block.body);
  }

  // Whether all that the block loads of the buffer is written before.
  bool covered() const { return covered_; }

 private:
  // Whether all that the statement loads of the buffer is written before.
  bool Covered(const Stmt& s) {
    if (!s || written_) return true;
    if (const auto* seq = dyn_cast<SeqNode>(s)) return CoveredSequence(*seq);
    if (const auto* store = dyn_cast<StoreNode>(s)) return CoveredStore(*store);
    if (const auto* loop = dyn_cast<ForNode>(s)) {
      if (!CoveredExpr(loop->min) || !CoveredExpr(loop->extent)) return false;
      loops_.push_back(loop);
      const bool covered = CoveredInside(loop->body, [&] { BindInside(*loop, &analyzer_); });
      loops_.pop_back();
      return covered;
    }
    if (const auto* branch = dyn_cast<IfNode>(s)) {
      const Expr& condition = branch->condition;
      return CoveredExpr(condition) &&
             CoveredInside(branch->then_case, [&] { AssumeInside(condition, branch->then_case, &analyzer_); }) &&
             CoveredInside(branch->else_case, [&] { AssumeInside(Not(condition), branch->else_case, &analyzer_); });
    }
    if (const auto* loop = dyn_cast<WhileNode>(s))
      return CoveredExpr(loop->condition) && CoveredInside(loop->body, [] {});
    if (const auto* let = dyn_cast<LetStmtNode>(s)) return CoveredExpr(let->value) && Covered(let->body);
    if (const auto* attr = dyn_cast<AttrStmtNode>(s)) return CoveredExpr(attr->value) && Covered(attr->body);
    if (const auto* allocate = dyn_cast<AllocateNode>(s)) return Covered(allocate->body);
    if (const auto* declared = dyn_cast<DeclBufferNode>(s)) return Covered(declared->body);
    if (const auto* assertion = dyn_cast<AssertNode>(s)) return CoveredExpr(assertion->condition);
    if (const auto* evaluate = dyn_cast<EvaluateNode>(s)) return CoveredExpr(evaluate->value);
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      return CoveredExpr(realize->predicate) &&
             std::ranges::all_of(realize->bindings, [&](const Expr& e) { return CoveredExpr(e); });
    }
    return true;
  }
  bool CoveredExpr(const Expr& e) {
    bool covered = true;
    PreOrder(e, [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      covered &= load == nullptr || !load->buffer.same_as(buffer_) || written_ || IsStored(load->indices) ||
                 IsWrittenBefore(load->indices);
      return covered;
    });
    return covered;
  }
  // S[v + 4] is S[u * 4 + v] where u can only be 1.
  bool IsStored(const std::vector<Expr>& indices) {
    const auto agree = [&](const Expr& a, const Expr& b) {
      return arith::SameExpr(a, b) ||
             (!arith::ReadsMemory(a) && !arith::ReadsMemory(b) && analyzer_.CanProveEqual(a, b));
    };
    return std::ranges::any_of(
        stored_, [&](const std::vector<Expr>& other) { return std::ranges::equal(indices, other, agree); });
  }
  // Whether a statement that stands before, loops around both held fixed, writes all that the load may touch.
  bool IsWrittenBefore(const std::vector<Expr>& indices) {
    arith::Region place;
    for (size_t d = 0; d < indices.size(); ++d) {
      const Expr& index = indices[d];
      if (!index.dtype().is_scalar()) return false;
      const Expr& extent = buffer_->shape[d];
      place.push_back(arith::ReadsMemory(index) ? Range{Const(extent.dtype(), 0), extent}
                                                : Range{index, Const(index.dtype(), 1)});
    }
    return std::ranges::any_of(before_, [&](const Before& before) {
      arith::Domain inside;
      for (size_t i = before.loops; i < loops_.size(); ++i) {
        inside.push_back({loops_[i]->var, {loops_[i]->min, loops_[i]->extent}});
      }
      const auto needed = arith::MayTouch(place, inside, /*predicate=*/{}, &analyzer_);
      return needed && Writes(before.statement, before.loops, {buffer_, *needed});
    });
  }
  // What is written inside may not be written outside. `learn` tells the analyzer what holds inside.
  template <class Learn>
  bool CoveredInside(const Stmt& s, const Learn& learn) {
    arith::Analyzer::Scope inside(&analyzer_);
    learn();
    const size_t stored = stored_.size();
    const bool written = written_;
    const bool covered = Covered(s);
    stored_.resize(stored);
    written_ = written;
    return covered;
  }
  bool CoveredSequence(const SeqNode& seq) {
    const size_t outer = before_.size();
    for (const Stmt& part : seq.stmts) {
      if (!Covered(part)) return false;
      if (!written_) written_ = Writes(part, loops_.size(), BufferRegion::Full(buffer_));
      before_.push_back({part, loops_.size()});
    }
    before_.resize(outer);
    return true;
  }
  bool CoveredStore(const StoreNode& store) {
    if (!CoveredExpr(store.value) || !CoveredExpr(store.predicate)) return false;
    if (!std::ranges::all_of(store.indices, [&](const Expr& e) { return CoveredExpr(e); })) return false;
    if (store.buffer.same_as(buffer_) && !store.predicate &&
        std::ranges::none_of(store.indices, [&](const Expr& e) { return Loads(e, buffer_); })) {
      stored_.push_back(store.indices);
    }
    return true;
  }
  // Whether the statement, inside of so many of the loops, writes all of the region.
  bool Writes(const Stmt& s, size_t loops, const BufferRegion& region) {
    BlockNode::Fields fields;
    fields.name = "part";
    fields.iter_vars = block_.iter_vars;
    for (size_t i = 0; i < loops; ++i) {
      fields.iter_vars.push_back({loops_[i]->var, {loops_[i]->min, loops_[i]->extent}, IterKind::kOpaque});
    }
    fields.writes = {region};
    fields.body = s;
    parts_.emplace_back(std::move(fields));
    return sure_->Of(*parts_.back(), parts_.back()->writes[0]);
  }

  const BlockNode& block_;
  const Buffer& buffer_;
  SureWrites* sure_;
  arith::Analyzer analyzer_;
  std::vector<Block> parts_;  // that `sure_` knows by their addresses
  struct Before {
    Stmt statement;
    size_t loops;  // around it, of `loops_`
  };
  std::vector<Before> before_;             // in sequences around
  std::vector<const ForNode*> loops_;      // around
  std::vector<std::vector<Expr>> stored_;  // elements, by the indices they were stored with, with nothing in between
  bool written_ = false;                   // all of the buffer
  bool covered_ = false;
};

class Checker : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  explicit Checker(const Function& function) : function_(function) {}
  Diagnostics diagnostics;

 protected:
  void VisitBlock(const BlockNode* block) override {
    const OwnLoads loads(*block);
    for (const Buffer& buffer : loads.buffers) {
      Report(*block, buffer, "block " + block->name + " reads " + buffer->name,
             ", whose elements are taken to have been written before",
             [&](SureWrites* sure) { return Walk(*block, buffer, sure).covered(); });
    }
    if (block->init) CheckInit(*block);
    StmtVisitor::VisitBlock(block);
  }

 private:
  // What is assumed where `holds` does not hold of the block, or only where sizes are at least 1.
  template <class Holds>
  void Report(const BlockNode& block, const Buffer& buffer, const std::string& what, const std::string& assumption,
              const Holds& holds) {
    SureWrites sure(function_);
    if (!holds(&sure)) {
      diagnostics.push_back(
          {Verdict::kAssumed, "initialization", block.id, what + assumption, /*enumerable=*/true, buffer});
      return;
    }
    const std::vector<Var>& sizes = sure.taken_as_positive();
    SureWrites at_zero(function_, std::vector<Var>());
    if (sizes.empty() || holds(&at_zero)) return;
    diagnostics.push_back(
        {Verdict::kAssumed, "initialization", block.id,
         what + assumption + ": " + NamesOf(sizes) + (sizes.size() == 1 ? " is" : " are") + " taken to be at least 1",
         /*enumerable=*/false, buffer});
  }

  // A reduction reads of its output what its init has set.
  void CheckInit(const BlockNode& block) {
    BlockNode::Fields fields;
    fields.name = block.name;
    fields.iter_vars = block.iter_vars;
    fields.writes = block.writes;
    fields.match_buffers = block.match_buffers;
    fields.body = block.init;
    const Block init(std::move(fields));
    for (const BufferRegion& write : init->writes) {
      Report(block, write.buffer, "the init of block " + block.name,
             " is taken to set all of " + Print(write) + " that is read",
             [&](SureWrites* sure) { return sure->Of(*init, write); });
    }
  }

  const Function& function_;
};

}  // namespace

bool ReadsWhatItWrote(const BlockNode& block, const Buffer& buffer, SureWrites* sure) {
  return Walk(block, buffer, sure).covered();
}

Diagnostics CheckInitialization(const Function& function) {
  Checker checker(function);
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

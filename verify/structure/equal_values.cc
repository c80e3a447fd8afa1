#include "verify/structure/equal_values.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}

  bool Check(const BlockNode& block) {
    VisitBlock(&block);
    return holds_;
  }

 protected:
  void VisitFor(const ForNode* op) override {
    if (IsInt(op->extent, 1)) {
      values_[op->var] = op->min;
    } else {
      own_.push_back(op->var);
    }
    Visitor::VisitFor(op);
  }
  void VisitStore(const StoreNode* op) override {
    std::vector<Expr> indices;
    for (const Expr& index : op->indices) indices.push_back(Now(index));
    // Another store may give the same element another value.
    holds_ &= stored_.insert(op->buffer->data.get()).second;
    holds_ &= DependsOn(indices, Now(op->value)) && !op->predicate;
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      values_[op->block->iter_vars[i].var] = Now(op->bindings[i]);
    }
    VisitBlock(op->block.get());
  }
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) {
      if (!values_.contains(iter.var)) own_.push_back(iter.var);
    }
    for (const BufferRegion& read : op->reads) {
      holds_ &= std::none_of(op->writes.begin(), op->writes.end(),
                             [&](const BufferRegion& write) { return write.buffer->data.same_as(read.buffer->data); });
    }
    holds_ &= !op->init && op->alloc_buffers.empty() && op->match_buffers.empty();
    Visit(op->body);
  }
  void VisitEvaluate(const EvaluateNode* op) override { holds_ &= isa<IntImmNode>(op->value); }
  void VisitWhile(const WhileNode*) override { holds_ = false; }
  void VisitLetStmt(const LetStmtNode*) override { holds_ = false; }
  void VisitAllocate(const AllocateNode*) override { holds_ = false; }
  void VisitDeclBuffer(const DeclBufferNode*) override { holds_ = false; }
  void VisitSync(const SyncNode*) override { holds_ = false; }

 private:
  Expr Now(const Expr& e) const { return values_.empty() ? e : arith::Simplify(Substitute(e, values_)); }

  // Whether `value` mentions iterators and loops only where it mentions an index as a whole.
  bool DependsOn(const std::vector<Expr>& indices, const Expr& value) const {
    bool depends = true;
    PreOrder(value, [&](const Expr& e) {
      if (!depends) return false;
      const bool is_index =
          std::any_of(indices.begin(), indices.end(), [&](const Expr& index) { return arith::SameExpr(index, e); });
      if (is_index) return false;
      const auto* var = dyn_cast<VarNode>(e);
      depends &=
          var == nullptr || std::none_of(own_.begin(), own_.end(), [&](const Var& own) { return own.get() == var; });
      return depends;
    });
    return depends;
  }

  bool holds_ = true;
  VarMap values_;         // of the iterators of nested blocks
  std::vector<Var> own_;  // iterators of the block, and loops in it
  std::unordered_set<const VarNode*> stored_;
};

}  // namespace

bool WritesValuesOfElements(const BlockNode& block) { return Checker().Check(block); }

}  // namespace tilewright

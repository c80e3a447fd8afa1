#include "codegen/lower/common/idle_lanes.h"

#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

class Lanes : public Visitor {
 public:
  Lanes(const Buffer& buffer, arith::Analyzer* analyzer) : buffer_(buffer), analyzer_(analyzer) {}
  using Visitor::Visit;
  bool same() const { return same_ && condition_; }

 protected:
  void VisitFor(const ForNode* op) override {
    const ForNode* const outer = loop_;
    const size_t conditions = conditions_.size();
    if (op->kind == ForKind::kVectorized) {
      // Vectors of vectors have other lanes.
      if (loop_ != nullptr) same_ = false;
      loop_ = op;
    }
    Visitor::VisitFor(op);
    loop_ = outer;
    conditions_.resize(conditions);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    if (loop_ != nullptr && IsOfLanes(op->value)) of_lanes_.insert(op->var.get());
    Visitor::VisitLetStmt(op);
  }
  void VisitIf(const IfNode* op) override {
    const size_t conditions = conditions_.size();
    AddConditions(op->condition);
    Visit(op->then_case);
    conditions_.resize(conditions);
    Visit(op->else_case);
  }
  void VisitLoad(const LoadNode* op) override {
    Check(op->buffer, op->indices);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Check(op->buffer, op->indices);
    Visitor::VisitStore(op);
  }
  void VisitVar(const VarNode* op) override { same_ &= op != buffer_->data.get(); }

 private:
  void AddConditions(const Expr& condition) {
    const auto* both = dyn_cast<BinaryNode>(condition);
    if (both != nullptr && both->op == BinaryOp::kAnd) {
      AddConditions(both->a);
      AddConditions(both->b);
    } else if (loop_ != nullptr && IsOfLanes(condition)) {
      conditions_.push_back(condition);
    }
  }
  // Whether lanes may have values of their own.
  bool IsOfLanes(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) { return var == loop_->var.get() || of_lanes_.contains(var); });
  }

  void Check(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (!buffer->data.same_as(buffer_->data) || !same_) return;
    same_ = false;
    if (!buffer.same_as(buffer_) || loop_ == nullptr || conditions_.size() != 1 || !IsInt(loop_->min, 0)) return;
    const std::optional<int64_t> extent = AsInt(loop_->extent);
    const auto linear = arith::DetectLinear(indices[0], {loop_->var}, analyzer_);
    if (!extent || !linear || !IsInt(linear->coefficients[0], 1)) return;
    const int64_t divisor = arith::KnownDivisor(linear->base, analyzer_);
    if (divisor % *extent != 0) return;
    if (!condition_) {
      lane_ = loop_->var;
      extent_ = *extent;
      condition_ = conditions_[0];
    }
    same_ = *extent == extent_ && StructuralEqual(Substitute(conditions_[0], {{loop_->var, lane_}}), condition_);
  }

  const Buffer& buffer_;
  arith::Analyzer* analyzer_;
  const ForNode* loop_ = nullptr;                 // the vectorized loop around
  std::vector<Expr> conditions_;                  // those around that depend on its lanes
  absl::flat_hash_set<const VarNode*> of_lanes_;  // names of values that do
  Var lane_;
  int64_t extent_ = 0;
  Expr condition_;  // of the first access, on lane_
  bool same_ = true;
};

}  // namespace

bool HasIdleLanes(const Buffer& buffer, const Stmt& body, arith::Analyzer* analyzer) {
  Lanes lanes(buffer, analyzer);
  lanes.Visit(body);
  return lanes.same();
}

}  // namespace tilewright

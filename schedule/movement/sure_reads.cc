#include "schedule/movement/sure_reads.h"

#include <algorithm>

#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/loop_ranges.h"
#include "verify/regions/sure_writes.h"

namespace tilewright {
namespace {

// A load that each run of a block evaluates in all iterations of the loops around it.
struct SureLoad {
  std::vector<Expr> indices;
  std::vector<const ForNode*> loops;
};

// The loads of a buffer in a statement that no condition guards.
class SureLoads : public Visitor {
 public:
  using Visitor::Visit;
  explicit SureLoads(const Buffer& buffer) : buffer_(buffer) {}
  std::vector<SureLoad> loads;

 protected:
  void VisitFor(const ForNode* op) override {
    loops_.push_back(op);
    Visit(op->body);
    loops_.pop_back();
  }
  void VisitWhile(const WhileNode*) override {}
  void VisitIf(const IfNode* op) override { Visit(op->condition); }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    values_[op->var] = Now(op->value);
    Visit(op->body);
    values_.erase(op->var);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    if (!IsTrue(op->predicate)) return;
    const VarMap outer = values_;
    for (size_t i = 0; i < op->bindings.size(); ++i) values_[op->block->iter_vars[i].var] = Now(op->bindings[i]);
    Visit(op->block->body);
    values_ = outer;
  }
  void VisitBinary(const BinaryNode* op) override {
    Visit(op->a);
    if (op->op != BinaryOp::kAnd && op->op != BinaryOp::kOr) Visit(op->b);
  }
  void VisitSelect(const SelectNode* op) override { Visit(op->condition); }
  void VisitCall(const CallNode* op) override {
    if (op->op == kIfThenElse) return Visit(op->args[0]);
    if (op->op != kAddressOf) Visitor::VisitCall(op);
  }
  void VisitLoad(const LoadNode* op) override {
    Visitor::VisitLoad(op);
    if (!op->buffer.same_as(buffer_) || op->predicate) return;
    SureLoad load{{}, loops_};
    for (const Expr& index : op->indices) load.indices.push_back(Now(index));
    loads.push_back(std::move(load));
  }

 private:
  Expr Now(const Expr& e) const { return values_.empty() ? e : Substitute(e, values_); }

  const Buffer& buffer_;
  std::vector<const ForNode*> loops_;
  VarMap values_;  // of iterators and lets, in terms of the variables outside of the statement and of loops
};

bool ReadsWhatChanges(const Expr& e, const BlockScope& scope) {
  bool changes = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    changes |= load != nullptr && !scope.Writers(load->buffer).empty();
    return !changes;
  });
  return changes;
}

}  // namespace

bool CopyStaysInside(const Function& function, const BlockScope& scope, const Buffer& buffer,
                     const std::vector<Range>& box, arith::Analyzer* analyzer) {
  SureWrites sure(function);
  SureLoads reads(buffer);
  for (size_t d = 0; d < box.size(); ++d) {
    if (analyzer->CanProveInside(box[d], BufferRegion::Full(buffer).region[d])) continue;
    if (arith::ReadsMemory(box[d].extent) || ReadsWhatChanges(box[d].min, scope)) return false;
    if (reads.loads.empty()) reads.Visit(scope.block()->body);
    const bool taken = std::ranges::any_of(reads.loads, [&](const SureLoad& load) {
      const arith::Region place = {{load.indices[d], Const(load.indices[d].dtype(), 1)}};
      if (load.indices[d].dtype().lanes() != 1 || !sure.Runs(load.loops, 0, place, analyzer)) return false;
      const auto covered = arith::MustCover(place, DomainOf(load.loops), {}, analyzer);
      return covered && arith::Covers(*covered, {box[d]}, {}, analyzer);
    });
    if (!taken) return false;
  }
  return true;
}

}  // namespace tilewright

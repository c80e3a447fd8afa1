#include "codegen/lower/cpu/carry_elements.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// The stores of a loop's body; empty if the body has other statements, conditions or calls with effects.
std::vector<const StoreNode*> StraightStores(const Stmt& body) {
  const auto* seq = dyn_cast<SeqNode>(body);
  const std::vector<Stmt> stmts = seq != nullptr ? seq->stmts : std::vector<Stmt>{body};
  std::vector<const StoreNode*> stores;
  for (const Stmt& stmt : stmts) {
    const auto* store = dyn_cast<StoreNode>(stmt);
    if (store == nullptr || store->predicate) return {};
    stores.push_back(store);
  }
  bool pure = true;
  PreOrderExprs(body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    pure &= call == nullptr || EffectOf(call->op) == CallEffect::kPure;
    return pure;
  });
  return pure ? stores : std::vector<const StoreNode*>();
}

// One loop whose variable is counted on by one each iteration.
class Loop {
 public:
  explicit Loop(const ForNode* loop)
      : loop_(loop), min_(loop->min ? loop->min : Const(loop->var.dtype(), 0)), stores_(StraightStores(loop->body)) {
    if (!loop->var.dtype().is_scalar()) stores_.clear();
  }

  // Null where nothing is carried.
  Stmt Carry() {
    // The ends are evaluated again behind the first iteration.
    const StoredMemory stored(loop_->body);
    if (IsInt(loop_->extent, 1) || stored.MayChange(min_) || stored.MayChange(loop_->extent)) return {};
    for (size_t i = 0; i < stores_.size(); ++i) {
      if (!IsStoredOnce(i) || !IsMoved(*stores_[i]) || stored.MayChange(stores_[i]->indices[0])) continue;
      if (IsLoadedNext(i)) carried_.push_back({i, ElementFor(*stores_[i])});
    }
    if (carried_.empty()) return {};
    const Expr one = Const(loop_->var.dtype(), 1);
    ForNode::Fields rest = loop_->fields();
    rest.min = arith::Simplify(min_ + one);
    rest.extent = arith::Simplify(loop_->extent - Const(loop_->extent.dtype(), 1));
    rest.body = Body(/*loads=*/true);
    Stmt result = Sequence({Substitute(Body(/*loads=*/false), VarMap{{loop_->var, min_}}), Stmt(new ForNode(rest))});
    const Expr runs = arith::Simplify(Const(loop_->extent.dtype(), 0) < loop_->extent);
    if (!IsInt(runs, 1)) result = Stmt(new IfNode(runs, std::move(result)));
    for (const Carried& carried : carried_) result = Stmt(new AllocateNode(carried.element, {}, std::move(result)));
    return result;
  }

 private:
  struct Carried {
    size_t store;  // of the body's statements
    Buffer element;
  };

  bool IsStoredOnce(size_t which) const {
    return std::ranges::count_if(stores_, [&](const StoreNode* other) {
             return other->buffer->data.same_as(stores_[which]->buffer->data);
           }) == 1;
  }
  bool IsMoved(const StoreNode& store) const {
    return store.value.dtype().is_scalar() && store.indices.size() == 1 && UsesVar(store.indices[0], loop_->var);
  }
  // Whether the load, one iteration later, is of what the store wrote.
  bool ReadsNext(const LoadNode& load, const StoreNode& store) const {
    if (!load.buffer.same_as(store.buffer) || load.predicate || load.indices.size() != 1) return false;
    if (load.indices[0].dtype() != store.indices[0].dtype()) return false;
    const Expr next = loop_->var + Const(loop_->var.dtype(), 1);
    return IsInt(arith::Simplify(Substitute(load.indices[0], VarMap{{loop_->var, next}}) - store.indices[0]), 0);
  }
  // Loads after the store are of a later element at this index, or of none that is carried.
  bool IsLoadedNext(size_t which) const {
    bool found = false;
    for (size_t i = 0; i <= which; ++i) {
      PreOrder(stores_[i]->value, [&](const Expr& e) {
        const auto* load = dyn_cast<LoadNode>(e);
        found |= load != nullptr && ReadsNext(*load, *stores_[which]);
        return !found;
      });
    }
    return found;
  }

  static Buffer ElementFor(const StoreNode& store) {
    return Buffer(store.buffer->name + "_carried", {Const(DataType::Int(32), 1)}, store.buffer->dtype,
                  Scope::Parse("register"));
  }

  // The body with stores to the carried elements and, if `loads`, with loads from them.
  Stmt Body(bool loads) const {
    const Expr zero = Const(DataType::Int(32), 0);
    std::vector<Stmt> body;
    for (size_t i = 0; i < stores_.size(); ++i) {
      Expr value = stores_[i]->value;
      for (const Carried& carried : carried_) {
        if (!loads || i > carried.store) continue;
        value = RewriteExpr(value, [&](const Expr& e) {
          const auto* load = dyn_cast<LoadNode>(e);
          return load != nullptr && ReadsNext(*load, *stores_[carried.store]) ? carried.element(zero) : e;
        });
      }
      const auto carried = std::ranges::find(carried_, i, &Carried::store);
      if (carried != carried_.end()) {
        body.push_back(Stmt(new StoreNode(carried->element, std::move(value), {zero})));
        value = carried->element(zero);
      }
      body.push_back(Stmt(new StoreNode(stores_[i]->buffer, std::move(value), stores_[i]->indices)));
    }
    return Sequence(std::move(body));
  }

  const ForNode* loop_;
  const Expr min_;
  std::vector<const StoreNode*> stores_;  // the body
  std::vector<Carried> carried_;
};

class Carrier : public StmtMutator {
 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind == ForKind::kSerial) {
      if (Stmt carried = Loop(op).Carry()) return carried;
    }
    return StmtMutator::MutateFor(op, self);
  }
  // Memory behind a pointer that the program makes may be that of any buffer.
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override {
    return op->var.dtype().is_handle() ? self : StmtMutator::MutateLetStmt(op, self);
  }
};

}  // namespace

Function CarryElements(const Function& function) {
  return function.WithBody(Carrier().Mutate(function->body), function->next_id);
}

}  // namespace tilewright

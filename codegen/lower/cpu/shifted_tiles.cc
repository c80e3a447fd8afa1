#include "codegen/lower/cpu/shifted_tiles.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/linear.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

class Accesses : public Visitor {
 public:
  using Visitor::Visit;
  bool MayRepeat() const {
    return !has_effect_ && std::ranges::none_of(stored_, [&](const VarNode* data) { return loaded_.contains(data); });
  }

 protected:
  void VisitAllocate(const AllocateNode* op) override {
    own_.insert(op->buffer->data.get());
    Visitor::VisitAllocate(op);
  }
  void VisitLoad(const LoadNode* op) override {
    if (!own_.contains(op->buffer->data.get())) loaded_.insert(op->buffer->data.get());
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    if (!own_.contains(op->buffer->data.get())) stored_.insert(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitCall(const CallNode* op) override {
    has_effect_ |= EffectOf(op->op) != CallEffect::kPure;
    Visitor::VisitCall(op);
  }
  void VisitBlockRealize(const BlockRealizeNode*) override { has_effect_ = true; }
  void VisitSync(const SyncNode*) override { has_effect_ = true; }

 private:
  std::unordered_set<const VarNode*> own_, loaded_, stored_;
  bool has_effect_ = false;
};

class Mover : public Mutator {
 public:
  Mover(const Var& var, int64_t coefficient, const Expr& place) : var_(var), coefficient_(coefficient), place_(place) {}
  using Mutator::Mutate;
  bool moved_all() const { return moved_all_; }

  Expr Mutate(const Expr& e) override {
    if (!UsesVar(e, var_)) return e;
    if (e.same_as(var_)) {
      moved_all_ = false;
      return e;
    }
    if (!e.dtype().is_index() || !e.dtype().is_scalar()) return Mutator::Mutate(e);
    const auto linear = arith::DetectLinear(e, {var_}, &analyzer_);
    const auto times = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
    if (!times || *times % coefficient_ != 0) return Mutator::Mutate(e);
    return linear->base + CastTo(e.dtype(), place_) * Const(e.dtype(), *times / coefficient_);
  }

 private:
  const Var& var_;
  const int64_t coefficient_;
  const Expr& place_;
  arith::Analyzer analyzer_;
  bool moved_all_ = true;
};

}  // namespace

bool MayRunTwice(const Stmt& body) {
  Accesses accesses;
  accesses.Visit(body);
  return accesses.MayRepeat();
}

std::optional<Stmt> AtPlace(const Stmt& body, const Var& var, int64_t coefficient, const Expr& place) {
  Mover mover(var, coefficient, place);
  Stmt moved = mover.Mutate(body);
  if (!mover.moved_all()) return std::nullopt;
  return moved;
}

}  // namespace tilewright

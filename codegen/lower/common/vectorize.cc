#include "codegen/lower/common/vectorize.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "base/check.h"
#include "codegen/lower/common/certain_loads.h"
#include "codegen/lower/common/idle_lanes.h"
#include "codegen/lower/common/scoped_mutator.h"
#include "codegen/lower/common/vector_width.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/builtin.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// More vectors than this are a loop of their own.
constexpr int64_t kMaxVectors = 16;
// Registers of this width have masks for elements of every size.
constexpr int kMaskedBits = 512;

// What keeps a loop's rest from being one masked vector: vector registers, which are cut into parts of the same size by
// all loops over them, and divisions, which may trap in lanes without work.
class UnmaskedParts : public Visitor {
 public:
  using Visitor::Visit;
  bool found = false;

 protected:
  void VisitLoad(const LoadNode* op) override {
    Check(op->buffer);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Check(op->buffer);
    Visitor::VisitStore(op);
  }
  void VisitBinary(const BinaryNode* op) override {
    found |= op->dtype().is_integer() && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod && !AsInt(op->b);
    Visitor::VisitBinary(op);
  }

 private:
  void Check(const Buffer& buffer) { found |= buffer->scope.kind() == MemoryKind::kRegister; }
};

using BufferSet = std::unordered_set<Buffer, IdentityHash, IdentityEqual>;

// One copy of the body with the variable standing for `lanes` values from `first` on. `ok` turns false when a part has
// no vector form.
class LaneExpander : public Mutator {
 public:
  LaneExpander(const Var& var, Expr first, int lanes, const BufferSet& with_idle_lanes, arith::Analyzer* analyzer)
      : var_(var), first_(std::move(first)), lanes_(lanes), with_idle_lanes_(with_idle_lanes), analyzer_(analyzer) {}
  bool ok() const { return ok_; }

  using Mutator::Mutate;
  // An expression that depends on the variable becomes a vector; any other stays as it is.
  Expr Mutate(const Expr& e) override {
    if (!e || !Depends(e)) return e;
    if (e.dtype().is_index()) {
      const auto linear = Linear(e);
      if (linear) {
        Expr base = analyzer_->Simplify(linear->base + linear->coefficients[0] * CastTo(e.dtype(), first_));
        return Ramp(base, linear->coefficients[0], lanes_);
      }
    }
    return Mutator::Mutate(e);
  }

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    if (op == var_.get()) return Ramp(first_, Const(var_.dtype(), 1), lanes_);
    auto it = lets_.find(Var(op));
    return it == lets_.end() ? self : it->second;
  }
  // Adjacent vectors, one for each value of the variable, are one long vector.
  Expr MutateRamp(const RampNode* op, const Expr& self) override {
    const auto linear = Linear(op->base);
    const Expr length = op->stride * Const(op->stride.dtype(), op->dtype().lanes());
    if (!linear || Depends(op->stride) || !analyzer_->CanProveEqual(linear->coefficients[0], length)) {
      return Unsupported(self);
    }
    const Expr base = analyzer_->Simplify(linear->base + length * CastTo(op->base.dtype(), first_));
    return Ramp(base, op->stride, op->dtype().lanes() * lanes_);
  }
  Expr MutateBroadcast(const BroadcastNode*, const Expr& self) override { return Unsupported(self); }
  Expr MutateShuffle(const ShuffleNode*, const Expr& self) override { return Unsupported(self); }
  // Once a part has no vector form nothing is built of the parts any more: their lanes differ.
  Expr MutateBinary(const BinaryNode* op, const Expr& self) override {
    Expr a = Vector(op->a);
    if (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) {
      // The second operand is evaluated where the first does not decide.
      Expr b = Under(op->op == BinaryOp::kAnd ? a : Not(a), op->b);
      return ok_ ? MakeBinary(op->op, std::move(a), std::move(b)) : self;
    }
    Expr b = Vector(op->b);
    if (!ok_) return self;
    // Lanes that the condition leaves out divide by 1: they may hold 0.
    if (mask_ && MayTrap(*op) && b.dtype().lanes() == mask_.dtype().lanes()) {
      const Expr one = Broadcast(Const(op->b.dtype(), 1), b.dtype().lanes());
      b = Expr(new SelectNode(mask_, WithoutZeros(b), one));
    }
    return MakeBinary(op->op, std::move(a), std::move(b));
  }
  Expr MutateNot(const NotNode* op, const Expr&) override { return Not(Vector(op->a)); }
  Expr MutateCast(const CastNode* op, const Expr& self) override {
    Expr value = Vector(op->value);
    return ok_ ? CastTo(Widened(op->dtype()), std::move(value)) : self;
  }
  Expr MutateSelect(const SelectNode* op, const Expr& self) override {
    if (!op->dtype().is_scalar()) return Unsupported(self);
    Expr condition = Depends(op->condition) ? Vector(op->condition) : op->condition;
    Expr true_value = Vector(op->true_value), false_value = Vector(op->false_value);
    return ok_ ? Expr(new SelectNode(condition, std::move(true_value), std::move(false_value))) : self;
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (op->predicate || op->buffer->dtype.lanes() > 1) return Unsupported(Expr(op));
    if (mask_ && !op->dtype().is_scalar()) return Unsupported(Expr(op));
    Expr index = Mutate(op->indices[0]);
    // Memory that threads share may not hold the element yet.
    const bool whole = op->buffer->scope.kind() != MemoryKind::kShared && IsWhole(op->buffer, index);
    const bool certain = mask_ && certain_.contains(self);
    return op->buffer.Load({index}, whole ? Expr() : certain ? mask_of_store_ : mask_);
  }
  Expr MutateLet(const LetNode* op, const Expr&) override {
    Expr value = Mutate(op->value);
    if (!value.same_as(op->value)) {
      Var var(op->var.name(), value.dtype());
      lets_[op->var] = var;
      return Expr(new LetNode(var, value, Vector(op->body)));
    }
    return Expr(new LetNode(op->var, value, Vector(op->body)));
  }
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    if (op->op == kIfThenElse) return MutateIfThenElse(op);
    const bool lane_by_lane = EffectOf(op->op) == CallEffect::kPure && op->op != kCallPureExtern &&
                              op->op != kAddressOf && op->op != kAccessPtr && !op->op.starts_with("call_llvm") &&
                              !op->op.starts_with("vector");
    // These calls are known to treat their vectors in groups.
    if (op->op != kDotAdd && op->op != "reinterpret" && HasVectors(op)) return Unsupported(self);
    if (!lane_by_lane) return Unsupported(self);
    std::vector<Expr> args;
    for (const Expr& arg : op->args) args.push_back(Vector(arg));
    if (!ok_) return self;
    return Call(Widened(op->dtype()), op->op, std::move(args));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    // All lanes would write one element.
    const bool one_element = !Depends(op->indices[0]);
    if (op->predicate || one_element || op->buffer->dtype.lanes() > 1) return Unsupported(self);
    if (mask_ && !op->value.dtype().is_scalar()) return Unsupported(self);
    certain_ = CertainLoads(op->value);
    mask_of_store_ = mask_;
    Expr value = Vector(op->value), index = Mutate(op->indices[0]);
    certain_ = CertainLoads();
    mask_of_store_ = Expr();
    // Vectors that do not lie next to each other have no common index.
    if (!ok_ || index.dtype().lanes() != value.dtype().lanes()) return Unsupported(self);
    if (mask_ && op->buffer->scope.kind() == MemoryKind::kRegister && IsWhole(op->buffer, index)) {
      if (with_idle_lanes_.contains(op->buffer)) return Store(op->buffer, std::move(value), {std::move(index)});
      return Store(op->buffer, Expr(new SelectNode(mask_, std::move(value), op->buffer.Load({index}))), {index});
    }
    return Store(op->buffer, std::move(value), {std::move(index)}, mask_);
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (Depends(op->min) || Depends(op->extent)) return Unsupported(self);
    ForNode::Fields fields = op->fields();
    fields.body = Mutate(op->body);
    return For(std::move(fields));
  }
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    if (!Depends(op->condition)) {
      Stmt then_case = Mutate(op->then_case);
      return If(op->condition, then_case, Mutate(op->else_case));
    }
    if (op->else_case) return Unsupported(self);
    Expr same_for_all, by_lane;
    Split(op->condition, &same_for_all, &by_lane);
    const Expr outer = mask_;
    Expr inner = Vector(by_lane);
    if (!ok_) return self;
    mask_ = outer ? And(outer, inner) : inner;
    if (HoldsLoads(by_lane) || UsesLets(by_lane)) RefuseUnguarded(op->then_case);
    Stmt body = Mutate(op->then_case);
    mask_ = outer;
    return same_for_all ? If(same_for_all, body) : body;
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt&) override {
    Expr value = Mutate(op->value);
    Var var = op->var;
    if (!value.same_as(op->value)) {
      var = Var(op->var.name(), value.dtype());
      lets_[op->var] = var;
    }
    return LetStmt(var, value, Mutate(op->body));
  }
  Stmt MutateWhile(const WhileNode*, const Stmt& self) override { return Unsupported(self); }
  Stmt MutateEvaluate(const EvaluateNode*, const Stmt& self) override {
    return IsNoOp(self) ? self : Unsupported(self);
  }
  Stmt MutateAssert(const AssertNode*, const Stmt& self) override { return Unsupported(self); }
  Stmt MutateAllocate(const AllocateNode*, const Stmt& self) override { return Unsupported(self); }
  Stmt MutateSync(const SyncNode*, const Stmt& self) override { return Unsupported(self); }

 private:
  template <class T>
  T Unsupported(const T& self) {
    ok_ = false;
    return self;
  }
  bool Depends(const Expr& e) {
    bool found = false;
    PreOrder(e, [&](const Expr& sub) {
      const auto* var = dyn_cast<VarNode>(sub);
      found |= var != nullptr && (var == var_.get() || lets_.contains(Var(var)));
      return !found;
    });
    return found;
  }
  // `e` as a multiple of the variable and a rest that is the same for all lanes.
  std::optional<arith::LinearForm> Linear(const Expr& e) {
    auto linear = arith::DetectLinear(e, {var_}, analyzer_);
    if (linear && (Depends(linear->base) || Depends(linear->coefficients[0]))) return std::nullopt;
    return linear;
  }
  // With `lanes_` times as many lanes in any case.
  Expr Vector(const Expr& e) { return Depends(e) ? Mutate(e) : Broadcast(e, lanes_); }
  DataType Widened(DataType type) const { return type.with_lanes(type.lanes() * lanes_); }
  // Whether all lanes of the vector lie in the buffer. In vector registers, lanes without work then keep what they
  // hold: a masked access would force the buffer into memory.
  bool IsWhole(const Buffer& buffer, const Expr& index) const {
    const auto* ramp = dyn_cast<RampNode>(index);
    const std::optional<int64_t> size = AsInt(buffer->shape[0]);
    if (!size || ramp == nullptr || !IsInt(ramp->stride, 1)) return false;
    const arith::Bounds first = analyzer_->ConstBounds(ramp->base);
    return first.min >= 0 && first.max <= *size - index.dtype().lanes();
  }
  static bool HasVectors(const CallNode* op) {
    return std::any_of(op->args.begin(), op->args.end(), [](const Expr& arg) { return !arg.dtype().is_scalar(); });
  }
  // Loads in the branches are masked: they run for all lanes.
  Expr MutateIfThenElse(const CallNode* op) {
    if (!op->dtype().is_scalar()) return Unsupported(Expr(op));
    if (!Depends(op->args[0])) {
      return Call(op->dtype().with_lanes(lanes_), op->op, {op->args[0], Vector(op->args[1]), Vector(op->args[2])});
    }
    Expr condition = Vector(op->args[0]);
    if (!ok_) return Expr(op);
    Expr true_value = Under(condition, op->args[1]), false_value = Under(Not(condition), op->args[2]);
    return ok_ ? Expr(new SelectNode(condition, true_value, false_value)) : Expr(op);
  }
  // What runs only in the lanes of a condition.
  Expr Under(const Expr& condition, const Expr& e) {
    if (!ok_) return e;
    const Expr outer = mask_;
    mask_ = outer ? And(outer, condition) : condition;
    RefuseUnguarded(e);
    Expr vector = Vector(e);
    mask_ = outer;
    return vector;
  }
  // A load or a division that is the same for all lanes would run whatever the lanes' conditions are.
  void RefuseUnguarded(const Expr& e) {
    PreOrder(e, [&](const Expr& sub) { return IsGuarded(sub); });
  }
  void RefuseUnguarded(const Stmt& s) {
    PreOrderExprs(s, [&](const Expr& sub) { return IsGuarded(sub); });
  }
  // Whether to look into the operands too.
  bool IsGuarded(const Expr& e) {
    const auto* op = dyn_cast<BinaryNode>(e);
    const auto* load = dyn_cast<LoadNode>(e);
    const bool may_fail = load != nullptr ? !certain_.contains(e) && !IsInside(*load) : op != nullptr && MayTrap(*op);
    if (may_fail && e.dtype().is_scalar() && !Depends(e)) ok_ = false;
    return ok_ && !IsIndexOf(e);
  }
  // Whether the element is one of the buffer's, whatever the lanes' conditions are. Memory that threads share may not
  // hold it yet.
  bool IsInside(const LoadNode& load) const {
    const std::optional<int64_t> size = AsInt(load.buffer->shape[0]);
    const arith::Bounds at = analyzer_->ConstBounds(load.indices[0]);
    return load.buffer->scope.kind() == MemoryKind::kGlobal && size && at.min >= 0 && at.max < *size;
  }
  // The indices of loads by lane, which divide by sizes, are computed for all lanes.
  static bool IsIndexOf(const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    return load != nullptr && std::ranges::none_of(load->indices, HoldsLoads);
  }
  static bool HoldsLoads(const Expr& e) {
    bool found = false;
    PreOrder(e, [&](const Expr& sub) {
      found |= isa<LoadNode>(sub);
      return !found;
    });
    return found;
  }
  static bool MayFail(const Expr& e) {
    bool found = false;
    PreOrder(e, [&](const Expr& sub) {
      const auto* op = dyn_cast<BinaryNode>(sub);
      found |= isa<LoadNode>(sub) || (op != nullptr && MayTrap(*op));
      return !found;
    });
    return found;
  }
  bool UsesLets(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) { return lets_.contains(Var(var)); });
  }
  // 1 in the place of 0. LLVM takes the choice of lanes apart and divides by either vector, where one lane of 0 among
  // constants makes all lanes undefined.
  static Expr WithoutZeros(const Expr& divisor) {
    const auto all = [&](int64_t value) {
      return Broadcast(Const(divisor.dtype().element(), value), divisor.dtype().lanes());
    };
    return divisor.dtype().is_uint() ? Max(divisor, all(1)) : divisor + CastTo(divisor.dtype(), divisor == all(0));
  }
  static bool MayTrap(const BinaryNode& op) {
    const bool divides = op.dtype().is_integer() && op.op >= BinaryOp::kDiv && op.op <= BinaryOp::kFloorMod;
    return divides && AsInt(op.b).value_or(0) == 0;
  }
  static void And2(Expr* all, const Expr& part) { *all = *all ? And(*all, part) : part; }
  void Split(const Expr& condition, Expr* same_for_all, Expr* by_lane) {
    const auto* both = dyn_cast<BinaryNode>(condition);
    if (both != nullptr && both->op == BinaryOp::kAnd) {
      Split(both->a, same_for_all, by_lane);
      Split(both->b, same_for_all, by_lane);
    } else {
      // What lanes before it guard stays behind them.
      const bool is_guarded = *by_lane && MayFail(condition);
      And2(Depends(condition) || is_guarded ? by_lane : same_for_all, condition);
    }
  }

  const Var& var_;
  const Expr first_;
  const int lanes_;
  const BufferSet& with_idle_lanes_;
  arith::Analyzer* analyzer_;
  VarMap lets_;
  Expr mask_;  // null: all lanes
  // What the store at hand loads whatever its conditions are, and the mask then. Outside of stores nothing is certain.
  CertainLoads certain_;
  Expr mask_of_store_;
  bool ok_ = true;
};

class Vectorizer : public ScopedMutator {
 public:
  Vectorizer(int vector_bits, uint32_t next_id) : vector_bits_(vector_bits), next_id_(next_id) {}
  using ScopedMutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Stmt mutated = ScopedMutator::MutateFor(op, self);
    const auto* loop = cast<ForNode>(mutated);
    if (loop->kind != ForKind::kVectorized) return mutated;
    if (RunsFirstOnly(*loop)) return Substitute(loop->body, {{loop->var, loop->min}});
    if (Stmt vectors = Expand(loop)) return vectors;
    ForNode::Fields fields = loop->fields();
    fields.kind = ForKind::kSerial;
    return For(std::move(fields));
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    if (op->buffer->scope.kind() == MemoryKind::kRegister && HasIdleLanes(op->buffer, op->body, &analyzer_)) {
      with_idle_lanes_.insert(op->buffer);
    }
    return ScopedMutator::MutateAllocate(op, self);
  }

 private:
  // Null when there is no vector form. Rests are made of smaller powers of two.
  Stmt Expand(const ForNode* loop) {
    const std::optional<int64_t> extent = AsInt(loop->extent);
    if (!extent) return Stmt();
    const auto [native, most] = VectorWidthOf(loop->body, vector_bits_);
    std::vector<Stmt> parts;
    int64_t done = 0;
    if (const int64_t vectors = *extent / native; vectors > kMaxVectors) {
      Var outer(loop->var.name(), loop->var.dtype());
      Stmt body = Lanes(loop, loop->body, loop->min + outer * Const(outer.dtype(), native), native);
      if (!body) return Stmt();
      ForNode::Fields fields = loop->fields();
      fields.var = outer;
      fields.min = Const(outer.dtype(), 0);
      fields.extent = Const(outer.dtype(), vectors);
      fields.kind = ForKind::kSerial;
      fields.body = std::move(body);
      parts.push_back(For(std::move(fields)));
      done = vectors * native;
    }
    while (done < *extent) {
      const auto rest = static_cast<uint64_t>(*extent - done);
      if (static_cast<int64_t>(rest) < native && !std::has_single_bit(rest)) {
        if (Stmt masked = MaskedRest(loop, done, static_cast<int64_t>(std::bit_ceil(rest)))) {
          parts.push_back(done == 0 ? masked : CopyWithFreshNames(masked, &next_id_));
          break;
        }
      }
      int64_t lanes = std::min<int64_t>(most, static_cast<int64_t>(std::bit_floor(rest)));
      const Expr first = loop->min + Const(loop->min.dtype(), done);
      Stmt part = Lanes(loop, loop->body, first, lanes);
      if (lanes > native && (!part || !MovesRuns(part))) part = Lanes(loop, loop->body, first, lanes = native);
      if (!part) return Stmt();
      parts.push_back(done == 0 ? part : CopyWithFreshNames(part, &next_id_));
      done += lanes;
    }
    return Sequence(std::move(parts));
  }

  // Whether a condition leaves the first iteration alone. What it does may not mention the variable any more.
  bool RunsFirstOnly(const ForNode& loop) {
    const auto* branch = dyn_cast<IfNode>(loop.body);
    if (branch == nullptr || branch->else_case || AsInt(loop.extent).value_or(0) < 1) return false;
    arith::Analyzer::Scope scope(&analyzer_);
    analyzer_.Bind(loop.var, Range{loop.min, loop.extent});
    return Leaves(branch->condition, loop.var <= loop.min);
  }
  // Whether a part of the condition implies `bound`.
  bool Leaves(const Expr& condition, const Expr& bound) {
    const auto* both = dyn_cast<BinaryNode>(condition);
    if (both != nullptr && both->op == BinaryOp::kAnd) return Leaves(both->a, bound) || Leaves(both->b, bound);
    if (both == nullptr || !IsComparison(both->op) || !both->a.dtype().is_index()) return false;
    arith::Analyzer::Scope scope(&analyzer_);
    analyzer_.Assume(condition);
    return analyzer_.CanProve(bound);
  }

  // The iterations from the `done`th on as the first of `lanes`; null where a mask is worse than several vectors or not
  // allowed. Buffers of vector registers hold whole vectors or none.
  Stmt MaskedRest(const ForNode* loop, int64_t done, int64_t lanes) {
    if (vector_bits_ < kMaskedBits) return Stmt();
    UnmaskedParts unmasked;
    unmasked.Visit(loop->body);
    if (unmasked.found) return Stmt();
    const Expr inside = loop->var < analyzer_.Simplify(loop->min + loop->extent);
    return Lanes(loop, If(inside, loop->body), loop->min + Const(loop->min.dtype(), done), lanes);
  }

  // The body for `lanes` iterations from `first` on; null when it has no vector form.
  Stmt Lanes(const ForNode* loop, const Stmt& body, const Expr& first, int64_t lanes) {
    Expr simplified = analyzer_.Simplify(first);
    if (lanes == 1) return Substitute(body, {{loop->var, simplified}});
    LaneExpander expander(loop->var, simplified, static_cast<int>(lanes), with_idle_lanes_, &analyzer_);
    Stmt vectors = expander.Mutate(body);
    return expander.ok() ? vectors : Stmt();
  }

  const int vector_bits_;
  uint32_t next_id_;
  BufferSet with_idle_lanes_;
};

}  // namespace

Function VectorizeLoops(const Function& function, int vector_bits) {
  Vectorizer vectorizer(vector_bits, function->next_id);
  Stmt body = vectorizer.Mutate(function->body);
  return function.WithBody(std::move(body), vectorizer.next_id());
}

}  // namespace tilewright

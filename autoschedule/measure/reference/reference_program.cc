#include "autoschedule/measure/reference/reference_program.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/reference/fast_order.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr DataType kDouble = DataType::Float(64);
// The terms of a sum whose extents are not known.
constexpr int64_t kManyTerms = 1 << 20;
// The bound of an element that may be anything.
constexpr double kUnbounded = 1e300;
// Half units in the last place that a function of the math library may be off by: 4 whole ones.
constexpr double kFunctionRoundings = 8;

// A value and a bound on its error: a number; for a condition, whether it may come out the other way. Null: exact.
struct Bounded {
  Expr value, error;
};

Expr Double(double value) { return ConstFloat(kDouble, value); }
Expr Abs(const Expr& e) { return Call(kDouble, "abs", {CastTo(kDouble, e)}); }

double UnitRoundoff(DataType type) {
  switch (type.code()) {
    case TypeCode::kBFloat:
      return 0x1p-8;
    case TypeCode::kE4M3:
      return 0x1p-4;
    case TypeCode::kE5M2:
      return 0x1p-3;
    default:
      return type.bits() == 16 ? 0x1p-11 : type.bits() == 32 ? 0x1p-24 : 0x1p-53;
  }
}

// Whether every value of `from` is one of `to`.
bool Holds(DataType to, DataType from) {
  if (!to.is_float()) return true;
  const int digits = 1 - std::ilogb(UnitRoundoff(to)) - 1;
  if (!from.is_float()) return from.is_bool() || from.bits() <= digits;
  return from == to || (to.bits() > from.bits() && to.bits() >= 32);
}

class BoundErrors : public Mutator {
 public:
  BoundErrors(std::set<const BufferNode*> inexact, const VarMap& extents)
      : inexact_(std::move(inexact)), extents_(extents) {}

  ReferenceProgram Run(const Function& main) {
    ReferenceProgram result;
    result.written = WrittenParams(main);
    FunctionNode::Fields fields = main->fields();
    fields.params.clear();
    for (size_t i = 0; i < main->params.size(); ++i) {
      const Param& param = main->params[i];
      result.value.push_back(static_cast<int>(fields.params.size()));
      result.error.push_back(-1);
      if (!param.buffer || !result.written[i]) {
        fields.params.push_back(param);
        continue;
      }
      const Pair& pair = Define(param.buffer);
      fields.params.push_back({Var(param.buffer->name, DataType::Handle()), pair.value});
      if (!pair.error) continue;
      result.error.back() = static_cast<int>(fields.params.size());
      fields.params.push_back({Var(pair.error->name, DataType::Handle()), pair.error});
    }
    fields.body = Mutate(main->body);
    result.function = Function(std::move(fields));
    return result;
  }

  // What has no bound; empty when everything has.
  const std::string& refusal() const { return refusal_; }
  // Buffers that turned out to hold inexact values; more than before: everything is to be done again.
  const std::set<const BufferNode*>& inexact() const { return inexact_; }

  using Mutator::Mutate;
  // What decides where to go and which elements to touch.
  Expr Mutate(const Expr& e) override {
    if (!e) return e;
    const Bounded bounded = VisitApart(e);
    if (bounded.error) Refuse("an index or a condition that depends on rounding");
    return bounded.value;
  }

 protected:
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (op->predicate || !op->value.dtype().is_scalar()) return Refuse("a vector operation"), self;
    std::vector<std::pair<Var, Expr>> outer;
    std::swap(outer, bindings_);
    const std::vector<Expr> indices = MutateAll(op->indices);
    const Pair pair = Find(op->buffer);
    const Expr term = SummedTerm(op);
    Expr value, error;
    if (term && op->value.dtype().is_float()) {
      const Bounded x = Bind(Visit(term));
      const double terms = Extent(op), roundings = terms + 2;
      const double c = std::min(roundings, 8 * std::sqrt(roundings)) * UnitRoundoff(op->value.dtype());
      Expr own = x.error ? x.error + Double(c) * (Abs(x.value) + x.error) : Double(c) * Abs(x.value);
      if (!StartsAtZero(op)) own = own + Double(c / terms) * Abs(pair.value.Load(indices));
      value = pair.value.Load(indices) + x.value;
      error = pair.error ? pair.error.Load(indices) + own : own;
    } else {
      const Bounded x = Bind(Visit(op->value));
      value = x.value;
      error = x.error;
    }
    if (error) inexact_.insert(op->buffer.get());
    std::vector<Stmt> stores;
    // The bound may be computed from the old value, never the other way round.
    if (pair.error) stores.push_back(Store(pair.error, error ? error : Double(0), indices));
    stores.push_back(Store(pair.value, value, indices));
    Stmt result = Sequence(std::move(stores));
    std::swap(outer, bindings_);
    for (size_t i = outer.size(); i-- > 0;) result = LetStmt(outer[i].first, outer[i].second, result);
    return result;
  }

  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    loops_.push_back(op);
    Stmt result = Mutator::MutateFor(op, self);
    loops_.pop_back();
    return result;
  }

  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt&) override {
    const Bounded value = VisitApart(op->value);
    const Bounded bound = BindVar(op->var, value);
    Stmt body = Mutate(op->body);
    if (bound.error) body = LetStmt(Var(cast<VarNode>(bound.error)), value.error, body);
    return LetStmt(Var(cast<VarNode>(bound.value)), value.value, body);
  }

  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self) override {
    if (!IsNoOp(self)) Refuse("an expression evaluated for its effect");
    static_cast<void>(op);
    return self;
  }
  Stmt MutateDeclBuffer(const DeclBufferNode*, const Stmt& self) override { return Refuse("a view of a buffer"), self; }
  Stmt MutateSync(const SyncNode*, const Stmt& self) override { return Refuse("synchronization"), self; }
  Stmt MutateAllocate(const AllocateNode*, const Stmt& self) override {
    return Refuse("an allocation outside of a block"), self;
  }

  Block MutateBlock(const Block& block) override {
    if (!block->match_buffers.empty()) return Refuse("a part of a buffer under another name"), block;
    BlockNode::Fields fields = block->fields();
    fields.alloc_buffers.clear();
    for (const Buffer& buffer : block->alloc_buffers) {
      const Pair& pair = Define(buffer);
      fields.alloc_buffers.push_back(pair.value);
      if (pair.error) fields.alloc_buffers.push_back(pair.error);
    }
    fields.reads = Regions(block->reads);
    fields.writes = Regions(block->writes);
    std::vector<const ForNode*> loops;
    std::swap(loops, loops_);
    const BlockNode* outer = std::exchange(block_, block.get());
    if (block->init) fields.init = Mutate(block->init);
    fields.body = Mutate(block->body);
    block_ = outer;
    std::swap(loops, loops_);
    return Block(std::move(fields));
  }

 private:
  struct Pair {
    Buffer value, error;
  };

  void Refuse(std::string_view what) {
    if (refusal_.empty()) refusal_ = std::string(what);
  }
  // Something of the type that `e` would have.
  Bounded Refused(std::string_view what, const Expr& e) {
    Refuse(what);
    const DataType type = e.dtype().element();
    return {type.is_bool() || type.is_integer() ? Const(type, 0) : Double(0), {}};
  }

  const Pair& Define(const Buffer& buffer) {
    BufferNode::Fields fields{
        .name = buffer->name, .dtype = buffer->dtype.is_float() ? kDouble : buffer->dtype, .shape = buffer->shape};
    Pair pair{.value = Buffer(fields), .error = {}};
    if (inexact_.contains(buffer.get())) {
      fields.name += "_error";
      fields.dtype = kDouble;
      pair.error = Buffer(std::move(fields));
    }
    return buffers_[buffer.get()] = pair;
  }
  Pair Find(const Buffer& buffer) const {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? Pair{.value = buffer, .error = {}} : found->second;
  }
  std::vector<BufferRegion> Regions(const std::vector<BufferRegion>& regions) {
    std::vector<BufferRegion> result;
    for (const BufferRegion& region : regions) {
      const Pair pair = Find(region.buffer);
      const BufferRegion mapped = MutateRegion(region);
      result.push_back({pair.value, mapped.region});
      if (pair.error) result.push_back({pair.error, mapped.region});
    }
    return result;
  }

  // x of `B[i] = B[i] + x`.
  static Expr SummedTerm(const StoreNode* store) {
    const auto* sum = dyn_cast<BinaryNode>(store->value);
    if (sum == nullptr || sum->op != BinaryOp::kAdd) return {};
    const auto is_same = [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || !load->buffer.same_as(store->buffer)) return false;
      for (size_t i = 0; i < load->indices.size(); ++i) {
        if (!StructuralEqual(load->indices[i], store->indices[i])) return false;
      }
      return true;
    };
    if (is_same(sum->a)) return sum->b;
    if (is_same(sum->b)) return sum->a;
    return {};
  }

  // Whether the block sets what the store adds to to zero before.
  bool StartsAtZero(const StoreNode* sum) const {
    const auto* init = block_ == nullptr || !block_->init ? nullptr : dyn_cast<StoreNode>(block_->init);
    const auto* zero = init == nullptr ? nullptr : dyn_cast<FloatImmNode>(init->value);
    return zero != nullptr && zero->value == 0 && init->buffer.same_as(sum->buffer);
  }

  // How many terms are added to one element: the iterations of what its indices do not depend on.
  double Extent(const StoreNode* store) const {
    double product = 1;
    const auto count = [&](const Var& var, const Expr& extent) {
      for (const Expr& index : store->indices) {
        if (UsesVar(index, var)) return;
      }
      const auto terms = AsInt(arith::Simplify(Substitute(extent, extents_)));
      product *= static_cast<double>(terms.value_or(kManyTerms));
    };
    if (block_ != nullptr) {
      for (const IterVar& iter : block_->iter_vars) count(iter.var, iter.domain.extent);
    }
    for (const ForNode* loop : loops_) count(loop->var, loop->extent);
    return product;
  }

  // Values that are used more than once get a name, or the size of the bounds would grow with every operation.
  Expr Bind(const Expr& e) {
    if (!e || isa<VarNode>(e) || isa<IntImmNode>(e) || isa<FloatImmNode>(e)) return e;
    Var var("t", e.dtype());
    bindings_.emplace_back(var, e);
    return var;
  }
  Bounded Bind(const Bounded& bounded) { return {Bind(bounded.value), Bind(bounded.error)}; }
  Bounded BindVar(const Var& var, const Bounded& value) {
    Bounded bound{Var(var.name(), value.value.dtype()), {}};
    if (value.error) bound.error = Var(var.name() + "_error", value.error.dtype());
    return vars_[var.get()] = bound;
  }
  // `visit`, with the names that it binds bound inside of what it returns: nothing of it is evaluated elsewhere.
  Bounded VisitApart(const Expr& e) {
    std::vector<std::pair<Var, Expr>> own;
    std::swap(own, bindings_);
    Bounded result = Visit(e);
    std::swap(own, bindings_);
    for (size_t i = own.size(); i-- > 0;) {
      const auto let = [&](const Expr& body) { return Expr(new LetNode(own[i].first, own[i].second, body)); };
      result.value = let(result.value);
      if (result.error) result.error = let(result.error);
    }
    return result;
  }

  // The error of `value` after it is rounded to `type`, when it has `error` before.
  Expr Rounded(const Expr& value, const Expr& error, DataType type, double roundings = 1) {
    if (!type.is_float()) return error;
    const Expr own = Double(roundings * UnitRoundoff(type)) * Abs(value);
    return error ? error * Double(1 + roundings * UnitRoundoff(type)) + own : own;
  }
  static Expr Sum(const Expr& a, const Expr& b) { return !a ? b : !b ? a : a + b; }
  static Expr Largest(const Expr& a, const Expr& b) { return !a ? b : !b ? a : Max(a, b); }
  static Expr OrZero(const Expr& error) { return error ? error : Double(0); }

  Bounded Visit(const Expr& e) {
    switch (e->kind()) {
      case Kind::kIntImm:
        return {e, {}};
      case Kind::kFloatImm:
        return {Double(cast<FloatImmNode>(e)->value), {}};
      case Kind::kVar: {
        const auto found = vars_.find(cast<VarNode>(e));
        return found == vars_.end() ? Bounded{e, {}} : found->second;
      }
      case Kind::kNot: {
        const Bounded a = Visit(cast<NotNode>(e)->a);
        return {Not(a.value), a.error};
      }
      case Kind::kBinary:
        return VisitBinary(cast<BinaryNode>(e));
      case Kind::kSelect: {
        const auto* op = cast<SelectNode>(e);
        return Choose(Bind(Visit(op->condition)), Bind(Visit(op->true_value)), Bind(Visit(op->false_value)));
      }
      case Kind::kCast:
        return VisitCast(cast<CastNode>(e));
      case Kind::kLoad:
        return VisitLoad(cast<LoadNode>(e));
      case Kind::kLet: {
        const auto* op = cast<LetNode>(e);
        vars_[op->var.get()] = Bind(Visit(op->value));
        return Visit(op->body);
      }
      case Kind::kCall:
        return VisitCall(cast<CallNode>(e));
      default:
        return Refused("a vector operation", e);
    }
  }

  Bounded VisitLoad(const LoadNode* op) {
    if (op->predicate) Refuse("a vector operation");
    const Pair pair = Find(op->buffer);
    const std::vector<Expr> indices = MutateAll(op->indices);
    const Expr value = pair.value.Load(indices);
    return {op->dtype().is_float() ? CastTo(kDouble, value) : value, pair.error ? pair.error.Load(indices) : Expr()};
  }

  Bounded VisitBinary(const BinaryNode* op) {
    Bounded a = Visit(op->a), b = Visit(op->b);
    const bool is_float = op->a.dtype().is_float();
    if (!is_float && !a.error && !b.error) return {MakeBinary(op->op, a.value, b.value), {}};
    if (IsLogic(op->op)) {
      const Expr value = MakeBinary(op->op, a.value, b.value);
      return {value, !a.error ? b.error : !b.error ? a.error : Or(a.error, b.error)};
    }
    a = Bind(a);
    b = Bind(b);
    const Expr value = Bind(MakeBinary(op->op, a.value, b.value));
    const Expr errors = Sum(a.error, b.error);
    if (IsComparison(op->op)) return {value, errors ? Abs(Difference(a.value, b.value)) <= errors : Expr()};
    switch (op->op) {
      case BinaryOp::kMin:
      case BinaryOp::kMax:
        return {value, Largest(a.error, b.error)};
      case BinaryOp::kAdd:
      case BinaryOp::kSub: {
        // 0 - x is how a sign is changed.
        const auto* zero = dyn_cast<FloatImmNode>(a.value);
        if (op->op == BinaryOp::kSub && zero != nullptr && zero->value == 0) return {value, b.error};
        return {value, Rounded(value, errors, op->dtype())};
      }
      case BinaryOp::kMul: {
        Expr error;
        if (b.error) error = Abs(a.value) * b.error;
        if (a.error) error = Sum(error, Abs(b.value) * a.error);
        if (a.error && b.error) error = error + a.error * b.error;
        return {value, Rounded(value, error, op->dtype())};
      }
      case BinaryOp::kDiv: {
        if (!is_float) break;
        Expr error = a.error;
        if (b.error) error = Sum(error, Abs(value) * b.error);
        const Expr least = b.error ? Bind(Abs(b.value) - b.error) : Abs(b.value);
        if (error) error = Select(least > Double(0), Div(error, least), Double(kUnbounded));
        return {value, Rounded(value, error, op->dtype())};
      }
      default:
        break;
    }
    return Refuse("integer division of a rounded value"), Bounded{value, {}};
  }

  static Expr Difference(const Expr& a, const Expr& b) { return CastTo(kDouble, a) - CastTo(kDouble, b); }

  Bounded Choose(const Bounded& condition, const Bounded& a, const Bounded& b) {
    const Expr value = Select(condition.value, a.value, b.value);
    Expr error;
    if (a.error || b.error) error = Select(condition.value, OrZero(a.error), OrZero(b.error));
    if (!condition.error) return {value, error};
    const Expr either = Abs(Difference(a.value, b.value)) + OrZero(Largest(a.error, b.error));
    return {value, Select(condition.error, either, OrZero(error))};
  }

  Bounded VisitCast(const CastNode* op) {
    const DataType to = op->dtype(), from = op->value.dtype();
    const Bounded a = Bind(Visit(op->value));
    if (to.is_float()) {
      const Expr value = Bind(CastTo(kDouble, a.value));
      return {value, Holds(to, from) ? a.error : Rounded(value, a.error, to)};
    }
    const Expr value = CastTo(to, a.value);
    if (!from.is_float() || !a.error) return {value, a.error};
    return {value, Spread(a, [](const Expr& x) { return Call(kDouble, "trunc", {x}); })};
  }

  // How far a monotone function goes when its argument moves by its error.
  template <class F>
  Expr Spread(const Bounded& a, F function) {
    const Expr middle = Bind(function(a.value));
    return Max(Abs(Difference(function(a.value + a.error), middle)),
               Abs(Difference(function(a.value - a.error), middle)));
  }

  Bounded VisitCall(const CallNode* op) {
    if (op->op == kIfThenElse) {
      const Bounded condition = Bind(Visit(op->args[0]));
      if (condition.error) return Choose(condition, Bind(Visit(op->args[1])), Bind(Visit(op->args[2])));
      const Bounded a = VisitApart(op->args[1]), b = VisitApart(op->args[2]);
      Bounded result{IfThenElse(condition.value, a.value, b.value), {}};
      if (a.error || b.error) result.error = IfThenElse(condition.value, OrZero(a.error), OrZero(b.error));
      return result;
    }
    if (op->op == "likely") return Visit(op->args[0]);
    if (op->op == "infinity") return {Call(kDouble, "infinity", {}), {}};
    const bool is_float = op->dtype().is_float();
    if (op->op == "fma" && is_float) return Visit(op->args[0] * op->args[1] + op->args[2]);
    if (op->op == "pow" && is_float && IsTwo(op->args[1])) return Visit(op->args[0] * op->args[0]);
    const Builtin* builtin = FindBuiltin(op->op);
    if (builtin == nullptr || builtin->effect != CallEffect::kPure || op->op == kCallPureExtern ||
        op->op == "call_llvm_pure_intrin" || op->op == "reinterpret") {
      return Refused("a call of " + op->op, Expr(op));
    }
    std::vector<Expr> args;
    Expr errors;
    for (const Expr& arg : op->args) {
      const Bounded a = Bind(Visit(arg));
      args.push_back(a.value);
      errors = Sum(errors, a.error);
    }
    if (errors && (!is_float || args.size() > 1)) return Refused("a call of " + op->op, Expr(op));
    if (!is_float) return {Call(op->dtype(), op->op, args), {}};
    const auto function = [&](const Expr& x) { return Call(kDouble, op->op, {x}); };
    const Expr value = Bind(Call(kDouble, op->op, args));
    if (op->op == "abs") return {value, errors};
    const Expr spread = errors ? Spread({args[0], errors}, function) : Expr();
    return {value, IsExact(op->op) ? spread : Rounded(value, spread, op->dtype(), kFunctionRoundings)};
  }
  // Functions that round to integers.
  static bool IsExact(std::string_view function) {
    return function == "floor" || function == "ceil" || function == "trunc" || function == "round" ||
           function == "round_away" || function == "nearbyint";
  }
  static bool IsTwo(const Expr& e) {
    const auto* number = dyn_cast<FloatImmNode>(e);
    return number != nullptr && number->value == 2;
  }

  std::set<const BufferNode*> inexact_;
  const VarMap& extents_;
  std::unordered_map<const BufferNode*, Pair> buffers_;
  std::unordered_map<const VarNode*, Bounded> vars_;
  std::vector<std::pair<Var, Expr>> bindings_;
  std::vector<const ForNode*> loops_;  // inside of the block
  const BlockNode* block_ = nullptr;
  std::string refusal_;
};

}  // namespace

std::vector<bool> WrittenParams(const Function& function) {
  std::set<const VarNode*> written;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* store = dyn_cast<StoreNode>(s)) written.insert(store->buffer->data.get());
    return true;
  });
  std::vector<bool> result;
  for (const Param& param : function->params) {
    result.push_back(param.buffer && written.contains(param.buffer->data.get()));
  }
  return result;
}

absl::StatusOr<ReferenceProgram> MakeReferenceProgram(const Function& main, const VarMap& extents) {
  const Function ordered = FastOrder(main);
  std::set<const BufferNode*> inexact;
  for (;;) {
    BoundErrors bound(inexact, extents);
    ReferenceProgram program = bound.Run(ordered);
    if (!bound.refusal().empty()) {
      return absl::UnimplementedError(absl::StrCat("no reference for ", bound.refusal()));
    }
    if (bound.inexact().size() == inexact.size()) return program;
    inexact = bound.inexact();
  }
}

}  // namespace tilewright

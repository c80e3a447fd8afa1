#include "autoschedule/measure/reference/reference_program.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/reference/fast_order.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/expand_call.h"
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

double LargestOf(DataType type) {
  switch (type.code()) {
    case TypeCode::kE4M3:
      return 448;
    case TypeCode::kE5M2:
      return 57344;
    case TypeCode::kBFloat:
      return 0x1.fep127;
    default:
      return type.bits() == 16 ? 65504 : 0x1.fffffep127;
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
  BoundErrors(std::set<const VarNode*> inexact, const VarMap& extents)
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
  const std::set<const VarNode*>& inexact() const { return inexact_; }

  using Mutator::Mutate;
  // What decides where to go and which elements to touch.
  Expr Mutate(const Expr& e) override {
    if (!e) return e;
    const Bounded bounded = VisitApart(e);
    if (bounded.error) Refuse("an index or a number of iterations that depends on rounding");
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
    if (error && error.dtype().is_bool()) error = Select(error, Double(1), Double(0));
    if (!term || op->buffer->dtype.bits() < 32) Overflow(op->buffer->dtype, &value, &error);
    if (error) inexact_.insert(op->buffer->data.get());
    if (anything_) {
      inexact_.insert(op->buffer->data.get());
      std::swap(outer, bindings_);
      return pair.error ? Store(pair.error, Double(kUnbounded), indices) : Evaluate(Expr(0));
    }
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

  // Where rounding may decide otherwise, what either branch stores may be anything.
  Stmt MutateIf(const IfNode* op, const Stmt&) override {
    const Bounded condition = VisitApart(op->condition);
    const auto choose = [&](const Expr& value) {
      return If(value, Mutate(op->then_case), op->else_case ? Mutate(op->else_case) : Stmt());
    };
    if (!condition.error) return choose(condition.value);
    // What is stored may be what the condition depends on.
    const Var holds("c", DataType::Bool()), unsure("c_error", DataType::Bool());
    Stmt chosen = choose(holds);
    const bool before = std::exchange(anything_, true);
    Stmt either = Mutate(op->then_case);
    if (op->else_case) either = Sequence({either, Mutate(op->else_case)});
    anything_ = before;
    Stmt both = Sequence({chosen, If(unsure, either, Stmt())});
    return LetStmt(holds, condition.value, LetStmt(unsure, condition.error, both));
  }

  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self) override {
    if (arith::HasEffect(op->value)) return Refuse("an expression evaluated for its effect"), self;
    return Evaluate(Expr(0));
  }
  Stmt MutateDeclBuffer(const DeclBufferNode* op, const Stmt& self) override {
    const auto whole = whole_.find(op->buffer->data.get());
    if (whole == whole_.end() || whole->second->dtype != op->buffer->dtype) {
      return Refuse("a view of a buffer as another type"), self;
    }
    const Pair of = Find(whole->second);
    Pair pair{.value = View(op->buffer, of.value), .error = {}};
    if (of.error) pair.error = View(op->buffer, of.error);
    buffers_[op->buffer.get()] = pair;
    Stmt body = Mutate(op->body);
    if (pair.error) body = Stmt(new DeclBufferNode(pair.error, std::move(body)));
    return Stmt(new DeclBufferNode(pair.value, std::move(body)));
  }
  Stmt MutateSync(const SyncNode*, const Stmt& self) override { return Refuse("synchronization"), self; }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt&) override {
    const Pair pair = Define(op->buffer);
    Stmt body = Mutate(op->body);
    if (pair.error) body = Stmt(new AllocateNode(pair.error, op->annotations, std::move(body)));
    return Stmt(new AllocateNode(pair.value, op->annotations, std::move(body)));
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

  // The same elements as `view` has of its buffer, of `whole`.
  static Buffer View(const Buffer& view, const Buffer& whole) {
    BufferNode::Fields fields = view->fields();
    fields.dtype = whole->dtype;
    fields.data = whole->data;
    return Buffer(std::move(fields));
  }

  const Pair& Define(const Buffer& buffer) {
    whole_.emplace(buffer->data.get(), buffer);
    BufferNode::Fields fields{
        .name = buffer->name, .dtype = buffer->dtype.is_float() ? kDouble : buffer->dtype, .shape = buffer->shape};
    Pair pair{.value = Buffer(fields), .error = {}};
    if (inexact_.contains(buffer->data.get())) {
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
  // What a type with a smaller range than double makes of values beyond its own: an infinity, in e4m3 a NaN. Near its
  // end either may come out.
  void Overflow(DataType type, Expr* value, Expr* error) {
    if (!type.is_float() || type.bits() == 64) return;
    *value = Bind(*value);
    if (*error) *error = Bind(*error);
    const bool has_infinity = type.code() != TypeCode::kE4M3;
    const Expr most = Double(LargestOf(type)), infinity = Call(kDouble, "infinity", {});
    const Expr magnitude = Abs(*value);
    const Expr beyond = has_infinity ? Call(kDouble, "copysign", {infinity, *value}) : infinity - infinity;
    if (*error) *error = Select(Abs(magnitude - most) <= *error, infinity, *error);
    *value = Select(most < magnitude, beyond, *value);
  }

  static Expr Sum(const Expr& a, const Expr& b) { return !a ? b : !b ? a : a + b; }
  static Expr Either(const Expr& a, const Expr& b) { return !a ? b : !b ? a : Or(a, b); }
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
        if (found != vars_.end()) return found->second;
        return {e.dtype().is_float() ? CastTo(kDouble, e) : e, {}};
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
    std::vector<Expr> indices;
    Expr elsewhere;  // whether rounding may have it read another element
    for (const Expr& index : op->indices) {
      const Bounded at = VisitApart(index);
      indices.push_back(at.value);
      if (!at.error) continue;
      const Expr moves = Double(0) < at.error;
      elsewhere = elsewhere ? Or(elsewhere, moves) : moves;
    }
    const Expr value = pair.value.Load(indices);
    Expr error = pair.error ? pair.error.Load(indices) : Expr();
    if (elsewhere) error = Select(elsewhere, Double(kUnbounded), OrZero(error));
    if (error && op->dtype().is_bool()) error = Double(0) < error;
    return {op->dtype().is_float() ? CastTo(kDouble, value) : value, error};
  }

  // The second operand is evaluated only where the first, or what rounding may make of it, does not decide.
  Bounded VisitLogic(const BinaryNode* op) {
    const Bounded a = Bind(Visit(op->a)), b = VisitApart(op->b);
    const Expr value = MakeBinary(op->op, a.value, b.value);
    if (!b.error) return {value, a.error};
    const Expr asks = op->op == BinaryOp::kAnd ? a.value : Not(a.value);
    const Expr of_b = And(asks, b.error);
    return {value, a.error ? Or(a.error, of_b) : of_b};
  }

  Bounded VisitBinary(const BinaryNode* op) {
    if (IsLogic(op->op)) return VisitLogic(op);
    Bounded a = Visit(op->a), b = Visit(op->b);
    const bool is_float = op->a.dtype().is_float();
    if (!is_float && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod) b.value = NotZero(Bind(b.value));
    if (!is_float && !a.error && !b.error) return {MakeBinary(op->op, a.value, b.value), {}};
    a = Bind(a);
    b = Bind(b);
    const Expr value = Bind(MakeBinary(op->op, a.value, b.value));
    if (a.value.dtype().is_bool()) return {value, Either(a.error, b.error)};
    const Expr errors = Sum(a.error, b.error);
    if (is_float && op->op == BinaryOp::kDiv) {
      Expr error = a.error;
      if (b.error) error = Sum(error, Abs(value) * b.error);
      const Expr least = b.error ? Bind(Abs(b.value) - b.error) : Abs(b.value);
      if (error) error = Select(least > Double(0), Div(error, least), Double(kUnbounded));
      return {value, Rounded(value, error, op->dtype())};
    }
    if (IsComparison(op->op)) {
      if (!errors) return {value, {}};
      const Expr bound = Bind(errors);  // 0 where both are exact after all
      return {value, And(Double(0) < bound, Abs(Difference(a.value, b.value)) <= bound)};
    }
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
      case BinaryOp::kDiv:
      case BinaryOp::kFloorDiv:
        if (!is_float && !b.error) {
          // Both roundings of quotients are monotone.
          const Expr divisor = CastTo(kDouble, b.value);
          return {value, Spread({CastTo(kDouble, a.value), a.error}, [&](const Expr& x) {
                    return Call(kDouble, op->op == BinaryOp::kDiv ? "trunc" : "floor", {Div(x, divisor)});
                  })};
        }
        break;
      case BinaryOp::kMod:
      case BinaryOp::kFloorMod:
        // Less than the divisor, whatever the dividend.
        if (!is_float && !b.error) return {value, Select(Double(0) < a.error, Abs(b.value), Double(0))};
        break;
      default:
        break;
    }
    if (!is_float) return {value, Select(Double(0) < errors, Double(kUnbounded), Double(0))};
    return Refuse("a quotient rounded down of floating-point numbers"), Bounded{value, {}};
  }

  // A divisor behind a condition that rounding may turn is zero where the condition does not hold.
  static Expr NotZero(const Expr& divisor) {
    if (isa<IntImmNode>(divisor)) return divisor;
    const DataType type = divisor.dtype();
    return Select(divisor == Const(type, 0), Const(type, 1), divisor);
  }

  static Expr Difference(const Expr& a, const Expr& b) { return CastTo(kDouble, a) - CastTo(kDouble, b); }

  Bounded Choose(const Bounded& condition, const Bounded& a, const Bounded& b) {
    const Expr value = Select(condition.value, a.value, b.value);
    if (value.dtype().is_bool()) return {value, Either(condition.error, Either(a.error, b.error))};
    Expr error;
    if (a.error || b.error) error = Select(condition.value, OrZero(a.error), OrZero(b.error));
    if (!condition.error) return {value, error};
    const Expr either = Abs(Difference(a.value, b.value)) + OrZero(Largest(a.error, b.error));
    return {value, Select(condition.error, either, OrZero(error))};
  }

  // Each side is evaluated only where it is chosen, or where rounding may choose it.
  Bounded ChooseApart(const Bounded& condition, const Bounded& a, const Bounded& b) {
    Bounded result{IfThenElse(condition.value, a.value, b.value), {}};
    if (result.value.dtype().is_bool()) {
      const Expr of_a = a.error ? a.error : False(), of_b = b.error ? b.error : False();
      if (a.error || b.error) result.error = IfThenElse(condition.value, of_a, of_b);
      return {result.value, Either(condition.error, result.error)};
    }
    if (a.error || b.error) result.error = IfThenElse(condition.value, OrZero(a.error), OrZero(b.error));
    if (!condition.error) return result;
    const Expr either = Abs(Difference(a.value, b.value)) + OrZero(Largest(a.error, b.error));
    return {result.value, IfThenElse(condition.error, either, OrZero(result.error))};
  }

  Bounded VisitCast(const CastNode* op) {
    const DataType to = op->dtype(), from = op->value.dtype();
    Bounded a = Bind(Visit(op->value));
    if (a.error && to.is_bool()) return {CastTo(to, a.value), from.is_bool() ? a.error : Abs(a.value) <= a.error};
    if (a.error && from.is_bool()) a.error = Select(a.error, Double(1), Double(0));
    if (to.is_float()) {
      Bounded result{Bind(CastTo(kDouble, a.value)), a.error};
      if (!Holds(to, from)) result.error = Rounded(result.value, a.error, to);
      if (!Holds(to, from)) Overflow(to, &result.value, &result.error);
      return result;
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
      return ChooseApart(condition, VisitApart(op->args[1]), VisitApart(op->args[2]));
    }
    if (op->op == "likely") return Visit(op->args[0]);
    if (op->op == "infinity") return {Call(kDouble, "infinity", {}), {}};
    if (const Expr whole = ExpandCall(op)) return Visit(whole);
    const bool is_float = op->dtype().is_float();
    if (op->op == "fma" && is_float) return Visit(op->args[0] * op->args[1] + op->args[2]);
    if (op->op == "pow" && is_float && IsTwo(op->args[1])) return Visit(op->args[0] * op->args[0]);
    if (op->op == "reinterpret") return VisitReinterpret(op);
    const Builtin* builtin = FindBuiltin(op->op);
    if (builtin == nullptr || builtin->effect != CallEffect::kPure || op->op == kCallPureExtern ||
        op->op == "call_llvm_pure_intrin" || op->op == "nextafter") {
      return Refused("a call of " + op->op, Expr(op));
    }
    std::vector<Bounded> args;
    bool inexact = false;
    for (const Expr& arg : op->args) {
      args.push_back(Bind(Visit(arg)));
      inexact = inexact || args.back().error;
    }
    if (op->args[0].dtype().is_float() && op->dtype().is_bool()) return OfClass(op, args[0]);
    return is_float ? FloatFunction(op, args) : IntegerFunction(op, args, inexact);
  }

  // Bits of a value that is not rounded.
  Bounded VisitReinterpret(const CallNode* op) {
    const DataType from = op->args[0].dtype();
    const Bounded a = Visit(op->args[0]);
    if (a.error || from.lanes() != 1 || op->dtype().lanes() != 1) return Refused("a call of reinterpret", Expr(op));
    const Expr bits = Call(op->dtype(), "reinterpret", {CastTo(from, a.value)});
    return {op->dtype().is_float() ? CastTo(kDouble, bits) : bits, {}};
  }

  // isnan, isinf, isfinite: in the range of the type; an infinite error says that it may be infinite or not.
  Bounded OfClass(const CallNode* op, Bounded a) {
    Overflow(op->args[0].dtype(), &a.value, &a.error);
    const Expr value = Call(op->dtype(), op->op, {a.value});
    if (!a.error || op->op == "isnan") return {value, {}};
    return {value, Call(DataType::Bool(), "isinf", {a.error})};
  }

  Bounded IntegerFunction(const CallNode* op, const std::vector<Bounded>& args, bool inexact) {
    if (inexact) return Refused("a call of " + op->op + " with a rounded value", Expr(op));
    std::vector<Expr> values;
    for (const Bounded& arg : args) values.push_back(arg.value);
    return {Call(op->dtype(), op->op, std::move(values)), {}};
  }

  Bounded FloatFunction(const CallNode* op, const std::vector<Bounded>& args) {
    const auto function = [&](std::vector<Expr> values) { return Call(kDouble, op->op, std::move(values)); };
    std::vector<Expr> values;
    for (const Bounded& arg : args) values.push_back(arg.value);
    Bounded result{Bind(function(values)), {}};
    const Expr &x = args[0].value, &x_error = args[0].error;
    if (op->op == "abs") return {result.value, x_error};
    if (op->op == "copysign") {
      const Expr& sign_error = args[1].error;
      result.error = x_error;
      if (sign_error) {
        const Expr either = OrZero(x_error) + Double(2) * Abs(x);
        result.error = Select(Abs(args[1].value) <= sign_error, either, OrZero(x_error));
      }
      return result;
    }
    if (op->op == "ldexp") {
      if (args[1].error) return Refused("a call of ldexp by a rounded number", Expr(op));
      if (x_error) result.error = function({x_error, values[1]});
      result.error = Rounded(result.value, result.error, op->dtype());
    } else if (args.size() == 1) {
      if (x_error) result.error = ErrorOfFunction(op->op, args[0]);
      if (!IsExact(op->op)) result.error = Rounded(result.value, result.error, op->dtype(), kFunctionRoundings);
    } else if (args.size() == 2 && op->op != "fmod" && op->op != "atan2") {
      result.error = Rounded(result.value, OfCorners(args, result.value, function), op->dtype(), kFunctionRoundings);
    } else {
      if (x_error || args[1].error) return Refused("a call of " + op->op + " with rounded values", Expr(op));
      result.error = Rounded(result.value, {}, op->dtype(), kFunctionRoundings);
    }
    if (!IsExact(op->op)) Overflow(op->dtype(), &result.value, &result.error);
    return result;
  }

  // Sines and cosines change by no more than their angle does. A tangent is infinite where its branches meet.
  Expr ErrorOfFunction(const std::string& name, const Bounded& a) {
    if (name == "sin" || name == "cos") return Min(a.error, Double(2));
    const Expr spread = Spread(a, [&](const Expr& at) { return Call(kDouble, name, {at}); });
    if (name != "tan") return spread;
    const auto branch = [](const Expr& at) { return Call(kDouble, "round", {Div(at, Double(std::numbers::pi))}); };
    return Select(branch(a.value - a.error) < branch(a.value + a.error), Double(kUnbounded), spread);
  }

  // How far a function that is monotone in both of its arguments goes when they move by their errors.
  template <class F>
  Expr OfCorners(const std::vector<Bounded>& args, const Expr& middle, F function) {
    if (!args[0].error && !args[1].error) return {};
    Expr farthest = Double(0);
    for (const int i : {-1, 1}) {
      for (const int j : {-1, 1}) {
        const Expr corner = function(
            {args[0].value + Double(i) * OrZero(args[0].error), args[1].value + Double(j) * OrZero(args[1].error)});
        farthest = Max(farthest, Abs(Difference(corner, middle)));
      }
    }
    return farthest;
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

  std::set<const VarNode*> inexact_;
  const VarMap& extents_;
  std::unordered_map<const BufferNode*, Pair> buffers_;
  std::unordered_map<const VarNode*, Buffer> whole_;  // buffers that are no views, by their data
  bool anything_ = false;                             // what is stored here may be anything
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
  std::set<const VarNode*> inexact;
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

#include "ir/reducer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// A statement as assignments to elements: stores, one after the other, below variables that hold some of the values.
struct Assignments {
  std::vector<Element> targets;
  std::vector<Expr> values;  // variables replaced by what they hold
  bool at_once = false;      // each value is held by a variable, so that all are computed before the first store
};
std::optional<Assignments> FindAssignments(const Stmt& body) {
  Assignments found;
  VarMap lets;
  Stmt inside = body;
  while (const auto* let = dyn_cast<LetStmtNode>(inside)) {
    lets[let->var] = Substitute(let->value, lets);
    inside = let->body;
  }
  const auto* seq = dyn_cast<SeqNode>(inside);
  const std::vector<Stmt> stmts = seq == nullptr ? std::vector<Stmt>{inside} : seq->stmts;
  for (const Stmt& stmt : stmts) {
    const auto* store = dyn_cast<StoreNode>(stmt);
    if (store == nullptr || store->predicate) return std::nullopt;
    const auto* var = dyn_cast<VarNode>(store->value);
    const auto let = var == nullptr ? lets.end() : lets.find(Var(var));
    if (lets.empty() == (let != lets.end())) return std::nullopt;
    for (const Element& other : found.targets) {
      if (other.buffer.same_as(store->buffer)) return std::nullopt;
    }
    found.targets.push_back({store->buffer, store->indices});
    found.values.push_back(let == lets.end() ? store->value : let->second);
  }
  found.at_once = !lets.empty();
  return found;
}

bool IsMinOrMax(BinaryOp op) { return op == BinaryOp::kMin || op == BinaryOp::kMax; }

// `cond ? a : b` in either of its forms.
struct Choice {
  Expr condition, if_true, if_false;
};
std::optional<Choice> AsChoice(const Expr& e) {
  if (const auto* select = dyn_cast<SelectNode>(e)) {
    return Choice{select->condition, select->true_value, select->false_value};
  }
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->op != "if_then_else" || call->args.size() != 3) return std::nullopt;
  return Choice{call->args[0], call->args[1], call->args[2]};
}

// The minimum or maximum in `T.Select(T.isnan(old), old, T.max(old, value))`, which passes NaN on, or null. T.max gives
// its second operand if one of them is NaN: it is the value.
const BinaryNode* AsExtremeOrNan(const Expr& e, const Var& old) {
  const std::optional<Choice> choice = AsChoice(e);
  if (!choice || !choice->if_true.same_as(old)) return nullptr;
  const auto* asks = dyn_cast<CallNode>(choice->condition);
  if (asks == nullptr || asks->op != "isnan" || !asks->args[0].same_as(old)) return nullptr;
  const auto* extreme = dyn_cast<BinaryNode>(choice->if_false);
  return extreme != nullptr && IsMinOrMax(extreme->op) && extreme->a.same_as(old) ? extreme : nullptr;
}

const CallNode* AsBitwise(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->args.size() != 2) return nullptr;
  return call->op == "bitwise_and" || call->op == "bitwise_or" || call->op == "bitwise_xor" ? call : nullptr;
}

BinaryOp Swapped(BinaryOp op) {  // a op b as b op' a
  switch (op) {
    case BinaryOp::kLT:
      return BinaryOp::kGT;
    case BinaryOp::kLE:
      return BinaryOp::kGE;
    case BinaryOp::kGT:
      return BinaryOp::kLT;
    case BinaryOp::kGE:
      return BinaryOp::kLE;
    default:
      return op;
  }
}
bool IsGreater(BinaryOp op) { return op == BinaryOp::kGT || op == BinaryOp::kGE; }
bool IsLess(BinaryOp op) { return op == BinaryOp::kLT || op == BinaryOp::kLE; }

// Finds the values of components and how they are combined.
class Matcher {
 public:
  explicit Matcher(std::vector<Reducer::Component>& components) : components_(components) {}
  bool in_order = false;

  // Fills in what the components do not say yet. The first one that is not understood, or nothing.
  std::optional<size_t> Match() {
    for (size_t i = 0; i < components_.size(); ++i) {
      if (!FindValue(i)) return i;
    }
    std::vector<Expr> combined;
    for (size_t i = 0; i < components_.size(); ++i) {
      combined.push_back(Combined(i));
      if (!combined.back()) return i;
    }
    // Ties between two that follow the same decision must not go to different instances.
    if (breaks_ties_ && components_.size() > 2) return 0;
    for (size_t i = 0; i < components_.size(); ++i) components_[i].combined = combined[i];
    return std::nullopt;
  }

 private:
  bool UsesAccumulators(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) {
      return std::any_of(components_.begin(), components_.end(), [&](const auto& c) { return c.old.get() == var; });
    });
  }

  bool FindValue(size_t i) {
    Reducer::Component& component = components_[i];
    Expr a, b;
    if (const auto* extreme = AsExtremeOrNan(component.combined, component.old)) {
      a = extreme->a, b = extreme->b;
    } else if (const auto* binary = dyn_cast<BinaryNode>(component.combined)) {
      a = binary->a, b = binary->b;
    } else if (auto choice = AsChoice(component.combined)) {
      a = choice->if_true, b = choice->if_false;
    } else if (const auto* call = AsBitwise(component.combined)) {
      a = call->args[0], b = call->args[1];
    } else {
      return false;
    }
    if (b.same_as(component.old)) std::swap(a, b);
    if (!a.same_as(component.old) || UsesAccumulators(b)) return false;
    component.value = b;
    return true;
  }

  // The combination in terms of `old` and `fresh`, null when it is not known.
  Expr Combined(size_t i) {
    Reducer::Component& component = components_[i];
    component.identity = component.init;
    if (const auto* binary = dyn_cast<BinaryNode>(component.combined)) {
      if (binary->op == BinaryOp::kAdd) component.identity = Const(component.value.dtype(), 0);
      if (binary->op == BinaryOp::kMul || binary->op == BinaryOp::kAnd) {
        component.identity = Const(component.value.dtype(), 1);
      }
      if (binary->op == BinaryOp::kOr) component.identity = Const(component.value.dtype(), 0);
      const bool logic = binary->op == BinaryOp::kAnd || binary->op == BinaryOp::kOr;
      if (binary->op != BinaryOp::kAdd && binary->op != BinaryOp::kMul && !logic && !IsMinOrMax(binary->op)) {
        return Expr();
      }
      return binary->a.same_as(component.old) ? MakeBinary(binary->op, component.old, component.fresh)
                                              : MakeBinary(binary->op, component.fresh, component.old);
    }
    if (const auto* call = AsBitwise(component.combined)) {
      component.identity = Const(component.value.dtype(), call->op == "bitwise_and" ? -1 : 0);
      return Call(call->dtype(), call->op, {component.old, component.fresh});
    }
    if (const auto* extreme = AsExtremeOrNan(component.combined, component.old)) {
      return Select(Call(DataType::Bool(), "isnan", {component.old}), component.old,
                    MakeBinary(extreme->op, component.old, component.fresh));
    }
    const Choice choice = *AsChoice(component.combined);
    const bool keeps_if_true = choice.if_true.same_as(component.old);
    for (size_t key = 0; key < components_.size(); ++key) {
      const auto greater = KeyDirection(key);
      if (!greater) continue;
      const Expr condition = Decision(choice.condition, keeps_if_true == *greater, key, i);
      if (!condition) continue;
      const Expr if_true = keeps_if_true ? component.old : component.fresh;
      const Expr if_false = keeps_if_true ? component.fresh : component.old;
      return isa<SelectNode>(component.combined) ? Select(condition, if_true, if_false)
                                                 : IfThenElse(condition, if_true, if_false);
    }
    return Expr();
  }

  // Whether the component is a maximum (true) or minimum (false) by itself.
  std::optional<bool> KeyDirection(size_t key) const {
    const Reducer::Component& component = components_[key];
    if (const auto* binary = dyn_cast<BinaryNode>(component.combined)) {
      if (!IsMinOrMax(binary->op)) return std::nullopt;
      return binary->op == BinaryOp::kMax;
    }
    if (AsBitwise(component.combined) != nullptr) return std::nullopt;
    const Choice choice = *AsChoice(component.combined);
    const auto comparison = FindComparison(choice.condition, key);
    if (!comparison || (!IsGreater(comparison->op) && !IsLess(comparison->op))) return std::nullopt;
    return IsGreater(comparison->op) == choice.if_true.same_as(component.old);
  }

  // `e` as `old op value` of a component, also in terms of `old` and `fresh` as it was written.
  struct Comparison {
    BinaryOp op;
    Expr of_operands;
  };
  std::optional<Comparison> FindComparison(const Expr& e, size_t of) const {
    const auto* binary = dyn_cast<BinaryNode>(e);
    if (binary == nullptr || !IsComparison(binary->op)) return std::nullopt;
    const Reducer::Component& component = components_[of];
    if (binary->a.same_as(component.old) && StructuralEqual(binary->b, component.value)) {
      return Comparison{binary->op, MakeBinary(binary->op, component.old, component.fresh)};
    }
    if (binary->b.same_as(component.old) && StructuralEqual(binary->a, component.value)) {
      return Comparison{Swapped(binary->op), MakeBinary(binary->op, component.fresh, component.old)};
    }
    return std::nullopt;
  }

  // The condition in terms of `old` and `fresh` when it says that the old key is greater (less, without `greater`),
  // ties aside; else null.
  Expr Decision(const Expr& condition, bool greater, size_t key, size_t follower) {
    const auto direct = FindComparison(condition, key);
    if (direct && (greater ? IsGreater(direct->op) : IsLess(direct->op))) {
      in_order |= key != follower;
      return direct->of_operands;
    }
    // key > value or (key == value and the follower's own order)
    const auto* either = dyn_cast<BinaryNode>(condition);
    if (either == nullptr || either->op != BinaryOp::kOr) return Expr();
    const auto strict = FindComparison(either->a, key);
    if (!strict || strict->op != (greater ? BinaryOp::kGT : BinaryOp::kLT)) return Expr();
    const auto* tie = dyn_cast<BinaryNode>(either->b);
    if (tie == nullptr || tie->op != BinaryOp::kAnd) return Expr();
    const auto equal = FindComparison(tie->a, key), order = FindComparison(tie->b, follower);
    if (!equal || equal->op != BinaryOp::kEQ || !order || !(IsGreater(order->op) || IsLess(order->op))) return Expr();
    breaks_ties_ = true;
    return Or(strict->of_operands, And(equal->of_operands, order->of_operands));
  }

  std::vector<Reducer::Component>& components_;
  bool breaks_ties_ = false;
};

}  // namespace

std::string ToString(const NoReducer& problem, const std::string& block) {
  switch (problem.reason) {
    case NoReducer::kBody:
      return "the body of block " + block + " is not one store to each of its outputs";
    case NoReducer::kInit:
      return "the init of block " + block + " is not one store to each of its outputs";
    case NoReducer::kInitElement:
      return "the init of block " + block + " does not store to the element of " + problem.buffer +
             " that the body stores to";
    case NoReducer::kReadsOthers:
      return "block " + block + " combines values into " + problem.buffer + " and reads other elements of its outputs";
    default:
      return "what block " + block + " stores to " + problem.buffer + " is not a reduction that can be taken apart";
  }
}

std::variant<Reducer, NoReducer> DetectReducer(const BlockNode& block) {
  std::optional<Assignments> body = FindAssignments(block.body);
  if (!body || !block.alloc_buffers.empty() || !block.match_buffers.empty()) {
    return NoReducer{NoReducer::kBody, Expr(), ""};
  }
  std::optional<Assignments> init = block.init ? FindAssignments(block.init) : std::nullopt;
  if (!init || init->targets.size() != body->targets.size()) {
    return NoReducer{NoReducer::kInit, Expr(), ""};
  }
  Reducer reducer;
  reducer.at_once = body->at_once;
  for (const Element& target : body->targets) {
    const auto start = std::find_if(init->targets.begin(), init->targets.end(), [&](const Element& element) {
      return element.buffer.same_as(target.buffer) && StructuralEqual(element.indices, target.indices);
    });
    if (start == init->targets.end()) {
      return NoReducer{NoReducer::kInitElement, Expr(), target.buffer->name};
    }
    const DataType type = target.buffer->dtype;
    reducer.components.push_back({.accumulator = target,
                                  .init = init->values[start - init->targets.begin()],
                                  .old = Var("old", type),
                                  .fresh = Var("new", type)});
  }
  for (size_t i = 0; i < reducer.components.size(); ++i) {
    bool reads_others = false;
    Reducer::Component& component = reducer.components[i];
    component.combined = RewriteExpr(body->values[i], [&](const Expr& e) -> Expr {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr) return e;
      for (const Reducer::Component& other : reducer.components) {
        if (!load->buffer.same_as(other.accumulator.buffer)) continue;
        // Without variables in between, an earlier store has changed it already.
        const bool readable = reducer.at_once || other.old.same_as(component.old);
        if (readable && StructuralEqual(load->indices, other.accumulator.indices)) return other.old;
        reads_others = true;
      }
      return e;
    });
    if (reads_others) {
      return NoReducer{NoReducer::kReadsOthers, body->values[i], component.accumulator.buffer->name};
    }
  }
  Matcher matcher(reducer.components);
  const auto unknown = matcher.Match();
  reducer.in_order = matcher.in_order;
  if (unknown) {
    return NoReducer{NoReducer::kUnknown, body->values[*unknown],
                     reducer.components[*unknown].accumulator.buffer->name};
  }
  return reducer;
}

Stmt StoreInto(const std::vector<Element>& targets, const std::vector<Expr>& values) {
  std::vector<Stmt> stores;
  for (size_t i = 0; i < targets.size(); ++i) {
    stores.push_back(Store(targets[i].buffer, values[i], targets[i].indices));
  }
  return Sequence(std::move(stores));
}

Stmt CombineInto(const Reducer& reducer, const std::vector<Element>& targets, const std::vector<Expr>& values) {
  VarMap operands;
  for (size_t i = 0; i < targets.size(); ++i) {
    operands[reducer.components[i].old] = targets[i].buffer.Load(targets[i].indices);
    operands[reducer.components[i].fresh] = values[i];
  }
  std::vector<Expr> combined;
  for (const Reducer::Component& component : reducer.components) {
    combined.push_back(Substitute(component.combined, operands));
  }
  if (!reducer.at_once) return StoreInto(targets, combined);
  std::vector<Expr> vars;
  for (const Element& target : targets) vars.push_back(Var("v_" + target.buffer->name, target.buffer->dtype));
  Stmt body = StoreInto(targets, vars);
  for (size_t i = targets.size(); i-- > 0;) body = LetStmt(Var(cast<VarNode>(vars[i])), combined[i], body);
  return body;
}

}  // namespace tilewright

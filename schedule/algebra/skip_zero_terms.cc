#include "schedule/algebra/skip_zero_terms.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/bounds.h"
#include "ir/arith/linear.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/simplify_block.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

constexpr const char* kName = "skip_zero_terms";

const Expr& WithoutCasts(const Expr& e) {
  const auto* cast_node = dyn_cast<CastNode>(e);
  return cast_node == nullptr ? e : WithoutCasts(cast_node->value);
}

// The if_then_else(.., x, 0) that a factor is, or null.
const CallNode* ZeroUnless(const Expr& factor) {
  const auto* call = dyn_cast<CallNode>(WithoutCasts(factor));
  return call != nullptr && call->op == kIfThenElse && IsZero(call->args[2]) ? call : nullptr;
}

// The condition's term in `output = output + term`, or its factor in `output = output + product`, or null.
const CallNode* ConditionalFactor(const BlockNode& block) {
  const std::optional<SumForm> sum = AsSum(block);
  if (!sum || !block.init) return nullptr;
  if (const CallNode* whole = ZeroUnless(sum->term)) return whole;
  const auto* product = dyn_cast<BinaryNode>(sum->term);
  if (product == nullptr || product->op != BinaryOp::kMul) return nullptr;
  const CallNode* first = ZeroUnless(product->a);
  return first != nullptr ? first : ZeroUnless(product->b);
}

// Puts `to` in the place of one node.
class ReplaceNode : public Mutator {
 public:
  ReplaceNode(const CallNode* from, Expr to) : from_(from), to_(std::move(to)) {}

 protected:
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    return op == from_ ? to_ : Mutator::MutateCall(op, self);
  }

 private:
  const CallNode* from_;
  const Expr to_;
};

// x with x * a % modulus == 1, for an `a` of [1, modulus) that has no divisor in common with it.
int64_t InverseModulo(int64_t a, int64_t modulus) {
  // In each pair, coefficient * a % modulus == remainder.
  int64_t remainder = modulus, next_remainder = a, coefficient = 0, next_coefficient = 1;
  while (next_remainder != 0) {
    const int64_t quotient = remainder / next_remainder;
    std::swap(remainder -= quotient * next_remainder, next_remainder);
    std::swap(coefficient -= quotient * next_coefficient, next_coefficient);
  }
  return arith::FloorModInt(coefficient, modulus);
}

// A sum of one term becomes a store of it on top of what the init stores. Whether it has that form.
bool StoreOnce(BlockNode::Fields* fields) {
  const auto* init = dyn_cast<StoreNode>(fields->init);
  const std::optional<SumForm> sum = AsSum(*Block(*fields));
  if (init == nullptr || !sum || !init->buffer.same_as(sum->store->buffer) ||
      !StructuralEqual(init->indices, sum->store->indices)) {
    return false;
  }
  fields->body = Store(init->buffer, init->value + sum->term, init->indices);
  fields->init = Stmt();
  return true;
}

class Skipper {
 public:
  explicit Skipper(const BlockNode& block) : block_(block) { BindIterators(block.iter_vars, &analyzer_); }

  // Gives an iterator its value for each periodic part of the condition; the periodic part that gives none, if there is
  // one. Other parts stay.
  std::optional<Expr> Solve(const Expr& condition) {
    const auto* both = dyn_cast<BinaryNode>(condition);
    if (both != nullptr && both->op == BinaryOp::kAnd) {
      if (std::optional<Expr> failed = Solve(both->a)) return failed;
      return Solve(both->b);
    }
    const bool is_equality = both != nullptr && both->op == BinaryOp::kEQ && IsInt(both->b, 0);
    const auto* modulo = is_equality ? dyn_cast<BinaryNode>(both->a) : nullptr;
    const auto period = modulo != nullptr && modulo->op == BinaryOp::kFloorMod ? AsInt(modulo->b) : std::nullopt;
    if (!period) {
      Keep(condition);
      return std::nullopt;
    }
    if (*period < 2 || !SolvePeriodic(modulo->a, *period)) {
      if (UsesReduceIterator(condition)) return condition;
      Keep(condition);
    }
    return std::nullopt;
  }

  const Expr& rest() const { return rest_; }  // null: nothing
  const VarMap& values() const { return values_; }
  arith::Analyzer* analyzer() { return &analyzer_; }

 private:
  void Keep(const Expr& condition) { rest_ = rest_ ? And(rest_, condition) : condition; }

  bool UsesReduceIterator(const Expr& e) const {
    return std::ranges::any_of(
        block_.iter_vars, [&](const IterVar& iter) { return iter.kind == IterKind::kReduce && UsesVar(e, iter.var); });
  }

  // c * r + base is divisible by the period for one r of [0, period / g), where g is the greatest common divisor of c
  // and the period, if g divides the base; for none otherwise.
  bool SolvePeriodic(const Expr& e, int64_t period) {
    for (const IterVar& iter : block_.iter_vars) {
      if (iter.kind != IterKind::kReduce || values_.contains(iter.var)) continue;
      const auto linear = arith::DetectLinear(e, {iter.var}, &analyzer_);
      const auto coefficient = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
      if (!coefficient) continue;
      const int64_t common = std::gcd(*coefficient, period), own = period / common;
      if (own < 2 || !IsInt(iter.domain.min, 0) || !IsInt(iter.domain.extent, own)) continue;
      // -base / coefficient, as a sum without negative terms.
      const Expr base = analyzer_.Simplify(linear->base);
      const int64_t times = own - InverseModulo(arith::FloorModInt(*coefficient / common, own), own);
      const Expr value = analyzer_.Simplify(FloorMod(FloorDiv(base, common) * times, Const(e.dtype(), own)));
      if (UsesReduceIterator(value)) continue;
      if (common > 1) Keep(analyzer_.Simplify(FloorMod(base, common) == Const(e.dtype(), 0)));
      values_[iter.var] = value;
      return true;
    }
    return false;
  }

  const BlockNode& block_;
  arith::Analyzer analyzer_;
  VarMap values_;
  Expr rest_;
};

}  // namespace

Outcome<SkipZeroTermsResult> SkipZeroTerms(const Function& function, uint32_t block_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  const CallNode* factor = ConditionalFactor(block);
  if (factor == nullptr) {
    return Refusal{kName, "{block0} adds nothing that a condition makes zero", {block_id}};
  }
  Skipper skipper(block);
  Expr value = factor->args[1];
  std::optional<Expr> failed = skipper.Solve(factor->args[0]);
  for (const CallNode* nested = ZeroUnless(value); nested != nullptr && !failed; nested = ZeroUnless(value)) {
    if (isa<CastNode>(value)) break;
    failed = skipper.Solve(nested->args[0]);
    value = nested->args[1];
  }
  if (!failed && skipper.values().empty()) failed = factor->args[0];
  if (failed) {
    return Refusal{kName, "{expr0} does not leave one value of a reduce iterator of {block0}", {block_id}, {*failed}};
  }
  if (skipper.rest()) value = IfThenElse(skipper.rest(), value, factor->args[2]);

  BlockNode::Fields fields = block.fields();
  fields.body = ReplaceNode(factor, value).Mutate(fields.body);
  fields.iter_vars.clear();
  std::vector<Expr> bindings;
  bool reduces = false;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (skipper.values().contains(block.iter_vars[i].var)) continue;
    fields.iter_vars.push_back(block.iter_vars[i]);
    bindings.push_back(realize->bindings[i]);
    reduces |= block.iter_vars[i].kind == IterKind::kReduce;
  }
  if (!reduces && !StoreOnce(&fields)) {
    return Refusal{kName, "the term that is left of {block0} is not added to what its init stores", {block_id}};
  }
  ReplaceInBlock(&fields, skipper.values(), skipper.analyzer());
  std::vector<ForNode::Fields> loops;
  for (const ForNode* loop : LoopsAbove(path)) {
    const bool stays =
        std::any_of(bindings.begin(), bindings.end(), [&](const Expr& binding) { return binding.same_as(loop->var); });
    if (stays) loops.push_back(loop->fields());
  }
  Stmt nest = Nest(std::move(loops), Realize(std::move(bindings), True(), TouchingBlock(std::move(fields))));
  return SkipZeroTermsResult{ReplaceIn(function, OutermostOwnLoop(path), nest, function->next_id)};
}

}  // namespace tilewright

#include "schedule/blocks/all_values.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/function.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

// Functions with one right result each.
constexpr std::array<std::string_view, 14> kExact = {
    kIfThenElse, "floor",       "ceil",       "trunc",       "round",       "nearbyint",  "abs",
    "sqrt",      "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"};

bool CanEvaluate(const Expr& condition, const std::vector<IterVar>& iters) {
  bool can = true;
  PreOrder(condition, [&](const Expr& e) {
    if (const auto* call = dyn_cast<CallNode>(e)) can &= std::ranges::find(kExact, call->op) != kExact.end();
    if (const auto* var = dyn_cast<VarNode>(e)) {
      can &= std::ranges::any_of(iters, [&](const IterVar& iter) { return iter.var.get() == var; });
    }
    can &= !isa<LoadNode>(e) && !isa<LetNode>(e) && e.dtype().lanes() == 1;
    return can;
  });
  return can;
}

}  // namespace

bool HoldsForAllValues(const Expr& condition, const std::vector<IterVar>& iters) {
  if (!CanEvaluate(condition, iters)) return false;
  std::vector<ForNode::Fields> loops;
  int64_t values = 1;
  for (const IterVar& iter : iters) {
    if (!UsesVar(condition, iter.var)) continue;
    const auto extent = AsInt(iter.domain.extent);
    if (!extent || !AsInt(iter.domain.min) || *extent > kMaxValues) return false;
    values *= *extent;
    if (values > kMaxValues) return false;
    loops.push_back({.var = iter.var, .min = iter.domain.min, .extent = iter.domain.extent});
  }
  const Buffer fails("fails", {Expr(1)}, DataType::Int(32));
  FunctionNode::Fields function;
  function.name = "evaluate";
  function.params.push_back({fails->data, fails});
  function.body = Nest(std::move(loops), If(Not(condition), Store(fails, Expr(1), {Expr(0)})));
  const auto program = interp::Compile(Function(std::move(function)));
  const NDArray result(DataType::Int(32), {1});
  return program.ok() && program->Run({result}).ok() && result.GetInt(0) == 0;
}

}  // namespace tilewright

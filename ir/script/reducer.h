// The combiner of a reduction, as an expression.
//
//   T.comm_reducer(lambda x, y: x + y, [T.float32(0)])
//
// is a call of "comm_reducer" with n results and n identities as arguments. In the results, the parameters of the
// lambda are calls of "reducer_operand" with their number: first the n values of one side, then those of the other. It
// occurs in attributes of lowered programs (`T.attr(T.comm_reducer(...), "reduce_scope", ...)`); nothing computes it.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace tilewright::script {

inline constexpr std::string_view kReducer = "comm_reducer";
inline constexpr std::string_view kReducerOperand = "reducer_operand";

inline Expr Reducer(std::vector<Expr> results, std::vector<Expr> identities) {
  results.insert(results.end(), identities.begin(), identities.end());
  return Call(DataType::Handle(), std::string(kReducer), std::move(results));
}

inline Expr ReducerOperand(DataType type, int number) {
  return Call(type, std::string(kReducerOperand), {Expr(number)});
}

// The parameter's number if `op` is one of a reducer with `operands` parameters.
inline std::optional<size_t> OperandNumber(const CallNode* op, size_t operands) {
  if (op->op != kReducerOperand || op->args.size() != 1) return std::nullopt;
  const auto number = AsInt(op->args[0]);
  if (!number || *number < 0 || static_cast<size_t>(*number) >= operands) return std::nullopt;
  return static_cast<size_t>(*number);
}

}  // namespace tilewright::script

// Passing errors on: an absl::Status, the status of an absl::StatusOr, or the refusal of an Outcome of the schedule.
//
//   TW_RETURN_IF_ERROR(Check(function));
//   TW_ASSIGN_OR_RETURN(const Type type, InferType(value));
//
// The function around returns what the error converts to.
#pragma once

#include <utility>

namespace tilewright::internal {

// What a result that is not ok() holds in place of a value.
template <class Result>
decltype(auto) ErrorOf(const Result& result) {
  if constexpr (requires { result.refusal(); }) {
    return result.refusal();
  } else if constexpr (requires { result.status(); }) {
    return result.status();
  } else {
    return (result);
  }
}

}  // namespace tilewright::internal

#define TW_STATUS_CONCAT_INNER(a, b) a##b
#define TW_STATUS_CONCAT(a, b) TW_STATUS_CONCAT_INNER(a, b)

#define TW_RETURN_IF_ERROR(expression)                                             \
  if (const auto& status_of_expression = (expression); !status_of_expression.ok()) \
  return ::tilewright::internal::ErrorOf(status_of_expression)

// Declares or assigns `lhs`. Two statements: not for the body of an `if` without braces.
#define TW_ASSIGN_OR_RETURN(lhs, expression) \
  TW_ASSIGN_OR_RETURN_INNER(TW_STATUS_CONCAT(status_or_, __LINE__), lhs, expression)
#define TW_ASSIGN_OR_RETURN_INNER(status_or, lhs, expression)             \
  auto status_or = (expression);                                          \
  if (!status_or.ok()) return ::tilewright::internal::ErrorOf(status_or); \
  lhs = std::move(status_or).value()

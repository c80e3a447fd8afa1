// Passing an absl::Status on.
//
//   TW_RETURN_IF_ERROR(Check(function));
//   TW_VALUE_OR_RETURN(const Type type, InferType(value));
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define TW_STATUS_CONCAT_INNER(a, b) a##b
#define TW_STATUS_CONCAT(a, b) TW_STATUS_CONCAT_INNER(a, b)

#define TW_RETURN_IF_ERROR(expression) \
  if (absl::Status status_of_expression = (expression); !status_of_expression.ok()) return status_of_expression

// Declares or assigns `lhs`. Two statements: not for the body of an `if` without braces.
#define TW_VALUE_OR_RETURN(lhs, expression) \
  TW_VALUE_OR_RETURN_INNER(TW_STATUS_CONCAT(status_or_, __LINE__), lhs, expression)
#define TW_VALUE_OR_RETURN_INNER(status_or, lhs, expression) \
  auto status_or = (expression);                             \
  if (!status_or.ok()) return status_or.status();            \
  lhs = *std::move(status_or)

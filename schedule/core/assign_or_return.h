// Passing refusals on, in code that applies many primitives.
//
//   TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(block));
//   TW_RETURN_IF_REFUSED(sch.Parallel(loops[0]));
//
// The function around must return an Outcome.
#pragma once

#include "schedule/core/refusal.h"

#define TW_CONCAT_INNER(a, b) a##b
#define TW_CONCAT(a, b) TW_CONCAT_INNER(a, b)

// Declares `lhs` as the value of an Outcome, or returns its refusal.
#define TW_ASSIGN_OR_RETURN(lhs, expression) TW_ASSIGN_OR_RETURN_INNER(TW_CONCAT(outcome_, __LINE__), lhs, expression)
#define TW_ASSIGN_OR_RETURN_INNER(outcome, lhs, expression) \
  auto outcome = (expression);                              \
  if (!outcome.ok()) return outcome.refusal();              \
  lhs = std::move(outcome).value()

#define TW_RETURN_IF_REFUSED(expression) \
  if (auto outcome = (expression); !outcome.ok()) return outcome.refusal()

// What an expression is to a cost model: which kind of operation, on which type.
//
//   exp(x)                                       kTranscendental
//   C[i] + A[k] * cast<int32>(B[k] - zero)       reads what it writes; multiplies int8
#pragma once

#include <string_view>

#include "autoschedule/cost/program_facts.h"
#include "ir/stmt.h"

namespace tilewright {

// Builtins that a processor has one slow instruction for, and those that are computed by polynomials.
OperationKind KindOfCall(std::string_view op);

// The expression below its conversions and broadcasts.
const Expr& WithoutCasts(const Expr& e);

// The type of what is multiplied: the wider of both factors without their conversions and zero points.
DataType MultipliedType(const Expr& a, const Expr& b);

// Whether the value adds to (or takes the maximum with, ...) the element that is written.
bool ReadsItself(const StoreNode* store);

// Conditions on indices are decided by cutting loops; others are computed.
bool ShareIsKnown(const Expr& condition);

}  // namespace tilewright

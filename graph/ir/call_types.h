// Types of calls and branches, for the builder and for the check of functions.
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/value.h"
#include "ir/function.h"

namespace tilewright::graph {

// Whether the call has the operator's number of arguments, and those that are not optional.
absl::Status CheckArity(const CallNode& call);

// Whether the number, types and ranks of arguments, results and scalars are those of the program's parameters. Extents
// are checked when the program runs.
absl::Status CheckCallTir(const CallTirNode& call, const PrimFunc& program);

// The type of a call: the callee's result with the symbols of its parameters replaced by the arguments' extents.
// Symbols that no argument determines become new ones.
absl::StatusOr<Type> TypeOfCallFunction(const CallFunctionNode& call, const Function& callee);

// The type that covers both branches. Extents that differ become new symbols, ranks that differ an unknown one; an
// error where dtypes or kinds differ.
absl::StatusOr<Type> JoinTypes(const Type& a, const Type& b);

// Whether the value has no effect and no control flow.
bool IsPure(const Value& value);

// The tensors of a type: itself, or the fields of a tuple, nested tuples flattened.
std::vector<const TensorTypeNode*> TensorsOf(const Type& type);

}  // namespace tilewright::graph

// Equality and hash of graph values by structure.
//
// Two notions: `SameValue` compares values that stand in one function (variables and symbols by identity), which is
// what common subexpressions need; `StructuralEqual` compares whole functions and modules up to renaming of variables
// and symbols. Constants are compared by type and bytes.
#pragma once

#include <cstdint>
#include <string>

#include "graph/ir/graph_module.h"
#include "graph/ir/value.h"

namespace tilewright::graph {

// Two values without branches; an If equals only itself.
bool SameValue(const Value& a, const Value& b);
uint64_t HashValue(const Value& value);

// Up to renaming; names of functions, attributes and guards count. `why` receives the first difference.
bool StructuralEqual(const Function& a, const Function& b, std::string* why = nullptr);
// Entries correspond by name.
bool StructuralEqual(const GraphModule& a, const GraphModule& b, std::string* why = nullptr);
// Equal functions have equal hashes, the same in every process.
uint64_t StructuralHash(const Function& function);

}  // namespace tilewright::graph

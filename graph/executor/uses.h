// Which bindings of a function its result needs.
#pragma once

#include <unordered_map>

#include "graph/ir/value.h"

namespace tilewright::graph {

// How often each variable is read in a function, its branches included, by what is needed for the result. Variables
// that are not there are not needed.
using Uses = std::unordered_map<const VarNode*, int>;

void CountUses(const SeqNode& seq, Uses* uses);
void CountUses(const Value& value, Uses* uses);
// Bindings that define symbols are needed for these.
bool IsNeeded(const Binding& binding, const Uses& uses);

}  // namespace tilewright::graph

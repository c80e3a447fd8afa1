// What every graph function satisfies, whoever made it:
//
//   * a variable is bound once, before it is used, and used only where it is visible: what a branch binds inside of it,
//     what a dataflow block binds inside of it unless it is an output;
//   * arguments are atoms (A-normal form), results of sequences too;
//   * a dataflow block holds no branch and no impure call;
//   * every variable has the type that is inferred for its value;
//   * symbols are defined by parameters, match_cast, and values whose extents depend on data, before they are used;
//   * calls agree with the programs and functions of the module that they call.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph_module.h"

namespace tilewright::graph {

// Each text names function, variable and reason. Empty when all is well.
std::vector<std::string> FindViolations(const GraphModule& module);

}  // namespace tilewright::graph

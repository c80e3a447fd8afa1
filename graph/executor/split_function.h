// A function whose order of calls depends on data, as parts that have plans and what stands between them.
//
//   SplitFunction split = SplitAtObstacles(function, "main");
//   split.function    calls the parts; operators without a program, branches and loops stay in it
//   split.parts       functions of calls of programs alone
//
// Calls of programs are collected until something that is none needs one of their values. Branches are split inside.
// Private to graph/executor.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/value.h"

namespace tilewright::graph {

struct SplitFunction {
  Function function;
  std::vector<Function> parts;  // named after the function: NAME.part0, NAME.part1
};

SplitFunction SplitAtObstacles(const Function& function);

// What a binding is when it is not a call of a program, "value y of operator host.nonzero" for example.
std::string DescribeStep(const Binding& binding);

}  // namespace tilewright::graph

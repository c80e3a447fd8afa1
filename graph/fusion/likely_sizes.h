// Sizes that the symbolic extents of a graph probably have, and the programs' own extents by them: kernels are joined
// and scheduled for these, and are right at every size. autoschedule/program/sizes.h says what a program does with
// them.
//
//   main(x: (n, 768)), n likely 37:   lv = R.call_tir(cls.add, (y: (n * 12, 64), b))
//
// tells `add`, whose first extent is a symbol of its own, that this one is likely 444.
#pragma once

#include <utility>
#include <vector>

#include "autoschedule/program/sizes.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/value.h"

namespace tilewright::graph {

// `given`, and for each other symbol of the parameters' extents 1 and the largest power of two up to 512 with which no
// tensor of the function takes more than 64 MB.
SizesByName TypicalSizes(const Function& function, SizesByName given);

// These sizes for extents of no function.
LikelySizes SizesNamed(const SizesByName& sizes);

// `sizes`, and those of names for extents by them.
SizesByName SizesWith(const std::vector<std::pair<Symbol, Expr>>& names, SizesByName sizes);

// The program with those of the sizes that are of its extents.
PrimFunc WithSizes(const PrimFunc& program, const SizesByName& sizes);

// The module whose programs know their likely sizes: the least and the largest of all calls. `given`: some of those of
// its functions.
GraphModule NameLikelySizes(const GraphModule& module, const SizesByName& given);

}  // namespace tilewright::graph

// The form in which programs are scheduled and compiled: equal programs become equal, whatever they are called.
#pragma once

#include "graph/ir/kinds.h"
#include "ir/function.h"

namespace tilewright::graph {

// The name of a kernel's function, whatever its program is called.
inline constexpr char kKernelMain[] = "kernel";

// The program under the name kKernelMain, with parameters of distinct names.
PrimFunc CanonicalProgram(const PrimFunc& program);

}  // namespace tilewright::graph

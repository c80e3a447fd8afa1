// Whether a program computes what another one does, shown by running both.
//
//   before: B[vi] = A[vi] + 1; C[vi] = B[vi]      after: C reads B[vi + 1]      "element 0 of C is 3, before 2"
//
// It is how a difference between two results of a schedule is judged: the one whose run gives other values, reads
// memory that nobody wrote, or leaves a buffer or a declared region, is wrong; and so is one with a block that touches
// a buffer of which it declares nothing, since what comes after trusts what blocks declare.
#pragma once

#include <string>

#include "ir/function.h"

namespace tilewright {

// Why `after` is wrong where `before` is right; empty when nothing shows that. Inputs are small integers, sizes that
// are parameters are 7 and 5. Checks of the interpreter that `before` itself fails are left out, and so are functions
// whose parameters have another shape or type.
std::string WhyWrong(const Module& before, const Module& after);

}  // namespace tilewright

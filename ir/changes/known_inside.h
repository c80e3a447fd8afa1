// What is known all over a loop or a branch: what its range and its condition say, as far as nothing inside changes it.
//
//   if i < 8 and N[i] < 4:         inside, i < 8 is known; N[i] < 4 is not
//       N[i] = N[i] + 1
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/stmt.h"

namespace tilewright {

// Binds the loop's variable. Where memory that the body changes decides the range, to constants that contain it.
void BindInside(const ForNode& loop, arith::Analyzer* analyzer);
// Assumes the parts of a conjunction that still hold wherever `inside` (null: nothing) is.
void AssumeInside(const Expr& condition, const Stmt& inside, arith::Analyzer* analyzer);

}  // namespace tilewright

// Determinants of matrices.
#pragma once

#include "ir/builder.h"

namespace tilewright::ops {

// The determinants of x's last two dimensions, which are of one extent: by elimination with partial pivots in float64,
// one matrix after the other. A singular matrix gives 0, one of no rows 1.
Buffer Determinant(FunctionBuilder& f, const Buffer& x);

}  // namespace tilewright::ops

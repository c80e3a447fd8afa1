// Whether the value of an expression does not depend on when something is stored to a buffer: it neither loads from
// that nor calls what reads memory.
#pragma once

#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright {

bool IsIndependentOf(const Expr& e, const Buffer& stored);

}  // namespace tilewright

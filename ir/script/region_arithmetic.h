// The extent of the half-open interval that a script writes as start:stop.
#pragma once

#include "ir/expr.h"

namespace tilewright::script {

// stop - start, without the terms that both have: `i * 4:i * 4 + 4` has extent 4. The types of both are the same, or
// both are constants (the result then has stop's type). What the printer writes for an interval gives the same extent
// again: for an interval {min, extent} that is not constant it writes min:min + extent.
Expr IntervalExtent(const Expr& start, const Expr& stop);

}  // namespace tilewright::script

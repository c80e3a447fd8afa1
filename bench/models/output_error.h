// How far outputs of a model are from those that are expected.
#pragma once

#include "graph/executor/planned_function.h"

namespace tilewright::bench {

// The largest error of all outputs, relative to each output's largest magnitude; infinite where a shape, a type, a NaN
// or an infinity differs.
double RelativeError(const graph::Arrays& got, const graph::Arrays& want);

}  // namespace tilewright::bench

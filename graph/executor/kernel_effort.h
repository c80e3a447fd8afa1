// How much effort the back end makes for each kernel of a model.
//
//   kernel       seconds of a run    effort
//   product      9e-3                full
//   softmax      9e-4                full
//   gather       2e-6                small share
//
// A model has many kernels that take little of a run, and compiling one takes as long as compiling another. Those that
// take least, up to a small share of the run together, are compiled faster.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "codegen/backend.h"

namespace tilewright::graph {

// By the projected time that the kernels take in a run, in seconds: kFull or kSmallShare. 0: it is not known, so that
// the kernel gets the full effort. Depends on nothing else.
std::vector<CodeEffort> EffortsOf(absl::Span<const double> seconds);

}  // namespace tilewright::graph

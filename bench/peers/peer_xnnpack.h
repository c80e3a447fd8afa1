// XNNPACK, on a thread pool of its own.
#pragma once

#include <memory>

#include "bench/operators/implementation.h"

namespace tilewright::bench {

// Weights are packed ahead of time. A call tells the operators which tensors to use and runs them, as a program does
// whose activations move; the first takes well under a microsecond.
std::unique_ptr<Implementation> MakeXnnpack();

}  // namespace tilewright::bench

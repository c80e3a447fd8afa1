// OpenBLAS: GMM by sgemm, C2D by copying patches into a matrix (im2col) and sgemm. It has f32 only, and no way to pack
// an operand ahead of time.
#pragma once

#include <memory>

#include "bench/operators/implementation.h"

namespace tilewright::bench {

std::unique_ptr<Implementation> MakeOpenBlas();

}  // namespace tilewright::bench

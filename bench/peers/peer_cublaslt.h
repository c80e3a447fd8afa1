// NVIDIA's matrix products, opened at run time where the library is installed.
#pragma once

#include <memory>

#include "bench/operators/implementation.h"

namespace tilewright::bench {

// GMM, GMMt and TBG of one image, on a GPU. The algorithm is the fastest of those that the library's heuristics give,
// timed as it is measured; a constant B is given both as it is and transposed ahead of time.
std::unique_ptr<Implementation> MakeCublasLt();

}  // namespace tilewright::bench

// OpenBLAS: GMM by sgemm, C2D by copying patches into a matrix (im2col) and sgemm. It has f32 only, and no way to pack
// an operand ahead of time.
#ifndef TILEWRIGHT_BENCH_PEER_OPENBLAS_H_
#define TILEWRIGHT_BENCH_PEER_OPENBLAS_H_

#include <memory>

#include "bench/implementation.h"

namespace tilewright::bench {

std::unique_ptr<Implementation> MakeOpenBlas();

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_PEER_OPENBLAS_H_

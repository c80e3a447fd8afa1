// XNNPACK, on a thread pool of its own.
#ifndef TILEWRIGHT_BENCH_PEER_XNNPACK_H_
#define TILEWRIGHT_BENCH_PEER_XNNPACK_H_

#include <memory>

#include "bench/implementation.h"

namespace tilewright::bench {

// Weights are packed ahead of time. A call tells the operators which tensors to use and runs them, as a program does
// whose activations move; the first takes well under a microsecond.
std::unique_ptr<Implementation> MakeXnnpack();

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_PEER_XNNPACK_H_

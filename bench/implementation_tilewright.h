// This compiler: the operator as a program, scheduled for this machine, compiled and run on its own thread pool.
#ifndef TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_
#define TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_

#include <memory>

#include "bench/implementation.h"

namespace tilewright::bench {

std::unique_ptr<Implementation> MakeTilewright();

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_

// This compiler: the operator as a program, scheduled for this machine, compiled and run on its own thread pool.
//
// The schedule is the best that tuning finds in the time it gets, records of the database included. Without time the
// best record of the database is taken as it is, and without one the rules of autoschedule/ decide.
#ifndef TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_
#define TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "bench/implementation.h"

namespace tilewright::bench {

struct TuningSettings {
  double seconds = 0;    // per workload; 0: no tuning
  std::string database;  // path; empty: none. Made where there is none when something is tuned.
  uint64_t seed = 0;
};

std::unique_ptr<Implementation> MakeTilewright(TuningSettings tuning);

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_

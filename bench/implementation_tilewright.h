// This compiler: the operator as a program, scheduled for this machine, compiled and run on its own thread pool.
//
// The schedule is the best that tuning finds in the time it gets, records of the database included. Without time the
// best record of the database is taken as it is, and without one the rules of autoschedule/ decide.
#ifndef TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_
#define TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_

#include <memory>

#include "bench/choose_schedule.h"
#include "bench/implementation.h"

namespace tilewright::bench {

std::unique_ptr<Implementation> MakeTilewright(TuningSettings tuning);

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_IMPLEMENTATION_TILEWRIGHT_H_

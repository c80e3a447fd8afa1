// This compiler: the operator as a program, scheduled for a target, compiled and run on its own thread pool.
//
// The schedule is the best that tuning finds in the time it gets, records of the database included. Without time the
// best record of the database is taken as it is, and without one the rules of autoschedule/ decide.
#pragma once

#include <memory>

#include "bench/operators/choose_schedule.h"
#include "bench/operators/implementation.h"
#include "target/target.h"

namespace tilewright::bench {

// For a target that this machine runs, or whose code is `emulated`: of another CPU, or of a GPU. CPUs have the settings'
// number of threads for cores.
std::unique_ptr<Implementation> MakeTilewright(Target target, TuningSettings tuning, bool emulated = false);

}  // namespace tilewright::bench

// This compiler: the operator as a program, scheduled for a target, compiled and run on its own thread pool.
//
// The schedule is the best that tuning finds in the time it gets, records of the database included. Without time the
// best record of the database is taken as it is, and without one the rules of autoschedule/ decide.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/operators/choose_schedule.h"
#include "bench/operators/extents.h"
#include "bench/operators/implementation.h"
#include "target/target.h"

namespace tilewright::bench {

// Which programs an implementation runs. A program with symbolic extents is scheduled and compiled once for all of
// `workloads` that it stands for; tuning is for their sizes.
struct OwnPrograms {
  std::string name = "tilewright";  // the names of others begin with it
  Extents extents = {};
  std::vector<Workload> workloads = {};
};

// For a target that this machine runs, or another one that the settings' launcher reaches, or whose code is `emulated`:
// of another CPU, or of a GPU. CPUs have the settings' number of threads for cores.
std::unique_ptr<Implementation> MakeTilewright(Target target, TuningSettings tuning, bool emulated = false,
                                               OwnPrograms programs = {});

}  // namespace tilewright::bench

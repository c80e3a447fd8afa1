// Measurements as records of the database.
#pragma once

#include "autoschedule/database/record.h"
#include "autoschedule/measure/runner.h"
#include "ir/function.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

class IntrinRegistry;

// What is to be remembered of a candidate: `schedule` of `program`, which has one function or one named main, measured
// with `threads` threads. The record holds for any program that computes the same. `intrins`: those of the schedule.
TuningRecord RecordOf(const Module& program, const Target& target, int threads, const Schedule& schedule,
                      const Measurement& measurement, IntrinRegistry* intrins);

}  // namespace tilewright

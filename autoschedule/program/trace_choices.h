// The choices that stand in a trace, by what they stand for.
#pragma once

#include <string>
#include <vector>

#include "schedule/core/trace.h"

namespace tilewright {

// The names of the sketches that a schedule is made of, one for each block that has one (autoschedule/sketch/sketch.h).
std::vector<std::string> SketchesIn(const Trace& trace);

}  // namespace tilewright

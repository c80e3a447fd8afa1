// What can be done with a loop nest on a CPU.
#pragma once

#include "autoschedule/sketch/sketch.h"

namespace tilewright {

SketchList CpuSketches();

}  // namespace tilewright

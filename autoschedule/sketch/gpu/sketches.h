// What can be done with a loop nest on a GPU.
#pragma once

#include "autoschedule/sketch/sketch.h"

namespace tilewright {

SketchList GpuSketches();

}  // namespace tilewright

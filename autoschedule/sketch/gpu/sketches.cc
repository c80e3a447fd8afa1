#include "autoschedule/sketch/gpu/sketches.h"

namespace tilewright {

SketchList GpuSketches() { return {}; }

}  // namespace tilewright

#include "autoschedule/sketch/sketches.h"

#include "autoschedule/sketch/cpu/sketches.h"
#include "autoschedule/sketch/gpu/sketches.h"

namespace tilewright {

SketchList SketchesFor(const Target& target) { return target.is_gpu() ? GpuSketches() : CpuSketches(); }

}  // namespace tilewright

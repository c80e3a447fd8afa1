// The sketches of each kind of machine.
#pragma once

#include "autoschedule/sketch/sketch.h"
#include "target/target.h"

namespace tilewright {

// Without sketches where no rules were written for such machines.
SketchList SketchesFor(const Target& target);

}  // namespace tilewright

// The peak of a machine by its description, where nothing is measured on this one.
#pragma once

#include "bench/harness/peak.h"
#include "target/target.h"

namespace tilewright::bench {

// On `threads` threads of a CPU; all cores of a GPU.
Peak NominalPeak(const Target& target, int threads);

}  // namespace tilewright::bench

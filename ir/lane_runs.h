// Which vectors are loaded by run: their lanes are a few runs of neighbours in memory (codegen/lower/cpu/load_runs.h).
// Cost models count them as what they become.
#pragma once

#include <cstdint>

namespace tilewright {

inline constexpr int64_t kMostRuns = 4;    // in one vector
inline constexpr int64_t kLeastOfRun = 4;  // elements

}  // namespace tilewright

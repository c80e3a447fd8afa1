// Which vectors are loaded by run: their lanes are a few runs of neighbours in memory (codegen/lower/cpu/load_runs.h).
// Cost models count them as what they become.
#pragma once

#include <cstdint>

namespace tilewright {

inline constexpr int64_t kMostRuns = 4;    // in one vector
inline constexpr int64_t kLeastOfRun = 4;  // elements

// A vector of elements that lie no further apart is picked from the vectors between its ends; of others each element is
// loaded by itself, or rows that lie across them are.
inline constexpr int64_t kLongestStride = 4;

// Vectors of registers that lanes of one are picked from, by one instruction for each of them but the first.
inline constexpr int64_t kMostPicked = 8;

// The parts of registers in which rows are transposed (codegen/lower/cpu/transpose_loads.h): one instruction
// interleaves two vectors within them on all targets.
inline constexpr int64_t kTransposedBits = 128;

}  // namespace tilewright

// What back ends count in code, and limits on it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tilewright {

// Counts by name. A counter that a back end does not know is absent.
using Counters = std::map<std::string, int64_t>;

// Moves of vector registers to and from the stack in innermost loops (CPU).
inline constexpr char kSpillsCounter[] = "spills";

// The most registers of a thread, and bytes of shared memory of a block (GPU).
inline constexpr char kRegistersCounter[] = "registers";
inline constexpr char kSharedBytesCounter[] = "shared bytes";
// Bytes that threads hold on a stack or move to it, and warnings of ptxas that it serializes matrix instructions (GPU).
inline constexpr char kStackBytesCounter[] = "stack bytes";
inline constexpr char kSpillBytesCounter[] = "spill bytes";
inline constexpr char kPtxasWarningsCounter[] = "C75xx warnings";

// What a candidate for a GPU may have of these: none.
inline Counters GpuLimits() { return {{kStackBytesCounter, 0}, {kSpillBytesCounter, 0}, {kPtxasWarningsCounter, 0}}; }

// The first counter that is above its limit: "17 spills, at most 8 are allowed". Nothing when all are within theirs; a
// counter that is absent is.
std::optional<std::string> ExceededLimit(const Counters& counters, const Counters& limits);

}  // namespace tilewright

// How long code of another machine would take: projected from what an emulator counts and what LLVM's model of the
// processor says of the inner loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/counters.h"
#include "target/target.h"

namespace tilewright::remote {

// An innermost loop as llvm-mca sees it, its data in the first cache level.
struct InnerLoop {
  double instructions = 0, cycles = 0;  // of one iteration
  double products = 0;                  // instructions that multiply and add: FMA, dot products
  // The part of the cycles that its products would take at the rate of their unit; 0 without any.
  double rate = 0;
};

// The same as counts of an artifact: instructions and cycles of as many iterations.
inline constexpr char kLoopInstructionsCounter[] = "inner loop instructions",
                      kLoopCyclesCounter[] = "inner loop cycles";

// The innermost loop of AArch64 assembly that multiplies most: of those with many products the one of which they are
// the largest part; the longest one where there are none. Nothing where there is no loop. An error says why llvm-mca
// gave no answer.
absl::StatusOr<std::optional<InnerLoop>> ProjectInnerLoop(const std::string& assembly, const Target& target);

// Adds the counters of the loop; those of one instruction a cycle where there is none.
void CountInnerLoop(const std::optional<InnerLoop>& loop, Counters* counters);
// By these counters; 0 where they are not there.
double NanosecondsPerInstruction(const Counters& counters, const Target& target);

// As if all instructions took as long as those of the loop.
double ProjectedMilliseconds(int64_t instructions, const InnerLoop& loop, const Target& target);

}  // namespace tilewright::remote

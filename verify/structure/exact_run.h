// Every access of a small program, one after the other.
//
//   for i in range(16):                          B[0:20] is written in pieces that overlap; what C reads in iteration i
//       if i % 2 == 0: block B: B[i:i + 5]       was written in this iteration or in the one before. No rule about
//       block C: reads B[i:i + 4]                boxes says so, counting does.
//
// Rules about regions are fast and hold for all extents, but they are not complete. Where one of them fails and the
// extents are constants, the program's accesses are enumerated: the interpreter runs it with its detectors on. That is
// a proof for all inputs when places do not depend on values. What depends on values (gathers, calls of functions
// outside) is replaced by the regions that its block declares, so the answer holds under the same signatures that the
// other checks trust.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/function.h"

namespace tilewright {

enum class ExactOutcome : uint8_t {
  kClean,    // no access out of bounds, of unwritten memory, outside of declared regions; no race, no split barrier
  kFault,    // one of these
  kUnknown,  // extents are symbolic, places depend on values outside of blocks, or it would take too long
};

struct ExactRun {
  ExactOutcome outcome = ExactOutcome::kUnknown;
  std::string reason;  // of a fault: what happened where
  // Nothing was replaced by what its block declares, so that declarations were put to the proof too.
  bool as_written = false;
};

inline constexpr int64_t kMaxExactSteps = 1 << 18;  // loop iterations and stores

ExactRun RunExactly(const Function& function, int64_t max_steps = kMaxExactSteps);
// Whether it would take too long, so that the outcome is unknown. Costs little.
bool IsTooLargeToRun(const Function& function, int64_t max_steps = kMaxExactSteps);

// Runs when somebody asks first, once.
class LazyExactRun {
 public:
  explicit LazyExactRun(const Function& function) : function_(function) {}
  const ExactRun& Get() {
    if (!run_) run_ = RunExactly(function_);
    return *run_;
  }
  bool TooLarge() {
    if (!too_large_) too_large_ = IsTooLargeToRun(function_);
    return *too_large_;
  }

 private:
  const Function function_;
  std::optional<ExactRun> run_;
  std::optional<bool> too_large_;
};

}  // namespace tilewright

// Every access of a small program, one after the other.
//
//   for i in range(16):                          B[0:20] is written in pieces that overlap; what C reads in iteration i
//       if i % 2 == 0: block B: B[i:i + 5]       was written in this iteration or in the one before. No rule about
//       block C: reads B[i:i + 4]                boxes says so, counting does.
//
// Rules about regions are fast and hold for all extents, but they are not complete. Where one of them fails and the
// extents are constants, the program's accesses are enumerated: the interpreter runs it with its detectors on. That is
// a proof for all inputs when places do not depend on values. A program whose places do is replaced by one that touches
// all that it may touch (verify/rewrite/without_values.h), which shows less: `Shows` says of what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

#include "ir/function.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

enum class ExactOutcome : uint8_t {
  kClean,    // no access out of bounds, of unwritten memory, outside of declared regions; no race, no split barrier
  kFault,    // one of these
  kUnknown,  // extents are symbolic, places depend on values outside of blocks, or it would take too long
};

struct ExactRun {
  ExactOutcome outcome = ExactOutcome::kUnknown;
  std::string reason;  // of a fault: what happened where
  // What ran is the program, so that the declarations of its blocks were put to the proof too.
  bool as_written = false;
  // What the program that ran in its place leaves out (verify/rewrite/without_values.h).
  std::unordered_set<const VarNode*> written_in_part;
  std::unordered_set<uint32_t> as_declared;

  // Whether a clean run shows that what the diagnostic says does not happen.
  bool Shows(const Diagnostic& diagnostic) const;
};

inline constexpr int64_t kMaxExactSteps = 1 << 18;  // loop iterations and stores

ExactRun RunExactly(const Function& function, int64_t max_steps = kMaxExactSteps);
// Whether it would take too long, so that the outcome is unknown. Costs little.
bool IsTooLargeToRun(const Function& function, int64_t max_steps = kMaxExactSteps);

// Whether instances of the block that differ in a spatial iterator write different elements. The program runs with the
// loops that these iterators depend on in parallel, so that each store is compared with those of other iterations.
// False where places depend on inputs, and where nothing is known.
bool SpatialInstancesWriteApart(const Function& function, uint32_t block);

// Runs when somebody asks first, once.
class LazyExactRun {
 public:
  explicit LazyExactRun(const Function& function) : function_(function) {}
  const ExactRun& Get() {
    if (!run_) run_ = RunExactly(function_);
    return *run_;
  }
  // Whether what would run is the program as it is written. Costs little.
  bool IsAsWritten();

 private:
  const Function function_;
  std::optional<ExactRun> run_;
  std::optional<bool> as_written_;
};

}  // namespace tilewright

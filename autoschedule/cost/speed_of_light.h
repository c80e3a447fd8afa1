// The least time that a target needs for what a program computes, however it is scheduled: its multiply-adds at the
// peak rate of the best instruction for their types, and each of its parameters moved once. A schedule that computes
// the result from fewer products (schedule/algebra/winograd.h) has a limit of its own.
//
//   SpeedOfLight limit = SpeedOfLightOf(function, target);     // of the program before or after scheduling
//   if (measured_seconds < 1.05 * limit.seconds) ...            // nothing is left to search for
//
// Products with the zeros of a padding do not count, nor what is computed again with the same result. Parameters that
// fit into caches are taken to be there: the program runs again and again on the same data. Loops that data ends do not
// count.
#pragma once

#include <string>

#include "autoschedule/cost/cost_model.h"
#include "autoschedule/cost/program_facts.h"
#include "target/target.h"

namespace tilewright {

struct SpeedOfLight {
  double seconds = 0;  // the larger of the two below
  double arithmetic_seconds = 0;
  double traffic_seconds = 0;
  double multiply_adds = 0;  // as scalars
  double bytes = 0;          // of parameters
  std::string from;          // where they come from: "L1", ..., "memory"
  bool whole = true;         // false: work that data repeats is left out of all of the above
};

SpeedOfLight SpeedOfLightOf(const Function& function, const Target& target);

// Seconds that no schedule of `program` takes less than: `preferred`, one of them, may compute less than the program
// says (schedule/algebra/winograd.h).
double BoundSeconds(const Function& program, const Function& preferred, const Target& target);
SpeedOfLight SpeedOfLightOf(const ProgramFacts& facts, const Target& target);

// Scalar multiply-adds of operands of this type that one core does per cycle at best.
double MultiplyAddsPerCycle(const Target& target, DataType operand);

class SpeedOfLightModel : public CostModel {
 public:
  explicit SpeedOfLightModel(Target target) : target_(std::move(target)) {}
  std::vector<double> Predict(std::span<const Function> scheduled) const override;

 private:
  Target target_;
};

}  // namespace tilewright

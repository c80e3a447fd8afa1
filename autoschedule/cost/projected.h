// The time of a scheduled program, projected from what it does and what the target can do. On a GPU: gpu/kernel_time.h;
// the following is about CPUs.
//
//   Projection p = Project(function, target);
//   p.seconds, p.limiter, p.levels[0].seconds ...
//
// For each region of straight-line code (instruction_mix.h): how long its instructions take to start (throughput: the
// busiest kind of unit decides) and how long those that wait for each other take (latency); the longer one counts. Next
// to it stands the time to move the traffic of each memory level (memory_traffic.h). Both overlap for the most part.
// Parallel loops cost a fork and a join, and take as long as the core with the most iterations.
#pragma once

#include <utility>
#include <vector>

#include "autoschedule/cost/cost_model.h"
#include "autoschedule/cost/program_facts.h"
#include "autoschedule/cost/projection.h"
#include "target/target.h"

namespace tilewright {

Projection Project(const Function& function, const Target& target);
Projection Project(const ProgramFacts& facts, const Target& target);

// On a CPU, where others touch `beside` bytes before the function runs again: it does not find all of its data in the
// caches that these bytes go through.
Projection ProjectBeside(const ProgramFacts& facts, const Target& target, double beside);
// Bytes that a core of a CPU touches while the function runs once.
double FootprintBytes(const ProgramFacts& facts, const Target& target);

class ProjectedModel : public CostModel {
 public:
  explicit ProjectedModel(Target target) : target_(std::move(target)) {}
  std::vector<double> Predict(std::span<const Function> scheduled) const override;

 private:
  Target target_;
};

}  // namespace tilewright

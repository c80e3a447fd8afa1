// The time of a scheduled program on a CPU, projected from what it does and what the target can do.
//
//   Projection p = Project(function, target);
//   p.seconds, p.limiter, p.levels[0].seconds ...
//
// For each region of straight-line code (instruction_mix.h): how long its instructions take to start (throughput: the
// busiest kind of unit decides) and how long those that wait for each other take (latency); the longer one counts. Next
// to it stands the time to move the traffic of each memory level (memory_traffic.h). Both overlap for the most part.
// Parallel loops cost a fork and a join, and take as long as the core with the most iterations.
#pragma once

#include <string>
#include <vector>

#include "autoschedule/cost/cost_model.h"
#include "autoschedule/cost/instruction_mix.h"
#include "target/target.h"

namespace tilewright {

struct Projection {
  double seconds = 0;
  // What decides: "arithmetic", "loads", "stores", "issue", "latency", "L2", "L3", "memory", "threads".
  std::string limiter;

  // What it was computed from: the iterations of each loop on one core, and what runs in them.
  std::vector<double> iterations;
  std::vector<Region> regions;

  // The times of the core that works longest.
  double compute_seconds = 0;
  double throughput_seconds = 0, latency_seconds = 0;  // the two forms; compute_seconds takes the longer one by region
  InstructionCounts instructions;
  double register_vectors = 0;  // the most that are live in one region
  struct Level {
    std::string from;
    double read_bytes = 0, written_bytes = 0;
    double seconds = 0;
  };
  std::vector<Level> levels;
  double scattered_seconds = 0;  // for lines that the second level writes back from here and there

  int cores_used = 1;
  double balance = 1;  // mean over the cores of their parallel work by the most that one has
  double forks = 0;    // parallel loops that are entered
  double fork_seconds = 0;
};

Projection Project(const Function& function, const Target& target);
Projection Project(const ProgramFacts& facts, const Target& target);

class ProjectedModel : public CostModel {
 public:
  explicit ProjectedModel(Target target) : target_(std::move(target)) {}
  std::vector<double> Predict(std::span<const Function> scheduled) const override;

 private:
  Target target_;
};

}  // namespace tilewright

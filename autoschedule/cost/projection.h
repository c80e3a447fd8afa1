// The time of a scheduled program, and what it was computed from: what projections for all kinds of machines say.
#pragma once

#include <string>
#include <vector>

#include "autoschedule/cost/instruction_mix.h"

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
  double register_vectors = 0;  // the most that are live in one region; of a GPU: registers of a thread
  struct Level {
    std::string from;
    double read_bytes = 0, written_bytes = 0;
    double seconds = 0;
  };
  std::vector<Level> levels;
  double scattered_seconds = 0;  // for lines that the second level writes back from here and there

  int cores_used = 1;
  double balance = 1;  // mean over the cores of their parallel work by the most that one has
  double forks = 0;    // parallel loops that are entered; of a GPU: kernels that are launched
  double fork_seconds = 0;
};

}  // namespace tilewright

// What is measured: this compiler and every library it is compared with, behind one interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/harness/runner.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"

namespace tilewright::bench {

struct RunSettings {
  int num_threads = 1;
  // CPUs that the threads may use; the first is the one that the calling thread is bound to.
  std::vector<int> cpus;
  int num_sets = 1;
  // The workload whose extents were reduced to the one that runs (reduce_shape.h); null where none were.
  const Workload* full = nullptr;
};

class Implementation {
 public:
  virtual ~Implementation() = default;

  // As in --peers, such as "onednn".
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  // By how much requantized outputs may differ beyond what one rounding explains: 1 for a library that rounds twice.
  virtual double requantization_slack() const { return 0; }

  // One runner per variant; an error that says why when the implementation cannot run the workload.
  virtual absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload,
                                                                       const Operands& operands,
                                                                       const RunSettings& settings) = 0;
};

}  // namespace tilewright::bench

// Executor that has a process of its own: that opens and calls what was compiled of candidates, by itself, by a worker
// that it starts elsewhere, or on a GPU.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/measure/executor/executor.h"
#include "autoschedule/measure/executor/machine_lock.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "autoschedule/measure/protocol/worker_pool.h"

namespace tilewright {

class ProcessExecutor : public Executor {
 public:
  // `worker`: the program measuring_worker, or gpu_measuring_worker. `folder`: where the reference is. `params`: of the
  // measured function. `lock` must outlive the executor; it is held exclusively while candidates are measured.
  // `command` starts a worker elsewhere; it is empty where there is none. Times of code with counts of its inner loop
  // are projected for `target`.
  ProcessExecutor(const std::string& worker, const RunnerOptions& options, std::string folder,
                  std::vector<TensorSpec> params, MachineLock& lock, Target target, std::vector<std::string> command);

  std::vector<Measurement> Measure(std::span<const BuiltCandidate> candidates, const RunOptions& options) override;

 private:
  // One round over all candidates.
  void MeasureOnce(std::span<const BuiltCandidate> candidates, const RunOptions& options,
                   std::vector<Measurement>& results);
  absl::StatusOr<MeasureRequest> RequestFor(const BuiltCandidate& candidate, const RunOptions& options) const;

  const RunnerOptions options_;
  const std::string folder_;
  const std::vector<TensorSpec> params_;
  MachineLock& lock_;
  const Target target_;
  const std::vector<std::string> command_;
  WorkerPool measurer_;
};

}  // namespace tilewright

// A peer in a process of its own (bench/peers), on a whole model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/runner.h"
#include "bench/models/model_case.h"
#include "bench/peers/worker.h"

namespace tilewright::bench {

class ModelPeer : public Runner {
 public:
  // "onnxruntime", "openvino", "pytorch". Errors say what is missing, or what the peer refuses.
  static absl::StatusOr<std::unique_ptr<ModelPeer>> Load(const std::string& name, const ModelCase& model, bool optimize,
                                                         int num_threads, const std::vector<int>& cpus);

  void Run(int set) override;
  std::optional<TimedBlock> RunBlock(int64_t warmup_nanoseconds, int64_t nanoseconds) override;
  void SpoilOutput(int) override {}
  absl::Status CopyOutput(int set, runtime::Tensor& output) override;

  // The outputs of a fresh run, in the order of the model; `folder` is for files.
  absl::StatusOr<graph::Arrays> Outputs(const std::string& folder);
  const std::string& version() const { return version_; }
  double load_ms() const { return load_ms_; }
  double peak_mib() const { return peak_mib_; }
  const absl::Status& status() const { return status_; }

 private:
  explicit ModelPeer(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  std::unique_ptr<Worker> worker_;
  std::string version_;
  size_t num_outputs_ = 0;
  double load_ms_ = 0, peak_mib_ = 0;
  absl::Status status_;
};

}  // namespace tilewright::bench

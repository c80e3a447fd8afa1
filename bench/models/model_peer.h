// A peer in a process of its own (bench/peers), on a whole model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/runner.h"
#include "bench/models/model_case.h"
#include "bench/peers/worker.h"
#include "target/target.h"

namespace tilewright::bench {

class ModelPeer : public Runner {
 public:
  static constexpr double kLoadSeconds = 300, kEmulatedSeconds = 3600;

  // The process of a peer: "onnxruntime", "openvino", "pytorch". An error says what is missing.
  static absl::StatusOr<std::shared_ptr<Worker>> Start(const std::string& name, const std::vector<int>& cpus);
  // The same for one thread of the target's processor in an emulator, which counts instructions in a file of `folder`.
  static absl::StatusOr<std::shared_ptr<Worker>> StartEmulated(const std::string& name, const Target& target,
                                                               const std::string& folder);
  // The model in that process, in place of the one before it. Errors say what is missing, or what the peer refuses.
  // `seconds`: for which an answer may be waited for; an emulator needs minutes for a model that takes a tenth of one.
  static absl::StatusOr<std::unique_ptr<ModelPeer>> Load(std::shared_ptr<Worker> worker, const ModelCase& model,
                                                         bool optimize, double seconds = kLoadSeconds);

  void Run(int set) override;
  std::optional<TimedBlock> RunBlock(int64_t warmup_nanoseconds, int64_t nanoseconds) override;
  void SpoilOutput(int) override {}
  absl::Status CopyOutput(int set, runtime::Tensor& output) override;

  // The outputs of a fresh run of a set, in the order of the model; `folder` is for files.
  absl::StatusOr<graph::Arrays> Outputs(const std::string& folder, size_t set = 0);
  // Those of one run in an emulator. An error says that nothing counts them.
  absl::StatusOr<int64_t> CountInstructions();
  const std::string& version() const { return version_; }
  double load_ms() const { return load_ms_; }
  double peak_mib() const { return peak_mib_; }
  const absl::Status& status() const { return status_; }

 private:
  ModelPeer(std::shared_ptr<Worker> worker, double seconds) : worker_(std::move(worker)), seconds_(seconds) {}

  std::shared_ptr<Worker> worker_;
  const double seconds_;
  std::string version_;
  size_t num_outputs_ = 0;
  double load_ms_ = 0, peak_mib_ = 0;
  absl::Status status_;
};

}  // namespace tilewright::bench

// This compiler on a whole model, on this machine's CPU or its GPU. There inputs and outputs of the timed runs lie in
// the GPU's memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/runner.h"
#include "bench/models/model_case.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright::bench {

struct KernelTime {
  std::string value;  // the value that the call computes
  int kernel = 0;     // calls of the same code have the same number
  double ms = 0;
};

class OwnModel : public Runner {
 public:
  // `opt_level`, database: as `tilewright run` takes them. `target`: this machine's, or a GPU that it has. `pool` must
  // outlive the model.
  // The model is compiled for `cpus`, whatever the calling thread is bound to; none: for those that it may use.
  // `sets`: at least one set of inputs.
  static absl::StatusOr<std::unique_ptr<OwnModel>> Load(const ModelCase& model,
                                                        const std::vector<graph::OnnxModel::Inputs>& sets,
                                                        const Target& target, int opt_level,
                                                        const std::string& database, runtime::ThreadPool& pool,
                                                        const std::vector<int>& cpus);

  void Run(int set) override;
  void SpoilOutput(int set) override;
  absl::Status CopyOutput(int set, runtime::Tensor& output) override;

  // One run of a set; its outputs, flattened.
  absl::StatusOr<graph::Arrays> Outputs(size_t set = 0) const;
  // What the last timed run of a set wrote.
  absl::StatusOr<graph::Arrays> results(size_t set = 0) const;
  double load_ms() const { return load_ms_; }
  // Multiply-adds of one run times two, products with padding's zeros left out. 0 where the model has no plan.
  double Flops() const;
  // Bytes of inputs, constants and outputs.
  int64_t Bytes() const;
  int kernels() const;  // calls of kernels in one run; 0 where the model has no plan
  // The least time of each call of some runs; empty where the model has no plan.
  std::vector<KernelTime> Profile() const;
  // What went wrong in a timed run.
  const absl::Status& status() const { return status_; }

 private:
  OwnModel() = default;

  std::unique_ptr<graph::OnnxModel> model_;
  std::vector<graph::Arrays> arguments_, results_;     // by set
  std::vector<graph::PlacedArrays> inputs_, outputs_;  // the same on a GPU; empty where there is none
  Target target_;
  TwParallelHook hook_ = {};
  double load_ms_ = 0;
  absl::Status status_;
};

}  // namespace tilewright::bench

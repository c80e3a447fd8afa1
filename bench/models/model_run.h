// One model, measured: this compiler and its peers in turns, every output checked before and after the timed runs.
//
//   ModelRun run({.name = "mlp", .file = "mlp.onnx"}, pool, cpus, gauge, {.peers = {"onnxruntime"}, .seconds = 5});
//   const std::vector<ModelResult> results = run.Run();  // this compiler's first
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/measure/executor/speed_gauge.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "bench/models/model_case.h"
#include "bench/models/model_peer.h"
#include "bench/models/model_report.h"
#include "bench/models/own_model.h"

namespace tilewright::bench {

// Processes of peers by name, which several models are loaded in one after the other.
using PeerProcesses = std::map<std::string, std::shared_ptr<Worker>>;

struct ModelRunOptions {
  Target target;              // this machine's, or a GPU that it has
  std::string dtype = "f32";  // of the model, for the report
  std::vector<std::string> peers;
  double seconds = 20;  // in which all implementations take turns
  // A block holds several runs of a model, which take up to half a second.
  int64_t block_nanoseconds = 500'000'000;
  int opt_level = 2;
  std::string database = "";
  double tolerance = 1e-3;  // relative to the largest magnitude of an output
  // Folders with NAME.npy, one for each set of inputs; what a folder lacks is seeded random.
  std::vector<std::string> given = {""};
  // Our opt_level 0 is a reference too where ONNX Runtime gives one. Otherwise it is where ONNX Runtime gives none.
  bool always_own_reference = true;
  bool profile = true;                 // the time of each call
  PeerProcesses* processes = nullptr;  // null: each model has processes of its own
};

class ModelRun {
 public:
  ModelRun(ModelCase model, runtime::ThreadPool& pool, std::vector<int> cpus, SpeedGauge& gauge,
           ModelRunOptions options);

  // Measures this file too, by this compiler under another name: the same model with symbolic extents.
  void AddVariant(const std::string& implementation, const std::string& file) {
    variants_.emplace_back(implementation, file);
  }
  // This compiler's result, those of the variants, those of the peers.
  std::vector<ModelResult> Run();
  // The model with the folders of its inputs, which live as long as the object.
  const ModelCase& model() const { return model_; }

 private:
  ModelResult Start(const std::string& name) const;
  absl::Status Prepare();
  absl::Status PrepareReferences();
  absl::StatusOr<std::vector<graph::Arrays>> PeerReference();
  absl::StatusOr<std::shared_ptr<Worker>> Process(const std::string& name) const;
  void Check(const absl::StatusOr<graph::Arrays>& outputs, size_t set, ModelResult& result) const;
  void CheckAll(ModelPeer& peer, ModelResult& result) const;
  void LoadOwn(const std::string& name, const ModelCase& model, const std::string& error);
  void LoadPeer(const std::string& name);
  void Measure();

  ModelCase model_;
  runtime::ThreadPool& pool_;
  const std::vector<int> cpus_;
  SpeedGauge& gauge_;
  const ModelRunOptions options_;
  std::vector<std::pair<std::string, std::string>> variants_;  // name, file
  std::optional<RunFolder> folder_;
  std::vector<graph::OnnxModel::Inputs> sets_;
  double flops_ = 0, bytes_ = 0;
  std::vector<graph::Arrays> own_reference_, peer_reference_;  // by set; empty where there is none
  // Each with the number of its result.
  std::vector<std::pair<size_t, std::unique_ptr<OwnModel>>> own_;
  std::vector<std::pair<size_t, std::unique_ptr<ModelPeer>>> peers_;
  std::vector<ModelResult> results_;
};

}  // namespace tilewright::bench

// A whole model on a machine that is not this one: projected at its full size, and run in an emulator at a reduced one,
// where its outputs are compared with those of opt_level 0.
//
//   TW_ASSIGN_OR_RETURN(Elsewhere elsewhere, Elsewhere::On(target, {.dtype = "f16"}));
//   const ElsewhereResult result = elsewhere.Run({.name = "resnet50", .batch = 16});
//
// Nothing here is a measurement: times are those of the cost model, for the sum of the loop nests of the plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/models/model_case.h"
#include "bench/models/own_model.h"
#include "graph/device/device.h"
#include "graph/fusion/fuse_kernels.h"
#include "target/target.h"

namespace tilewright::bench {

struct ElsewhereOptions {
  int opt_level = 2;
  bool compile = false;  // the kernels of the full size too: by NVRTC where it is installed, else their text (GPUs)
  bool emulate = true;
  // CPUs: the projected model is emulated as it is, in place of a reduced one. It takes minutes.
  bool full = false;
  // What runs beside an emulated CPU; one that is not there is left out (MissingPeers).
  std::vector<std::string> peers = {};
  double tolerance = 0;  // relative to the largest number of an output; 0: that of the model's type
};

// A generated model, or a file with numbers for its symbolic dimensions.
struct ElsewhereCase {
  std::string name;
  int64_t batch = 1;          // of generated models
  std::string dtype = "f32";  // of generated models: f32, f16, bf16
  ModelCase file = {};        // where `file.file` is not empty
  bool tiny = false;          // the projected model is reduced too: for tests
};

// A peer under the emulator in which this compiler's code runs.
struct EmulatedPeer {
  std::string name, version;
  std::string error;         // why there is no number
  int64_t instructions = 0;  // of one run after the first
  double max_rel_error = 0;
};

struct ElsewhereResult {
  std::string model, dtype, target;
  int64_t batch = 0;  // 0: that of a file
  std::map<std::string, int64_t> dims;
  std::string error;  // why there are no numbers
  bool wrong = false;
  // The full size.
  int functions = 0, launches = 0;  // kernels; loop nests, which are launches on a GPU
  double projected_ms = 0;
  std::vector<KernelTime> profile;
  // The reduced one.
  std::string emulated;      // which: "tiny, batch 2"; empty where nothing was
  std::string not_emulated;  // why
  int reduced_launches = 0;  // of its plan
  // GPUs: one run after the first. CPUs: what the emulator counts in it, 0 where nothing does.
  graph::DeviceCounts counts;
  int64_t instructions = 0;
  double max_rel_error = 0, tolerance = 0;
  std::vector<EmulatedPeer> peers;
  // With ElsewhereOptions::compile.
  int compiled = 0;
  std::string compiler;              // "NVRTC", or "text" where it is not installed
  std::vector<std::string> refused;  // kernels with spills, stack frames or warnings

  bool ok() const { return error.empty(); }
};

// The type of a generated model by its name. An error lists them.
absl::StatusOr<int32_t> ModelType(const std::string& dtype);
// An error says why models of the type are not for the target.
absl::Status CheckType(const std::string& dtype, const Target& target);
// Those of the peers that are not there, each with the reason. No GPU's are.
std::vector<std::string> MissingPeers(const Target& target, const std::vector<std::string>& peers);
// Relative to the largest number of an output.
double ToleranceOf(const std::string& dtype);

class Elsewhere {
 public:
  // An error says why models are not measured for the target here: it is this machine's, or nothing emulates it.
  static absl::StatusOr<Elsewhere> On(Target target, const ElsewhereOptions& options);

  ElsewhereResult Run(const ElsewhereCase& model) const;

 private:
  Elsewhere(Target target, const ElsewhereOptions& options) : target_(std::move(target)), options_(options) {}
  absl::Status Project(const ElsewhereCase& model, const std::string& folder, ElsewhereResult& result) const;
  absl::Status Emulate(const ElsewhereCase& model, const std::string& folder, ElsewhereResult& result) const;
  absl::Status EmulateOwn(const ModelCase& file, const graph::OnnxModel::Inputs& inputs, const graph::Arrays& want,
                          ElsewhereResult& result) const;

  Target target_;
  ElsewhereOptions options_;
};

// A table with one line for each model, and what was compared. `missing`: peers, each with why it is not there.
std::string ElsewhereText(const std::vector<ElsewhereResult>& results, const std::vector<std::string>& missing);
std::string ElsewhereJson(const std::vector<ElsewhereResult>& results, const std::vector<std::string>& missing,
                          const std::string& commit, const std::string& command);

}  // namespace tilewright::bench

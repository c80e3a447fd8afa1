// A model with inputs, as it is measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/executor/onnx_model.h"

namespace tilewright::bench {

struct ModelCase {
  std::string name;
  std::string file;
  std::map<std::string, int64_t> dims;   // values of symbolic dimensions
  std::map<std::string, int64_t> below;  // limits of integer inputs' elements; 2 where there is none
  std::string inputs_folder;             // holds NAME.npy for each input
};

// "FILE[@name=N,...]".
absl::StatusOr<ModelCase> ParseModelFlag(const std::string& text);

// Reads the inputs from the case's folder; those that are not in `given` (may be empty) are seeded random, and all are
// in `folder` then, which becomes the case's.
absl::StatusOr<graph::OnnxModel::Inputs> PrepareInputs(ModelCase& model, const std::string& given,
                                                       const std::string& folder);

}  // namespace tilewright::bench

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
  std::map<std::string, int64_t> dims;      // values of symbolic dimensions
  std::map<std::string, int64_t> below;     // limits of integer inputs' elements; 2 where there is none
  std::vector<std::string> inputs_folders;  // of each set of inputs; holds NAME.npy for each
};

// "FILE[@name=N,...]".
absl::StatusOr<ModelCase> ParseModelFlag(const std::string& text);

// A set of inputs from the folder `given` (may be empty); those that are not in it are seeded random. All are in
// `folder` then, which is added to the case's.
absl::StatusOr<graph::OnnxModel::Inputs> PrepareInputs(ModelCase& model, const std::string& given,
                                                       const std::string& folder);

}  // namespace tilewright::bench

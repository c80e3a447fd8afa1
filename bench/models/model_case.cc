#include "bench/models/model_case.h"

#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/model_inputs.h"

namespace tilewright::bench {

using graph::ArrayPath;
using graph::OnnxModel;

absl::StatusOr<ModelCase> ParseModelFlag(const std::string& text) {
  ModelCase model;
  const size_t at = text.rfind('@');
  model.file = text.substr(0, at);
  model.name = std::filesystem::path(model.file).stem().string();
  if (at == std::string::npos) return model;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text.substr(at + 1), ','))) {
    const std::vector<std::string> sides = absl::StrSplit(part, '=');
    int64_t value;
    if (sides.size() != 2 || !absl::SimpleAtoi(sides[1], &value) || value < 0) {
      return absl::InvalidArgumentError(absl::StrCat("--onnx=", text, ": \"", part, "\" is not NAME=NUMBER"));
    }
    model.dims[sides[0]] = value;
  }
  return model;
}

absl::StatusOr<OnnxModel::Inputs> PrepareInputs(ModelCase& model, const std::string& given, const std::string& folder) {
  TW_ASSIGN_OR_RETURN(const auto file, graph::ModelFile::Open(model.file));
  const onnx::GraphProto& graph = file->model().graph();
  std::map<std::string, bool> initialized;
  for (const auto& tensor : graph.initializer()) initialized[tensor.name()] = true;
  OnnxModel::Inputs inputs;
  uint64_t seed = 0;
  for (const auto& input : graph.input()) {
    if (initialized.contains(input.name())) continue;
    ++seed;
    absl::StatusOr<NDArray> array = absl::NotFoundError("");
    if (!given.empty()) array = ReadNpy(ArrayPath(given, input.name()));
    if (absl::IsNotFound(array.status())) {
      const auto below = model.below.find(input.name());
      array = graph::RandomInput(input, model.dims, seed, below == model.below.end() ? 2 : below->second);
    }
    if (!array.ok()) {
      return absl::Status(array.status().code(), absl::StrCat("input ", input.name(), ": ", array.status().message()));
    }
    TW_RETURN_IF_ERROR(WriteNpy(*array, ArrayPath(folder, input.name())));
    inputs[input.name()] = {graph::Item::Kind::kTensor, {*std::move(array)}};
  }
  model.inputs_folders.push_back(folder);
  return inputs;
}

}  // namespace tilewright::bench

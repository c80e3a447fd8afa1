// Compiles the kernels of generated models for a GPU by NVRTC, at their full size, and refuses spills, stack frames and
// warnings of ptxas (C75xx). Needs no GPU. Where NVRTC is not installed, only their text is written.
//
//   compile_models --target=cuda-sm80,cuda-sm90a --models=resnet50,bert_large --batch=1,16 --dtype=f16
//
// A kernel takes about a second, a model a minute. Exit status: 1 where a kernel is refused, 2 wrong usage.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "bench/models/elsewhere.h"
#include "bench/models/generator/models.h"
#include "bench/models/model_kernels.h"
#include "graph/executor/onnx_model.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::vector<std::string>, target, {"cuda-sm90a"}, "Targets.");
ABSL_FLAG(std::vector<std::string>, models, tilewright::bench::ModelNames(), "Generated models.");
ABSL_FLAG(std::vector<std::string>, batch, {"1"}, "Sizes of batches.");
ABSL_FLAG(std::vector<std::string>, dtype, {"f16"}, "Types of the models: f32, f16, bf16.");
ABSL_FLAG(bool, tiny, false, "Small versions, for tests.");
ABSL_FLAG(int, most, 0, "No more kernels of a model than that; 0: all.");
ABSL_FLAG(std::string, json, "", "File to write the results to as JSON.");

namespace tilewright::bench {
namespace {

int Fail(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 2;
}

absl::StatusOr<ModelKernels> CompileOne(const std::string& name, int64_t batch, int32_t type, const Target& target) {
  TW_ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::Make());
  const std::string path = folder.path() + "/model.onnx";
  {
    TW_ASSIGN_OR_RETURN(const GeneratedModel model,
                        GenerateModel(name, {.batch = batch, .type = type, .tiny = absl::GetFlag(FLAGS_tiny)}));
    TW_RETURN_IF_ERROR(WriteModel(model.proto, path));
  }
  TW_ASSIGN_OR_RETURN(auto file, graph::ModelFile::Open(path));
  TW_ASSIGN_OR_RETURN(
      const auto loaded,
      graph::OnnxModel::Load(std::move(file), {.executor = {.kernels = {.target = target}, .interpret = true}}));
  return CompileModelKernels(loaded->module(), target, absl::GetFlag(FLAGS_most));
}

struct Totals {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  size_t refused = 0;
};

absl::Status CompileAll(const Target& target, const std::string& dtype, int64_t batch, Totals& totals) {
  TW_RETURN_IF_ERROR(CheckType(dtype, target));
  TW_ASSIGN_OR_RETURN(const int32_t type, ModelType(dtype));
  for (const std::string& name : absl::GetFlag(FLAGS_models)) {
    TW_ASSIGN_OR_RETURN(const ModelKernels kernels, CompileOne(name, batch, type, target));
    for (const std::string& refused : kernels.refused) std::printf("  refused: %s\n", refused.c_str());
    std::printf("%s %s batch=%lld %s: %d kernels by %s, %zu refused\n", target.name.c_str(), name.c_str(),
                static_cast<long long>(batch), dtype.c_str(), kernels.compiled, kernels.compiler.c_str(),
                kernels.refused.size());
    std::fflush(stdout);
    totals.refused += kernels.refused.size();
    totals.json.push_back({{"model", name},
                           {"batch", batch},
                           {"dtype", dtype},
                           {"target", target.name},
                           {"compiler", kernels.compiler},
                           {"compiled", kernels.compiled},
                           {"refused", kernels.refused}});
  }
  return absl::OkStatus();
}

int Main() {
  Totals totals;
  for (const std::string& target_name : absl::GetFlag(FLAGS_target)) {
    const auto target = NamedTarget(target_name);
    if (!target.ok()) return Fail(std::string(target.status().message()));
    for (const std::string& dtype : absl::GetFlag(FLAGS_dtype)) {
      for (const std::string& text : absl::GetFlag(FLAGS_batch)) {
        int64_t batch;
        if (!absl::SimpleAtoi(text, &batch) || batch < 1) {
          return Fail(absl::StrCat("--batch: \"", text, "\" is not a positive number"));
        }
        const absl::Status status = CompileAll(*target, dtype, batch, totals);
        if (!status.ok()) return Fail(std::string(status.message()));
      }
    }
  }
  if (const std::string path = absl::GetFlag(FLAGS_json); !path.empty()) {
    const absl::Status written = WriteFile(AbsolutePath(path), totals.json.dump(2) + "\n");
    if (!written.ok()) return Fail(std::string(written.message()));
  }
  return totals.refused == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Compiles the kernels of models by NVRTC and refuses spills.");
  absl::ParseCommandLine(argc, argv);
  return tilewright::bench::Main();
}

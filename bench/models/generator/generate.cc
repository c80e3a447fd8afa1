// Writes the models of //bench:models as ONNX files.
//
//   bazel run -c opt //bench/models/generator:generate -- --folder=/tmp/models --models=resnet50,bert_base
#include <filesystem>
#include <iostream>
#include <map>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_join.h"
#include "bench/models/generator/models.h"

ABSL_FLAG(std::string, folder, ".", "where the files go: NAME.onnx");
ABSL_FLAG(std::vector<std::string>, models, tilewright::bench::ModelNames(), "which models");
ABSL_FLAG(uint64_t, seed, 1, "of the weights");
ABSL_FLAG(int64_t, batch, 1, "extent of the batch");
ABSL_FLAG(int64_t, sequence, 256, "tokens of the language models, at most 512");
ABSL_FLAG(std::string, dtype, "f32", "of inputs, weights and outputs: f32, f16 or bf16");
ABSL_FLAG(int64_t, accuracy_level, 0, "of the products of the decoders: 4 allows activations of eight bits");
ABSL_FLAG(bool, tiny, false, "small versions, for tests");
ABSL_FLAG(bool, symbolic, false, "batch and sequence are symbolic dimensions of the files");

int main(int argc, char** argv) {
  namespace bench = tilewright::bench;
  absl::SetProgramUsageMessage("Writes the models that are measured as ONNX files.");
  absl::ParseCommandLine(argc, argv);
  const std::map<std::string, int32_t> types = {
      {"f32", onnx::TensorProto::FLOAT}, {"f16", onnx::TensorProto::FLOAT16}, {"bf16", onnx::TensorProto::BFLOAT16}};
  const auto type = types.find(absl::GetFlag(FLAGS_dtype));
  if (type == types.end()) {
    std::cerr << "--dtype is f32, f16 or bf16, not " << absl::GetFlag(FLAGS_dtype) << "\n";
    return 2;
  }
  const bench::GeneratorOptions options{.seed = absl::GetFlag(FLAGS_seed),
                                        .batch = absl::GetFlag(FLAGS_batch),
                                        .sequence = absl::GetFlag(FLAGS_sequence),
                                        .symbolic = absl::GetFlag(FLAGS_symbolic),
                                        .type = type->second,
                                        .accuracy_level = absl::GetFlag(FLAGS_accuracy_level),
                                        .tiny = absl::GetFlag(FLAGS_tiny)};
  if (options.batch < 1 || options.sequence < 1 || options.sequence > 512) {
    std::cerr << "--batch must be positive and --sequence in [1, 512]\n";
    return 2;
  }
  std::filesystem::path folder = absl::GetFlag(FLAGS_folder);
  // `bazel run` starts programs in a folder of its own.
  if (const char* caller = std::getenv("BUILD_WORKING_DIRECTORY"); caller != nullptr && folder.is_relative()) {
    folder = std::filesystem::path(caller) / folder;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const std::string& name : absl::GetFlag(FLAGS_models)) {
    const auto model = bench::GenerateModel(name, options);
    const std::string path = (folder / (name + ".onnx")).string();
    const absl::Status status = model.ok() ? bench::WriteModel(model->proto, path) : model.status();
    if (!status.ok()) {
      std::cerr << std::string(status.message()) << "\n";
      return 1;
    }
    std::cout << path << "\n";
  }
  return 0;
}

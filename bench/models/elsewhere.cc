#include "bench/models/elsewhere.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "base/status_macros.h"
#include "bench/models/generator/models.h"
#include "bench/models/model_kernels.h"
#include "bench/models/model_peer.h"
#include "bench/models/output_error.h"
#include "bench/peers/python_peer.h"
#include "codegen/remote/launcher.h"
#include "graph/executor/optimize.h"
#include "graph/onnx/model_file.h"

namespace tilewright::bench {
namespace {

using graph::OnnxModel;

// A larger file is not emulated: it would take minutes.
constexpr int64_t kMostEmulatedBytes = int64_t{16} << 20;
constexpr int64_t kReducedBatch = 2, kReducedTokens = 5;

struct TypeRow {
  const char* name;
  int32_t type;
  double tolerance;
};
constexpr TypeRow kTypes[] = {{"f32", onnx::TensorProto::FLOAT, 1e-3},
                              {"f16", onnx::TensorProto::FLOAT16, 1e-2},
                              {"bf16", onnx::TensorProto::BFLOAT16, 4e-2}};

// The case as a file in `folder`, at its full size or a reduced one.
absl::StatusOr<ModelCase> FileOf(const ElsewhereCase& model, bool reduced, const std::string& folder) {
  if (!model.file.file.empty()) return model.file;
  TW_ASSIGN_OR_RETURN(const int32_t type, ModelType(model.dtype));
  GeneratorOptions options{.batch = model.batch, .type = type, .tiny = model.tiny};
  if (reduced) {
    options.tiny = true;
    options.batch = std::min(model.batch, kReducedBatch);
    options.sequence = kReducedTokens;
  }
  TW_ASSIGN_OR_RETURN(const GeneratedModel generated, GenerateModel(model.name, options));
  ModelCase result{.name = model.name,
                   .file = absl::StrCat(folder, "/", reduced ? "reduced" : "full", ".onnx"),
                   .below = generated.below};
  TW_RETURN_IF_ERROR(WriteModel(generated.proto, result.file));
  return result;
}

absl::StatusOr<std::unique_ptr<OnnxModel>> LoadFile(const ModelCase& model, OnnxModel::LoadOptions options) {
  TW_ASSIGN_OR_RETURN(auto file, graph::ModelFile::Open(model.file));
  options.dims = model.dims;
  return OnnxModel::Load(std::move(file), options);
}

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

graph::Arrays Flat(const std::vector<OnnxModel::Tensors>& outputs) {
  graph::Arrays arrays;
  for (const OnnxModel::Tensors& output : outputs) {
    arrays.insert(arrays.end(), output.arrays.begin(), output.arrays.end());
  }
  return arrays;
}

// What runs the emulated model.
absl::StatusOr<graph::ExecutorOptions> EmulatorOf(const Target& target) {
  graph::ExecutorOptions executor = {.kernels = {.target = target}, .num_threads = 1};
  if (target.is_gpu()) {
    executor.kernels.use = graph::KernelUse::kDevice;
    executor.kernels.emulate = true;
    TW_ASSIGN_OR_RETURN(executor.device, graph::EmulatedGpu());
  } else {
    executor.kernels.use = graph::KernelUse::kExport;
    executor.worker = graph::WorkerOptions{.target = target};
  }
  return executor;
}

// Runs a peer on the file, compares its outputs and counts.
absl::Status EmulatePeer(const ModelCase& file, const Target& target, const graph::Arrays& want,
                         const std::string& folder, EmulatedPeer& result) {
  TW_ASSIGN_OR_RETURN(auto process, ModelPeer::StartEmulated(result.name, target, folder));
  TW_ASSIGN_OR_RETURN(const auto peer,
                      ModelPeer::Load(std::move(process), file, /*optimize=*/true, ModelPeer::kEmulatedSeconds));
  result.version = peer->version();
  TW_ASSIGN_OR_RETURN(const graph::Arrays outputs, peer->Outputs(folder));
  result.max_rel_error = RelativeError(outputs, want);
  TW_ASSIGN_OR_RETURN(result.instructions, peer->CountInstructions());
  return absl::OkStatus();
}

int LaunchesOf(const graph::FusionReport& report) {
  int launches = 0;
  for (const graph::FusionReport::Kernel& kernel : report.kernels) launches += kernel.nests;
  return launches;
}

}  // namespace

absl::StatusOr<int32_t> ModelType(const std::string& dtype) {
  for (const TypeRow& row : kTypes) {
    if (dtype == row.name) return row.type;
  }
  return absl::InvalidArgumentError(absl::StrCat("models have the types f32, f16 and bf16, not \"", dtype, "\""));
}

absl::Status CheckType(const std::string& dtype, const Target& target) {
  TW_RETURN_IF_ERROR(ModelType(dtype).status());
  // f16 is what every target here computes with; bf16 is a feature of newer ones.
  if (dtype != "bf16" || target.is_gpu() || target.has("bf16")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--dtype=bf16: ", target.name, " has no instructions for it"));
}

std::vector<std::string> MissingPeers(const Target& target, const std::vector<std::string>& peers) {
  if (target.is_gpu()) {
    return {absl::StrCat("pytorch: not available: this machine has no GPU that runs code for ", target.name)};
  }
  std::vector<std::string> missing;
  for (const std::string& name : peers) {
    const auto command = EmulatedPeerCommand(name, target, "");
    if (!command.ok()) missing.push_back(absl::StrCat(name, ": ", command.status().message()));
  }
  return missing;
}

double ToleranceOf(const std::string& dtype) {
  for (const TypeRow& row : kTypes) {
    if (dtype == row.name) return row.tolerance;
  }
  return kTypes[0].tolerance;
}

absl::StatusOr<Elsewhere> Elsewhere::On(Target target, const ElsewhereOptions& options) {
  if (options.compile && !target.is_gpu()) {
    return absl::InvalidArgumentError(absl::StrCat("--compile is for GPUs: ", target.name, " is a CPU"));
  }
  if (options.full && target.is_gpu()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--full is for CPUs: an emulated ", target.name, " would take days"));
  }
  if (!target.is_gpu()) {
    if (!remote::IsForeign(target)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--target=", target.name,
                       ": models are measured on this machine (host), or for GPUs and CPUs of another architecture"));
    }
    if (options.emulate) TW_RETURN_IF_ERROR(remote::WorkerCommand(target, "").status());
  }
  return Elsewhere(std::move(target), options);
}

ElsewhereResult Elsewhere::Run(const ElsewhereCase& model) const {
  const bool generated = model.file.file.empty();
  ElsewhereResult result{.model = model.name,
                         .dtype = generated ? model.dtype : "",
                         .target = target_.name,
                         .batch = generated ? model.batch : 0,
                         .dims = model.file.dims,
                         .tolerance = options_.tolerance > 0 ? options_.tolerance : ToleranceOf(model.dtype)};
  auto folder = RunFolder::Make();
  absl::Status status = folder.status();
  if (status.ok()) status = Project(model, folder->path(), result);
  if (status.ok() && options_.emulate) status = Emulate(model, folder->path(), result);
  result.error = std::string(status.message());
  return result;
}

absl::Status Elsewhere::Project(const ElsewhereCase& model, const std::string& folder, ElsewhereResult& result) const {
  TW_ASSIGN_OR_RETURN(const ModelCase file, FileOf(model, /*reduced=*/false, folder));
  graph::FusionReport report;
  graph::PassContext passes;
  passes.opt_level = options_.opt_level;
  TW_ASSIGN_OR_RETURN(
      const auto loaded,
      LoadFile(file,
               {.executor = {.kernels = {.target = target_}, .interpret = true}, .passes = passes, .report = &report}));
  result.functions = graph::CountProgramCalls(loaded->module());
  result.launches = LaunchesOf(report);
  std::map<std::string, int> numbers;
  for (const graph::FusionReport::Kernel& kernel : report.kernels) {
    const int number = numbers.emplace(kernel.program, static_cast<int>(numbers.size())).first->second;
    result.profile.push_back({kernel.program, number, kernel.seconds * 1e3});
    result.projected_ms += kernel.seconds * 1e3;
  }
  if (!options_.compile) return absl::OkStatus();
  TW_ASSIGN_OR_RETURN(ModelKernels kernels, CompileModelKernels(loaded->module(), target_));
  result.compiled = kernels.compiled;
  result.compiler = kernels.compiler;
  result.refused = std::move(kernels.refused);
  if (!result.refused.empty()) return absl::InternalError(absl::StrCat("refused kernel ", result.refused[0]));
  return absl::OkStatus();
}

absl::Status Elsewhere::EmulateOwn(const ModelCase& file, const OnnxModel::Inputs& inputs, const graph::Arrays& want,
                                   ElsewhereResult& result) const {
  graph::FusionReport report;
  graph::PassContext passes;
  passes.opt_level = options_.opt_level;
  TW_ASSIGN_OR_RETURN(const graph::ExecutorOptions executor, EmulatorOf(target_));
  TW_ASSIGN_OR_RETURN(const auto loaded,
                      LoadFile(file, {.inputs = &inputs, .executor = executor, .passes = passes, .report = &report}));
  result.reduced_launches = LaunchesOf(report);
  // The second run is as every further one: what it is counted for is there.
  for (int run = 0; run < 2; ++run) {
    const graph::DeviceCounts before = executor.device != nullptr ? executor.device->counts() : graph::DeviceCounts();
    TW_ASSIGN_OR_RETURN(const graph::Arrays arguments, loaded->ArgumentsOf(inputs));
    TW_ASSIGN_OR_RETURN(const graph::Arrays results,
                        loaded->executor().Run(arguments, {.instructions = &result.instructions}));
    result.max_rel_error = std::max(result.max_rel_error, RelativeError(Flat(loaded->OutputsOf(results)), want));
    if (executor.device != nullptr) result.counts = executor.device->counts() - before;
  }
  return absl::OkStatus();
}

absl::Status Elsewhere::Emulate(const ElsewhereCase& model, const std::string& folder, ElsewhereResult& result) const {
  TW_ASSIGN_OR_RETURN(ModelCase file, FileOf(model, /*reduced=*/!options_.full, folder));
  if (!options_.full && FileBytes(file.file) > kMostEmulatedBytes) {
    result.not_emulated = absl::StrCat("its file has more than ", kMostEmulatedBytes >> 20, " MiB");
    return absl::OkStatus();
  }
  TW_ASSIGN_OR_RETURN(const OnnxModel::Inputs inputs, PrepareInputs(file, "", folder));
  TW_ASSIGN_OR_RETURN(
      const auto plain,
      LoadFile(file, {.inputs = &inputs, .executor = {.interpret = !options_.full}, .passes = {.opt_level = 0}}));
  TW_ASSIGN_OR_RETURN(const auto outputs, plain->Run(inputs));
  const graph::Arrays want = Flat(outputs);
  TW_RETURN_IF_ERROR(EmulateOwn(file, inputs, want, result));
  const bool is_reduced = model.file.file.empty() && !options_.full;
  result.emulated = is_reduced                ? absl::StrCat("tiny, batch ", std::min(model.batch, kReducedBatch))
                    : model.file.file.empty() ? "its full size"
                                              : "the file";
  if (result.max_rel_error > result.tolerance) {
    result.wrong = true;
    return absl::InternalError(absl::StrCat("outputs are wrong: relative error ", result.max_rel_error));
  }
  for (const std::string& name : options_.peers) {
    if (target_.is_gpu() || !EmulatedPeerCommand(name, target_, "").ok()) continue;
    EmulatedPeer peer;
    peer.name = name;
    peer.error = std::string(EmulatePeer(file, target_, want, folder, peer).message());
    result.peers.push_back(std::move(peer));
  }
  return absl::OkStatus();
}

}  // namespace tilewright::bench

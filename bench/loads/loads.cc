// Measures first and second loads of models, each in a process of its own. See README.md.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "base/files.h"
#include "base/phases.h"
#include "base/run_command.h"
#include "base/status_macros.h"
#include "bench/harness/machine.h"
#include "bench/loads/load_result.h"
#include "bench/models/generator/models.h"
#include "bench/models/model_peer.h"
#include "bench/models/own_model.h"
#include "codegen/runtime/available_cpus.h"
#include "codegen/runtime/thread_pool.h"
#include "codegen/runtime/timer.h"

ABSL_FLAG(std::vector<std::string>, models,
          std::vector<std::string>({"lstm_unrolled", "dense_unrolled", "elementwise_chain", "resnet50", "bert_base"}),
          "Generated models to load.");
ABSL_FLAG(std::string, onnx, "",
          "A model instead: FILE[@name=N,...] with numbers for its symbolic dimensions; several by ';'.");
ABSL_FLAG(std::string, inputs, "", "Folder with NAME.npy for inputs of --onnx; others are seeded random.");
ABSL_FLAG(std::vector<std::string>, peers, std::vector<std::string>({"onnxruntime", "openvino"}),
          "What to compare with.");
ABSL_FLAG(int, most_seconds, 300, "A load that takes longer is ended.");
ABSL_FLAG(bool, tiny, false, "Small versions of generated models, for tests.");
ABSL_FLAG(std::string, json, "", "File to write the results to as JSON.");
ABSL_FLAG(std::string, html, "", "File to write the results to as a page.");
ABSL_FLAG(std::string, load_only, "", "Loads --onnx with the inputs of this folder and prints what that took.");

namespace tilewright::bench {
namespace {

using nlohmann::json;

constexpr char kOwnName[] = "tilewright";

int Fail(int status, const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return status;
}

double SecondsSince(int64_t nanoseconds) { return static_cast<double>(runtime::NowNanoseconds() - nanoseconds) * 1e-9; }

// The process of one load: one line of JSON.
int LoadOnly() {
  auto model = ParseModelFlag(absl::GetFlag(FLAGS_onnx));
  if (!model.ok()) return Fail(2, std::string(model.status().message()));
  const std::string folder = absl::GetFlag(FLAGS_load_only);
  const auto inputs = PrepareInputs(*model, folder, folder);
  if (!inputs.ok()) return Fail(1, std::string(inputs.status().message()));
  PhaseReport report;
  const ReportPhases here({.report = &report});
  const int64_t start = runtime::NowNanoseconds();
  runtime::ThreadPool pool({});
  const auto own = OwnModel::Load(*model, {*inputs}, HostTarget(), /*opt_level=*/2, "", pool, {});
  const double seconds = SecondsSince(start);
  if (!own.ok()) return Fail(1, std::string(own.status().message()));
  json phases;
  int64_t peak = 0;
  for (const PhaseReport::Entry& phase : report.Phases()) {
    peak = std::max(peak, phase.peak_bytes);
    if (phase.depth() <= 1) phases[phase.path] = phase.seconds;
  }
  const json line = {{"seconds", seconds},
                     {"cpu_seconds", report.Seconds()},
                     {"peak_mib", static_cast<double>(peak) / 1048576},
                     {"kernels", report.Subjects().size()},
                     {"phases", phases}};
  std::printf("\n%s\n", line.dump().c_str());
  return 0;
}

std::string FlagOf(const ModelCase& model) {
  std::vector<std::string> dims;
  for (const auto& [name, value] : model.dims) dims.push_back(absl::StrCat(name, "=", value));
  return dims.empty() ? model.file : absl::StrCat(model.file, "@", absl::StrJoin(dims, ","));
}

// Loads in a process of its own, with the kernels of this folder.
absl::StatusOr<json> LoadInProcess(const ModelCase& model, const std::string& kernels) {
  std::string output;
  const int status = RunCommand(
      {"timeout", "-s", "KILL", absl::StrCat(absl::GetFlag(FLAGS_most_seconds)), "env",
       absl::StrCat("TILEWRIGHT_KERNEL_CACHE=", kernels), std::filesystem::read_symlink("/proc/self/exe").string(),
       absl::StrCat("--load_only=", model.inputs_folders[0]), absl::StrCat("--onnx=", FlagOf(model))},
      &output);
  const std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipEmpty());
  if (status != 0) {
    return absl::InternalError(status == 1 && !lines.empty()
                                   ? lines.back()
                                   : absl::StrCat("no end in ", absl::GetFlag(FLAGS_most_seconds), " s"));
  }
  json answer = lines.empty() ? json() : json::parse(lines.back(), nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return absl::InternalError("the process that loads the model printed no result");
  return answer;
}

OneLoad LoadOf(const json& answer) {
  return {.seconds = answer.at("seconds").get<double>(),
          .cpu_seconds = answer.at("cpu_seconds").get<double>(),
          .peak_mib = answer.at("peak_mib").get<double>()};
}

LoadResult LoadOwn(const ModelCase& model, const std::string& folder) {
  LoadResult result{.model = model.name, .implementation = kOwnName};
  const std::string kernels = absl::StrCat(folder, "/kernels");
  const auto first = LoadInProcess(model, kernels);
  const auto second = first.ok() ? LoadInProcess(model, kernels) : first;
  if (!second.ok()) {
    result.error = std::string(second.status().message());
    return result;
  }
  result.first = LoadOf(*first);
  result.second = LoadOf(*second);
  result.kernels = first->at("kernels").get<int>();
  result.phases = first->at("phases");
  return result;
}

LoadResult LoadPeer(const std::string& name, const ModelCase& model, const std::string& folder) {
  LoadResult result{.model = model.name, .implementation = name};
  const std::vector<int> cpus = runtime::AvailableCpus();
  auto process = ModelPeer::Start(name, cpus);
  const auto peer = process.ok() ? ModelPeer::Load(*std::move(process), model, /*optimize=*/true)
                                 : absl::StatusOr<std::unique_ptr<ModelPeer>>(process.status());
  if (!peer.ok()) {
    result.error = std::string(peer.status().message());
    return result;
  }
  const int64_t start = runtime::NowNanoseconds();
  const auto outputs = (*peer)->Outputs(folder, 0);
  if (!outputs.ok()) {
    result.error = std::string(outputs.status().message());
    return result;
  }
  result.first = {.seconds = (*peer)->load_ms() * 1e-3 + SecondsSince(start), .peak_mib = (*peer)->peak_mib()};
  return result;
}

absl::StatusOr<std::vector<LoadResult>> Load(ModelCase model) {
  TW_ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::Make());
  TW_RETURN_IF_ERROR(PrepareInputs(model, AbsolutePath(absl::GetFlag(FLAGS_inputs)), folder.path()).status());
  std::vector<LoadResult> results = {LoadOwn(model, folder.path())};
  for (const std::string& peer : absl::GetFlag(FLAGS_peers)) results.push_back(LoadPeer(peer, model, folder.path()));
  return results;
}

absl::StatusOr<std::vector<ModelCase>> ChooseModels(const std::string& folder) {
  std::vector<ModelCase> cases;
  const std::vector<std::string> onnx = absl::StrSplit(absl::GetFlag(FLAGS_onnx), ';', absl::SkipEmpty());
  for (const std::string& text : onnx) {
    TW_ASSIGN_OR_RETURN(auto one, ParseModelFlag(text));
    one.file = AbsolutePath(one.file);
    cases.push_back(std::move(one));
  }
  if (!cases.empty()) return cases;
  for (const std::string& name : absl::GetFlag(FLAGS_models)) {
    TW_ASSIGN_OR_RETURN(const auto model, GenerateModel(name, {.tiny = absl::GetFlag(FLAGS_tiny)}));
    ModelCase one{.name = name, .file = absl::StrCat(folder, "/", name, ".onnx"), .below = model.below};
    TW_RETURN_IF_ERROR(WriteModel(model.proto, one.file));
    cases.push_back(std::move(one));
  }
  return cases;
}

int Main(int argc, char** argv) {
  if (!absl::GetFlag(FLAGS_load_only).empty()) return LoadOnly();
  const auto folder = RunFolder::Make();
  if (!folder.ok()) return Fail(1, std::string(folder.status().message()));
  const auto models = ChooseModels(folder->path());
  if (!models.ok()) return Fail(2, std::string(models.status().message()));
  std::vector<LoadResult> results;
  for (const ModelCase& model : *models) {
    const auto loaded = Load(model);
    if (!loaded.ok()) return Fail(2, std::string(loaded.status().message()));
    results.insert(results.end(), loaded->begin(), loaded->end());
  }
  const LoadReportHead head = {.machine = DescribeMachine(static_cast<int>(runtime::AvailableCpus().size())),
                               .commit = CurrentCommit(),
                               .command = absl::StrJoin(std::vector<std::string>(argv, argv + argc), " ")};
  std::printf("%s", ToText(head, results).c_str());
  for (const auto& [path, text] : {std::pair(absl::GetFlag(FLAGS_json), ToJson(head, results)),
                                   std::pair(absl::GetFlag(FLAGS_html), ToHtml(head, results))}) {
    const absl::Status written = path.empty() ? absl::OkStatus() : WriteFile(AbsolutePath(path), text);
    if (!written.ok()) return Fail(1, std::string(written.message()));
  }
  for (const LoadResult& result : results) {
    if (result.implementation == kOwnName && !result.error.empty()) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Measures first and second loads of models, each in a process of its own.");
  absl::ParseCommandLine(argc, argv);
  return tilewright::bench::Main(argc, argv);
}

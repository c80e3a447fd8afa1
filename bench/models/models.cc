// Measures whole models: this compiler and its peers on the same ONNX files in one run. See README.md.
#include "bench/models/generator/models.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autoschedule/measure/executor/speed_gauge.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "bench/harness/command_line.h"
#include "bench/harness/machine.h"
#include "bench/harness/nominal_peak.h"
#include "bench/harness/other_load.h"
#include "bench/harness/peak.h"
#include "bench/harness/process_setup.h"
#include "bench/models/bound_to.h"
#include "bench/models/elsewhere.h"
#include "bench/models/model_report.h"
#include "bench/models/model_run.h"
#include "bench/models/own_model.h"
#include "bench/models/tolerance.h"
#include "bench/operators/result.h"
#include "codegen/cuda/gpu_device.h"
#include "codegen/runtime/thread_pool.h"
#include "graph/onnx/model_file.h"
#include "target/target.h"

ABSL_FLAG(std::vector<std::string>, models, tilewright::bench::ModelNames(),
          "Generated models to measure; none where --onnx is given and this is not.");
ABSL_FLAG(std::string, onnx, "",
          "A model: FILE[@name=N,...] with numbers for its symbolic dimensions; several by ';'.");
ABSL_FLAG(std::string, inputs, "", "Folder with NAME.npy for inputs of --onnx; others are seeded random.");
ABSL_FLAG(std::string, target, "host",
          "What models are compiled for: this machine or its GPU, which measure them; another GPU, or a CPU of another "
          "architecture, for which they are projected, and emulated at a reduced size.");
ABSL_FLAG(std::vector<std::string>, batch, {"1"}, "Sizes of batches of generated models.");
ABSL_FLAG(std::vector<std::string>, dtype, {"f32"}, "Types of generated models: f32; f16, bf16 for other targets.");
ABSL_FLAG(bool, compile, false, "For a GPU: NVRTC compiles the kernels of the full size too; spills are errors.");
ABSL_FLAG(bool, tiny, false, "For other targets: small versions of the generated models, for tests.");
ABSL_FLAG(bool, full, false, "For an emulated CPU: models run at their full size there, which takes minutes each.");
ABSL_FLAG(
    double, tolerance, 0,
    "Where machines are emulated: how far outputs may be apart, relative to the largest number of one; 0 for what "
    "the type allows. Files that quantize need a step of it.");
ABSL_FLAG(std::vector<std::string>, peers, {"default"},
          "What to compare with: onnxruntime, openvino, pytorch; on a GPU pytorch_gpu, pytorch_compile; where a CPU is "
          "emulated onnxruntime.");
ABSL_FLAG(double, seconds, 20, "Time for one model, in which all implementations take turns.");
ABSL_FLAG(bool, tune, false, "Tune models first; not supported yet: records of --db and rules are used.");
ABSL_FLAG(std::string, db, "", "Tuning database whose records are used.");
ABSL_FLAG(int, threads, 0, "Threads of every implementation; 0 for one per available CPU.");
ABSL_FLAG(int, opt_level, 2, "How far this compiler optimizes graphs.");
ABSL_FLAG(std::string, folder, "", "Where generated models are kept; ~/.cache/tilewright/models by default.");
ABSL_FLAG(std::string, json, "", "File to write the results to as JSON.");
ABSL_FLAG(std::string, html, "", "File to write the results to as a page with the calls of each model.");
ABSL_FLAG(std::string, load_only, "",
          "Loads and runs --onnx with the inputs of this folder, and prints time and memory.");

namespace tilewright::bench {
namespace {

namespace fs = std::filesystem;

int Fail(int status, const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return status;
}

std::string ModelsFolder() {
  if (const std::string given = absl::GetFlag(FLAGS_folder); !given.empty()) return AbsolutePath(given);
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return absl::StrCat(cache, "/tilewright/models");
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "" : home, "/.cache/tilewright/models");
}

// A generated model; the file is written where it is not there yet.
absl::StatusOr<ModelCase> GeneratedCase(const std::string& name, int64_t batch, const std::string& dtype) {
  TW_ASSIGN_OR_RETURN(const int32_t type, ModelType(dtype));
  const std::string suffix =
      absl::StrCat(batch == 1 ? "" : absl::StrCat("-batch", batch), dtype == "f32" ? "" : absl::StrCat("-", dtype));
  ModelCase result{.name = name + suffix, .file = absl::StrCat(ModelsFolder(), "/", name, "-1", suffix, ".onnx")};
  if (name.starts_with("bert")) result.below = {{"input_ids", 30522}};
  if (fs::exists(result.file)) return result;
  std::fprintf(stderr, "writing %s\n", result.file.c_str());
  TW_ASSIGN_OR_RETURN(const auto model, GenerateModel(name, {.batch = batch, .type = type}));
  std::error_code error;
  fs::create_directories(ModelsFolder(), error);
  const std::string temporary = absl::StrCat(result.file, ".", getpid());
  TW_RETURN_IF_ERROR(WriteModel(model.proto, temporary));
  fs::rename(temporary, result.file, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot write ", result.file, ": ", error.message()));
  return result;
}

absl::StatusOr<std::vector<int64_t>> Batches() {
  std::vector<int64_t> batches;
  for (const std::string& text : absl::GetFlag(FLAGS_batch)) {
    int64_t batch;
    if (!absl::SimpleAtoi(text, &batch) || batch < 1 || batch > 1024) {
      return absl::InvalidArgumentError(absl::StrCat("--batch: \"", text, "\" is not a number in [1, 1024]"));
    }
    batches.push_back(batch);
  }
  return batches;
}

bool IsGiven(const std::vector<std::string>& arguments, const std::string& flag) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    const size_t name = argument.find_first_not_of('-');
    return name != 0 && name != std::string::npos && argument.substr(name, argument.find('=') - name) == flag;
  });
}

// The files of --onnx.
absl::StatusOr<std::vector<ModelCase>> GivenFiles(const std::vector<std::string>& arguments) {
  std::vector<ModelCase> cases;
  const std::vector<std::string> onnx = absl::StrSplit(absl::GetFlag(FLAGS_onnx), ';', absl::SkipEmpty());
  for (const std::string& text : onnx) {
    TW_ASSIGN_OR_RETURN(auto one, ParseModelFlag(text));
    one.file = AbsolutePath(one.file);
    cases.push_back(std::move(one));
  }
  for (const char* flag : {"batch", "dtype"}) {
    if (!cases.empty() && IsGiven(arguments, flag)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " is of generated models: a file of --onnx has its own, or a dimension @name=N"));
    }
  }
  return cases;
}

// Whether generated models are measured too.
bool TakesGenerated(const std::vector<ModelCase>& files, const std::vector<std::string>& arguments) {
  return files.empty() || IsGiven(arguments, "models");
}

// What this machine or its GPU measures, by type.
absl::StatusOr<std::map<std::string, std::vector<ModelCase>>> ChooseModels(const std::vector<std::string>& arguments,
                                                                           const Target& target) {
  std::map<std::string, std::vector<ModelCase>> cases;
  TW_ASSIGN_OR_RETURN(const std::vector<ModelCase> files, GivenFiles(arguments));
  if (!files.empty()) cases["f32"] = files;
  if (!TakesGenerated(files, arguments)) return cases;
  TW_ASSIGN_OR_RETURN(const std::vector<int64_t> batches, Batches());
  for (const std::string& dtype : absl::GetFlag(FLAGS_dtype)) {
    TW_RETURN_IF_ERROR(CheckType(dtype, target));
    if (dtype != "f32" && !target.is_gpu()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dtype=", dtype, " is for GPUs and emulated CPUs (--target); this machine measures f32"));
    }
    for (const std::string& name : absl::GetFlag(FLAGS_models)) {
      for (const int64_t batch : batches) {
        TW_ASSIGN_OR_RETURN(auto one, GeneratedCase(name, batch, dtype));
        cases[dtype].push_back(std::move(one));
      }
    }
  }
  return cases;
}

// What is projected and emulated for another machine.
absl::StatusOr<std::vector<ElsewhereCase>> ChooseElsewhere(const std::vector<std::string>& arguments,
                                                           const Target& target) {
  std::vector<ElsewhereCase> cases;
  TW_ASSIGN_OR_RETURN(const std::vector<ModelCase> files, GivenFiles(arguments));
  for (const ModelCase& file : files) cases.push_back({.name = file.name, .file = file});
  if (!TakesGenerated(files, arguments)) return cases;
  TW_ASSIGN_OR_RETURN(const std::vector<int64_t> batches, Batches());
  for (const std::string& name : absl::GetFlag(FLAGS_models)) {
    for (const std::string& dtype : absl::GetFlag(FLAGS_dtype)) {
      TW_RETURN_IF_ERROR(CheckType(dtype, target));
      for (const int64_t batch : batches) {
        cases.push_back({.name = name, .batch = batch, .dtype = dtype, .tiny = absl::GetFlag(FLAGS_tiny)});
      }
    }
  }
  return cases;
}

double PeakMib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

// The child process of MeasureLoad, which has nothing but the model.
int LoadOnly() {
  auto model = ParseModelFlag(absl::GetFlag(FLAGS_onnx));
  if (!model.ok()) return Fail(2, std::string(model.status().message()));
  const std::string folder = absl::GetFlag(FLAGS_load_only);
  const auto inputs = PrepareInputs(*model, folder, folder);
  if (!inputs.ok()) return Fail(1, std::string(inputs.status().message()));
  runtime::ThreadPool pool({.num_threads = absl::GetFlag(FLAGS_threads)});
  const auto own = OwnModel::Load(*model, {*inputs}, HostTarget(), absl::GetFlag(FLAGS_opt_level),
                                  AbsolutePath(absl::GetFlag(FLAGS_db)), pool, {});
  if (!own.ok()) return Fail(1, std::string(own.status().message()));
  std::printf("%.3f %.3f\n", (*own)->load_ms(), PeakMib());
  return 0;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) absl::StrAppend(&quoted, c == '\'' ? std::string("'\\''") : std::string(1, c));
  return quoted + "'";
}

// Measures load time (kernels come from the cache) and peak memory in a process of its own.
void MeasureLoad(const ModelCase& model, const std::vector<int>& cpus, ModelResult& result) {
  const BoundTo bound(cpus);
  std::string dims;
  for (const auto& [name, value] : model.dims) absl::StrAppend(&dims, dims.empty() ? "@" : ",", name, "=", value);
  const std::string command = absl::StrCat(
      Quoted(fs::read_symlink("/proc/self/exe").string()), " --load_only=", Quoted(model.inputs_folders[0]),
      " --onnx=", Quoted(absl::StrCat(model.file, dims)), " --threads=", cpus.size(),
      " --opt_level=", absl::GetFlag(FLAGS_opt_level), " --db=", Quoted(absl::GetFlag(FLAGS_db)));
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    result.error = "cannot start a process that loads the model alone";
    return;
  }
  const bool read = std::fscanf(pipe, "%lf %lf", &result.load_ms, &result.peak_mib) == 2;
  if (pclose(pipe) != 0 || !read) result.error = "the process that loads the model alone failed";
}

std::vector<std::string> PeersOn(const Target& target) {
  std::vector<std::string> peers = absl::GetFlag(FLAGS_peers);
  if (peers != std::vector<std::string>{"default"}) return peers;
  if (target.is_gpu()) return {"pytorch_gpu", "pytorch_compile"};
  return {"onnxruntime", "openvino", "pytorch"};
}

// The peers of emulated CPUs.
std::vector<std::string> PeersElsewhere() {
  const std::vector<std::string> peers = absl::GetFlag(FLAGS_peers);
  return peers == std::vector<std::string>{"default"} ? std::vector<std::string>{"onnxruntime"} : peers;
}

// How far the outputs of a model's implementations may be apart. A file that cannot be read is reported by its load.
double ToleranceOfFile(const std::string& file, const std::string& dtype) {
  const auto model = graph::ModelFile::Open(file);
  return model.ok() ? ToleranceOf((*model)->model(), ToleranceOf(dtype)) : ToleranceOf(dtype);
}

// The results of one model; this compiler's first.
std::vector<ModelResult> ResultsOf(ModelCase model, const std::string& dtype, const Target& target,
                                   runtime::ThreadPool& pool, const std::vector<int>& cpus, SpeedGauge& gauge) {
  const double tolerance = ToleranceOfFile(model.file, dtype);
  ModelRun run(std::move(model), pool, cpus, gauge,
               {.target = target,
                .dtype = dtype,
                .peers = PeersOn(target),
                .seconds = absl::GetFlag(FLAGS_seconds),
                .opt_level = absl::GetFlag(FLAGS_opt_level),
                .database = AbsolutePath(absl::GetFlag(FLAGS_db)),
                .tolerance = tolerance,
                .given = {AbsolutePath(absl::GetFlag(FLAGS_inputs))}});
  std::vector<ModelResult> results = run.Run();
  if (results[0].ok() && !target.is_gpu()) MeasureLoad(run.model(), cpus, results[0]);
  return results;
}

absl::Status WriteIfNamed(const std::string& path, const std::string& text) {
  return path.empty() ? absl::OkStatus() : WriteFile(AbsolutePath(path), text);
}

// Projected and emulated; peers that are not there are named.
int MainElsewhere(const std::vector<std::string>& arguments, const Target& target) {
  const auto cases = ChooseElsewhere(arguments, target);
  if (!cases.ok()) return Fail(2, std::string(cases.status().message()));
  const std::vector<std::string> peers = PeersElsewhere();
  const auto elsewhere = Elsewhere::On(target, {.opt_level = absl::GetFlag(FLAGS_opt_level),
                                                .compile = absl::GetFlag(FLAGS_compile),
                                                .full = absl::GetFlag(FLAGS_full),
                                                .peers = peers,
                                                .tolerance = absl::GetFlag(FLAGS_tolerance)});
  if (!elsewhere.ok()) return Fail(2, std::string(elsewhere.status().message()));
  std::vector<ElsewhereResult> results;
  bool failed = false;
  for (const ElsewhereCase& model : *cases) {
    std::fprintf(stderr, "%s\n", model.name.c_str());
    results.push_back(elsewhere->Run(model));
    if (!results.back().ok()) std::fprintf(stderr, "error: %s\n", results.back().error.c_str());
    failed |= !results.back().ok();
  }
  const std::vector<std::string> missing = MissingPeers(target, peers);
  std::fputs(ElsewhereText(results, missing).c_str(), stdout);
  const absl::Status written = WriteIfNamed(
      absl::GetFlag(FLAGS_json), ElsewhereJson(results, missing, CurrentCommit(), absl::StrJoin(arguments, " ")));
  if (!written.ok()) return Fail(1, std::string(written.message()));
  return failed ? Fail(1, "some results are wrong or missing; see the report") : 0;
}

// Measured, beside peers.
int Measure(const std::vector<std::string>& arguments, const Target& target, char** argv) {
  for (const char* flag : {"compile", "tiny", "full", "tolerance"}) {
    if (IsGiven(arguments, flag)) return Fail(2, absl::StrCat("--", flag, " is for targets that are emulated"));
  }
  auto models = ChooseModels(arguments, target);
  if (!models.ok()) return Fail(2, std::string(models.status().message()));
  const absl::StatusOr<std::vector<int>> cpus = SetUpProcess(absl::GetFlag(FLAGS_threads), argv);
  if (!cpus.ok()) return Fail(2, std::string(cpus.status().message()));
  const int num_threads = static_cast<int>(cpus->size());
  runtime::ThreadPool pool({.num_threads = num_threads, .cpus = *cpus});
  Report head = {.machine = DescribeMachine(num_threads),
                 .peak = target.is_gpu() ? NominalPeak(target, num_threads) : MeasurePeak(pool),
                 .commit = CurrentCommit(),
                 .command = absl::StrJoin(arguments, " ")};
  if (target.is_gpu()) {
    head.machine.cpu = cuda::DeviceName();
    head.peak_source = absl::StrCat("by the description of ", target.name);
  }
  SpeedGauge gauge(pool);
  const OtherLoad other_load;
  std::vector<ModelResult> results;
  bool failed = false;
  for (auto& [dtype, cases] : *models) {
    for (ModelCase& model : cases) {
      std::fprintf(stderr, "%s\n", model.name.c_str());
      for (ModelResult& result : ResultsOf(std::move(model), dtype, target, pool, *cpus, gauge)) {
        const bool wrong = result.implementation == kOwnName && !result.ok();
        if (wrong) std::fprintf(stderr, "error: %s: %s\n", result.implementation.c_str(), result.error.c_str());
        failed |= wrong;
        results.push_back(std::move(result));
      }
    }
  }
  head.other_load = other_load.Share();
  const auto is_over = [&](const ModelResult& r) { return PercentOfPeak(r, head.peak) > kOverPeak; };
  if (!target.is_gpu() && std::ranges::any_of(results, is_over)) {
    head.peak = Highest(head.peak, MeasurePeak(pool));
    head.peak_source = "measured on all threads before and after the results";
  }
  std::fputs(ModelsToText(head, results).c_str(), stdout);
  absl::Status written = WriteIfNamed(absl::GetFlag(FLAGS_json), ModelsToJson(head, results));
  written.Update(WriteIfNamed(absl::GetFlag(FLAGS_html), ModelsToHtml(head, results)));
  if (!written.ok()) return Fail(1, std::string(written.message()));
  return failed ? Fail(1, "some results were wrong or missing; see the report") : 0;
}

int Main(const std::vector<std::string>& arguments, char** argv) {
  if (!absl::GetFlag(FLAGS_load_only).empty()) return LoadOnly();
  if (absl::GetFlag(FLAGS_tune)) return Fail(2, "models are not tuned yet: --tune is not supported");
  const auto target = NamedTarget(absl::GetFlag(FLAGS_target));
  if (!target.ok()) return Fail(2, std::string(target.status().message()));
  const bool here = target->name == HostTarget().name || (target->is_gpu() && cuda::CheckGpuRuns(*target).ok());
  return here ? Measure(arguments, *target, argv) : MainElsewhere(arguments, *target);
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  using namespace tilewright::bench;  // NOLINT(build/namespaces): main() cannot be in it.
  absl::SetProgramUsageMessage(
      "Measures models against other engines.\n"
      "  models --models=resnet50,bert_base --seconds=20\n"
      "  models --onnx=model.onnx@batch=1 --json=results.json\n"
      "  models --target=cuda-sm90a --batch=1,16 --dtype=f16");
  const std::vector<std::string> arguments = JoinRepeatedFlag(std::vector<std::string>(argv, argv + argc), "onnx");
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  const std::vector<char*> rest = absl::ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
  if (rest.size() > 1) return Fail(2, absl::StrCat("unexpected argument '", rest[1], "'"));
  return Main(arguments, argv);
}

// Measures operators: this compiler and its peers on the same data in one process. See README.md.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autoschedule/measure/executor/speed_gauge.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "bench/harness/command_line.h"
#include "bench/harness/dtype.h"
#include "bench/harness/machine.h"
#include "bench/harness/nominal_peak.h"
#include "bench/harness/other_load.h"
#include "bench/harness/peak.h"
#include "bench/harness/process_setup.h"
#include "bench/operators/extents.h"
#include "bench/operators/implementation.h"
#include "bench/operators/implementation_tilewright.h"
#include "bench/operators/missing_peer.h"
#include "bench/operators/program.h"
#include "bench/operators/run_workload.h"
#include "bench/operators/shapes.h"
#include "bench/peers/arm/emulated_peer.h"
#include "bench/peers/peer_cublaslt.h"
#include "bench/peers/peer_onednn.h"
#include "bench/peers/peer_openblas.h"
#include "bench/peers/peer_xnnpack.h"
#include "bench/peers/python_peer.h"
#include "bench/report/report.h"
#include "codegen/cuda/gpu_device.h"
#include "codegen/remote/launcher.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/script/printer.h"
#include "target/target.h"

ABSL_FLAG(std::string, ops, "", "Operators, such as GMM,C2D, or all: each on its standard shapes.");
ABSL_FLAG(std::string, shape, "",
          "Shapes, such as GMM:1,512,512,512; several separated by commas or semicolons, or by giving the flag again.");
ABSL_FLAG(
    std::string, dtype, "f32",
    "Data types: f32, bf16, f16 (summed in f16), f16f32 (summed in f32), f16h and bf16h (summed in f32, stored in "
    "16 bits), e4m3, int8 (u8 by s8), s8s8, int8q and s8s8q (requantized to 8 bits).");
ABSL_FLAG(std::string, batch, "",
          "Sizes of batches, such as 1,16: each shape is measured with each of them as its first number.");
ABSL_FLAG(int64_t, queries, 0, "Queries of the shapes of ATT; 0 for as many as keys, or what the shape says.");
ABSL_FLAG(int64_t, key_heads, 0, "Key heads of the shapes of ATT; 0 for as many as heads, or what the shape says.");
ABSL_FLAG(int64_t, window, 0, "Keys that a query of ATT sees to each side; 0 for all, or what the shape says.");
ABSL_FLAG(std::string, peers, "default",
          "Libraries to compare with. The default is onednn,openblas,xnnpack, on a GPU cublaslt; none where code is "
          "emulated, for which there are xnnpack and acl on AArch64 (bench/peers/arm).");
ABSL_FLAG(double, seconds, 30,
          "Time for one shape in one data type: a sixth of it, 6 at most, is for measuring all implementations against "
          "each other, the rest for tuning.");
ABSL_FLAG(bool, tune, true, "Whether to tune; otherwise records of --db are used, and rules where there are none.");
ABSL_FLAG(std::string, db, "", "Tuning database: what was measured before is used, what is measured is kept.");
ABSL_FLAG(uint64_t, seed, 0, "Of the tuning's choices.");
ABSL_FLAG(int, threads, 0, "Threads of every implementation; 0 for one per available CPU.");
ABSL_FLAG(
    std::string, target, "host",
    "What this compiler compiles for: host, a preset that this machine runs (a GPU's too), or one that is emulated: "
    "results are checked (of GPUs at smaller extents), times are projected, and nothing is tuned.");
ABSL_FLAG(std::string, symbolic, "",
          "Numbers of shapes, such as M,S: beside the program with constant extents, the same one with indices of 64 "
          "bits and one in which these numbers are variables are measured. The latter is compiled once for all shapes "
          "that differ in these numbers alone, and tuned for them.");
ABSL_FLAG(std::string, launcher, "",
          "Command before the worker that runs the target's code, such as 'ssh board': that machine measures, with all "
          "of the target's cores or --threads, on operands that are in its caches; peers do not take part.");
ABSL_FLAG(std::string, programs, "",
          "Folder to write the programs to as text, one file each; nothing is measured then.");
ABSL_FLAG(std::string, json, "", "File to write the results to as JSON.");
ABSL_FLAG(std::string, html, "", "File to write the results to as a page with plots.");

namespace tilewright::bench {
namespace {

enum ExitStatus { kDone = 0, kFailed = 1, kWrongUsage = 2 };

int Fail(ExitStatus status, std::string_view message) {
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(message.size()), message.data());
  return status;
}

// The device on which this compiler's code runs.
enum class RunsOn { kThisMachine, kLauncher, kGpu, kEmulator };

absl::StatusOr<RunsOn> PlaceFor(const Target& target) {
  if (const std::string launcher = absl::GetFlag(FLAGS_launcher); !launcher.empty()) {
    if (target.is_gpu()) return absl::InvalidArgumentError("--launcher starts what runs code of CPUs");
    TW_RETURN_IF_ERROR(remote::WorkerCommand(target, launcher).status());
    return RunsOn::kLauncher;
  }
  if (target.is_gpu()) {
    const absl::Status gpu = cuda::CheckGpuRuns(target);
    if (gpu.ok()) return RunsOn::kGpu;
    std::fprintf(stderr, "emulated: %s\n", std::string(gpu.message()).c_str());
    return RunsOn::kEmulator;
  }
  const bool foreign = remote::IsForeign(target);
  TW_RETURN_IF_ERROR(foreign ? remote::WorkerCommand(target, "").status() : CheckRunsOn(target, HostTarget()));
  return foreign ? RunsOn::kEmulator : RunsOn::kThisMachine;
}

// What an emulated GPU computes in some seconds; elements of row operators count one each.
constexpr double kEmulatedOperations = 6e6;
// Enough sets to leave a GPU's second-level cache also where they are small.
constexpr int kMostDeviceSets = 512;
// Share of the CPU time that other processes may take where results beyond the peak are an error: with more, the peak
// was measured beside them.
constexpr double kMostOtherLoad = 0.02;

WorkloadLimits LimitsOn(RunsOn place, const Target& target) {
  if (!target.is_gpu()) return {};
  if (place == RunsOn::kEmulator) return {.most_operations = kEmulatedOperations, .cache_bytes = 1, .most_sets = 2};
  return {.cache_bytes = target.levels.empty() ? 0 : target.Farthest().bytes, .most_sets = kMostDeviceSets};
}

// The part of the time for one workload in which its implementations are measured against each other.
double MeasureSeconds() {
  const double seconds = absl::GetFlag(FLAGS_seconds);
  return absl::GetFlag(FLAGS_tune) ? std::min(6.0, seconds / 6) : seconds;
}

std::vector<std::string> SymbolicNumbers() {
  return absl::StrSplit(absl::GetFlag(FLAGS_symbolic), ',', absl::SkipEmpty());
}

std::vector<std::unique_ptr<Implementation>> MakeImplementations(const std::string& peers, const Target& target,
                                                                 RunsOn place, const std::vector<Workload>& workloads) {
  std::vector<std::unique_ptr<Implementation>> implementations;
  const double tune_seconds = absl::GetFlag(FLAGS_seconds) - MeasureSeconds();
  const TuningSettings tuning = {.seconds = absl::GetFlag(FLAGS_tune) ? tune_seconds : 0,
                                 .database = AbsolutePath(absl::GetFlag(FLAGS_db)),
                                 .seed = absl::GetFlag(FLAGS_seed),
                                 .launcher = absl::GetFlag(FLAGS_launcher)};
  const bool emulated = place == RunsOn::kEmulator;
  implementations.push_back(MakeTilewright(target, tuning, emulated));
  if (const std::vector<std::string> symbolic = SymbolicNumbers(); !symbolic.empty()) {
    implementations.push_back(
        MakeTilewright(target, tuning, emulated, {.name = "tilewright-int64", .extents = {.wide = true}}));
    implementations.push_back(MakeTilewright(
        target, tuning, emulated,
        {.name = "tilewright-symbolic", .extents = {.symbolic = symbolic, .wide = true}, .workloads = workloads}));
  }
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(peers, ',', absl::SkipEmpty()))) {
    if (emulated) {
      std::unique_ptr<Implementation> peer = target.is_gpu() ? nullptr : MakeEmulatedPeer(name, target);
      if (peer == nullptr) peer = MakeMissingPeer(name, absl::StrCat("is not emulated for ", target.name));
      implementations.push_back(std::move(peer));
    } else if (name == "onednn") {
      implementations.push_back(MakeOneDnn());
    } else if (name == "openblas") {
      implementations.push_back(MakeOpenBlas());
    } else if (name == "xnnpack") {
      implementations.push_back(MakeXnnpack());
    } else if (name == "cublaslt") {
      implementations.push_back(MakeCublasLt());
    } else if (std::unique_ptr<Implementation> python = MakePythonPeer(name)) {
      implementations.push_back(std::move(python));
    } else {
      implementations.push_back(MakeMissingPeer(name, "this program was built without this peer"));
    }
  }
  return implementations;
}

absl::StatusOr<std::vector<Workload>> ChooseWorkloads() {
  std::vector<Shape> shapes;
  if (const std::string text = absl::GetFlag(FLAGS_shape); !text.empty()) {
    TW_ASSIGN_OR_RETURN(std::vector<Shape> parsed, ParseShapes(text));
    shapes = std::move(parsed);
  }
  if (const std::string text = absl::GetFlag(FLAGS_ops); !text.empty()) {
    TW_ASSIGN_OR_RETURN(const std::vector<Operator> operators, ParseOperators(text));
    // Operators whose shapes the user gave are measured on those alone.
    for (Operator op : operators) {
      const bool given = std::any_of(shapes.begin(), shapes.end(), [&](const Shape& shape) { return shape.op == op; });
      if (given) continue;
      for (Shape& shape : StandardShapes(op)) shapes.push_back(std::move(shape));
    }
  }
  if (shapes.empty()) shapes = DefaultShapes();
  TW_ASSIGN_OR_RETURN(shapes, WithAttentionNumbers(shapes, {.queries = absl::GetFlag(FLAGS_queries),
                                                            .key_heads = absl::GetFlag(FLAGS_key_heads),
                                                            .window = absl::GetFlag(FLAGS_window)}));
  TW_ASSIGN_OR_RETURN(const std::vector<Shape> of_batches, WithBatches(shapes, absl::GetFlag(FLAGS_batch)));
  TW_ASSIGN_OR_RETURN(const std::vector<DType> dtypes, ParseDTypes(absl::GetFlag(FLAGS_dtype)));

  std::vector<Workload> workloads;
  for (DType dtype : dtypes) {
    for (const Shape& shape : of_batches) {
      TW_ASSIGN_OR_RETURN(const Problem problem, MakeProblem(shape));
      workloads.push_back({.shape = shape, .dtype = dtype, .problem = problem});
    }
  }
  return workloads;
}

// Files such as GMM_1_512_512_512_f32.py, which `tilewright compile` and `tilewright tune` take.
absl::Status WritePrograms(const std::string& folder, const std::vector<Workload>& workloads) {
  for (const Workload& workload : workloads) {
    std::string name = absl::StrJoin(workload.shape.numbers, "_");
    name = std::string(Name(workload.shape.op)) + "_" + name + "_" + std::string(Name(workload.dtype)) + ".py";
    TW_RETURN_IF_ERROR(WriteFile(absl::StrCat(folder, "/", name), Print(MakeProgram(workload).function)));
  }
  return absl::OkStatus();
}

absl::Status WriteReports(const Report& report) {
  absl::Status status;
  if (const std::string path = absl::GetFlag(FLAGS_json); !path.empty()) {
    status.Update(WriteFile(AbsolutePath(path), ToJson(report)));
  }
  if (const std::string path = absl::GetFlag(FLAGS_html); !path.empty()) {
    status.Update(WriteFile(AbsolutePath(path), ToHtml(report)));
  }
  return status;
}

// The first argument that looks like a flag and is none. The flag library would end the program with the status of a
// failed run.
std::string UnknownFlag(const std::vector<std::string>& arguments) {
  for (size_t i = 1; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (!arguments[i].starts_with("-") || arguments[i] == "-") continue;
    std::string name = arguments[i].substr(arguments[i].find_first_not_of('-'));
    name = name.substr(0, name.find('='));
    if (name.starts_with("help")) continue;  // handled by the flag library, not one of its flags
    if (absl::FindCommandLineFlag(name) != nullptr) continue;
    if (name.starts_with("no") && absl::FindCommandLineFlag(name.substr(2)) != nullptr) continue;
    return arguments[i];
  }
  return "";
}

// One workload after the other, with a line for each that begins and each that is wrong.
std::vector<Result> RunAll(const std::vector<Workload>& workloads,
                           const std::vector<std::unique_ptr<Implementation>>& implementations,
                           const RunSettings& settings, const MeasureOptions& options, const WorkloadLimits& limits) {
  std::vector<Result> results;
  for (size_t i = 0; i < workloads.size(); ++i) {
    const Workload& workload = workloads[i];
    std::fprintf(stderr, "[%zu/%zu] %s:%s %s\n", i + 1, workloads.size(), Name(workload.shape.op).data(),
                 NumbersText(workload.shape).c_str(), Name(workload.dtype).data());
    for (Result& result : RunWorkload(workload, implementations, settings, options, limits)) {
      if (result.wrong) std::fprintf(stderr, "error: %s: %s\n", result.implementation.c_str(), result.error.c_str());
      results.push_back(std::move(result));
    }
  }
  return results;
}

// A report of `threads` threads without results: the machine, its peak and the command.
Report NewReport(RunsOn place, const Target& target, int threads, runtime::ThreadPool& pool,
                 const std::vector<std::string>& arguments) {
  Report report = {.machine = DescribeMachine(threads),
                   .peak = place == RunsOn::kThisMachine ? MeasurePeak(pool) : NominalPeak(target, threads),
                   .commit = CurrentCommit(),
                   .command = absl::StrJoin(arguments, " ")};
  std::string& cpu = report.machine.cpu;
  if (place != RunsOn::kThisMachine) report.peak_source = absl::StrCat("by the description of ", target.name);
  if (place == RunsOn::kEmulator) cpu = absl::StrCat(target.name, ", emulated on ", cpu);
  if (place == RunsOn::kLauncher) cpu = absl::StrCat(target.name, " by ", absl::GetFlag(FLAGS_launcher));
  if (place == RunsOn::kGpu) cpu = cuda::DeviceName();
  return report;
}

int Main(const std::vector<std::string>& arguments, char** argv) {
  const absl::StatusOr<std::vector<Workload>> workloads = ChooseWorkloads();
  if (!workloads.ok()) return Fail(kWrongUsage, std::string(workloads.status().message()));
  const absl::Status symbolic = CheckSymbolic(SymbolicNumbers(), *workloads);
  if (!symbolic.ok()) return Fail(kWrongUsage, std::string(symbolic.message()));
  if (const std::string folder = AbsolutePath(absl::GetFlag(FLAGS_programs)); !folder.empty()) {
    const absl::Status written = WritePrograms(folder, *workloads);
    return written.ok() ? kDone : Fail(kFailed, std::string(written.message()));
  }
  const absl::StatusOr<Target> target = NamedTarget(absl::GetFlag(FLAGS_target));
  if (!target.ok()) return Fail(kWrongUsage, std::string(target.status().message()));
  const absl::StatusOr<RunsOn> place = PlaceFor(*target);
  if (!place.ok()) return Fail(kWrongUsage, std::string(place.status().message()));
  const bool emulated = *place == RunsOn::kEmulator, elsewhere = *place == RunsOn::kLauncher;
  // Instructions of several threads are not counted exactly.
  if (emulated) absl::SetFlag(&FLAGS_threads, 1);
  // Peers that this process calls would be measured on another machine than the launcher's.
  if (elsewhere || (emulated && absl::GetFlag(FLAGS_peers) == "default")) absl::SetFlag(&FLAGS_peers, "");
  if (absl::GetFlag(FLAGS_peers) == "default") {
    absl::SetFlag(&FLAGS_peers, *place == RunsOn::kGpu ? "cublaslt" : "onednn,openblas,xnnpack");
  }
  if (emulated || *place == RunsOn::kGpu) absl::SetFlag(&FLAGS_tune, false);
  const int threads = absl::GetFlag(FLAGS_threads);
  const absl::StatusOr<std::vector<int>> cpus = SetUpProcess(elsewhere ? 0 : threads, argv);
  if (!cpus.ok()) return Fail(kWrongUsage, std::string(cpus.status().message()));

  const int threads_here = static_cast<int>(cpus->size()), threads_there = threads > 0 ? threads : target->cores;
  const int num_threads = elsewhere ? threads_there : threads_here;
  runtime::ThreadPool pool({.num_threads = threads_here, .cpus = *cpus});
  Report report = NewReport(*place, *target, num_threads, pool, arguments);
  std::fprintf(stderr, "%s\n", PeakText(report.peak).c_str());

  std::vector<std::unique_ptr<Implementation>> implementations =
      MakeImplementations(absl::GetFlag(FLAGS_peers), *target, *place, *workloads);
  const RunSettings settings = {.num_threads = num_threads, .cpus = elsewhere ? std::vector<int>() : *cpus};
  SpeedGauge gauge(pool);
  MeasureOptions options = {.seconds = MeasureSeconds()};
  if (*place == RunsOn::kThisMachine) options.full_speed = [&gauge] { return gauge.IsFull(); };
  const OtherLoad other_load;
  report.results = RunAll(*workloads, implementations, settings, options, LimitsOn(*place, *target));
  // Ends the processes of peers: what they took is not that of others.
  implementations.clear();
  report.other_load = other_load.Share();
  std::string over_peak;
  if (*place == RunsOn::kThisMachine && !OverPeak(report.results, report.peak).empty()) {
    report.peak = Highest(report.peak, MeasurePeak(pool));
    report.peak_source = "measured on all threads before and after the results";
    over_peak = OverPeak(report.results, report.peak);
  }
  std::fputs(ToText(report).c_str(), stdout);
  const absl::Status written = WriteReports(report);
  if (!written.ok()) return Fail(kFailed, std::string(written.message()));
  if (!over_peak.empty()) {
    const std::string text = absl::StrCat("the peak was measured too low: ", over_peak);
    if (report.other_load <= kMostOtherLoad) return Fail(kFailed, text);
    std::fprintf(stderr, "note: other processes ran beside: %s\n", text.c_str());
  }
  const bool wrong = std::ranges::any_of(report.results, &Result::wrong);
  return wrong ? Fail(kFailed, "results were wrong; see the report") : kDone;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  using namespace tilewright::bench;  // NOLINT(build/namespaces): main() cannot be in it.
  absl::SetProgramUsageMessage(
      "Measures operators against other libraries.\n"
      "  operators --ops=GMM,C2D --dtype=f32\n"
      "  operators --shape=GMM:1,512,512,512 --json=results.json");
  const std::vector<std::string> arguments = JoinRepeatedFlag(std::vector<std::string>(argv, argv + argc), "shape");
  if (const std::string flag = UnknownFlag(arguments); !flag.empty()) {
    return Fail(kWrongUsage, absl::StrCat("unknown flag '", flag, "'; see --help"));
  }
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  const std::vector<char*> rest = absl::ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
  if (rest.size() > 1) return Fail(kWrongUsage, absl::StrCat("unexpected argument '", rest[1], "'"));
  return Main(arguments, argv);
}

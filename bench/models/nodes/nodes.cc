// Measures models of one node of every operator: this compiler and its peers on the same files in one run. See
// README.md.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autoschedule/measure/executor/speed_gauge.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "bench/harness/command_line.h"
#include "bench/harness/machine.h"
#include "bench/harness/other_load.h"
#include "bench/harness/peak.h"
#include "bench/harness/process_setup.h"
#include "bench/models/generator/models.h"
#include "bench/models/model_run.h"
#include "bench/models/nodes/node_case.h"
#include "bench/models/nodes/node_report.h"
#include "codegen/runtime/thread_pool.h"
#include "graph/onnx/model_inputs.h"

ABSL_FLAG(std::string, filter, "", "Regular expression: cases whose line it is found in.");
ABSL_FLAG(std::string, cases, "", "File with cases of your own, in place of the table.");
ABSL_FLAG(std::vector<std::string>, peers, std::vector<std::string>({"onnxruntime", "openvino"}),
          "What to compare with.");
ABSL_FLAG(double, seconds, 1, "Time for one case, in which all implementations take turns.");
ABSL_FLAG(int, sets, 3, "Sets of random inputs, which runs rotate over.");
ABSL_FLAG(bool, symbolic, false, "Only cases with a batch, each also with a symbolic one.");
ABSL_FLAG(int, threads, 0, "Threads of every implementation; 0 for one per available CPU.");
ABSL_FLAG(int, slowest, 30, "How many of the slowest cases are printed.");
ABSL_FLAG(std::string, files, "", "Folder to write the models to, 0.onnx and so on; nothing is measured.");
ABSL_FLAG(std::string, json, "", "File to write the results to as JSON.");
ABSL_FLAG(std::string, markdown, "", "File to write the page of the slowest to.");
ABSL_FLAG(std::string, remark, "", "A sentence for that page: what else the machine did.");

namespace tilewright::bench {
namespace {

namespace fs = std::filesystem;

constexpr char kSymbolicName[] = "tilewright-symbolic";
// A node takes microseconds to milliseconds.
constexpr int64_t kBlockNanoseconds = 50'000'000;

int Fail(int status, const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return status;
}

// The files of the table, which Bazel puts among the program's run files.
absl::StatusOr<std::vector<std::string>> TableFiles() {
  if (const std::string given = absl::GetFlag(FLAGS_cases); !given.empty()) {
    return std::vector<std::string>{AbsolutePath(given)};
  }
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(program + ".runfiles/tilewright/bench/models/nodes/cases", error)) {
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  if (files.empty()) return absl::NotFoundError("there is no table of cases; start the program with bazel, or --cases");
  return files;
}

absl::StatusOr<std::vector<NodeCase>> ChooseCases() {
  TW_ASSIGN_OR_RETURN(const std::vector<std::string> files, TableFiles());
  std::regex filter;
  try {
    filter = std::regex(absl::GetFlag(FLAGS_filter));
  } catch (const std::regex_error&) {
    return absl::InvalidArgumentError(
        absl::StrCat("--filter=", absl::GetFlag(FLAGS_filter), " is not a regular expression"));
  }
  std::vector<NodeCase> chosen;
  for (const std::string& file : files) {
    TW_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    auto cases = ParseNodeCases(text);
    if (!cases.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ": ", cases.status().message()));
    for (NodeCase& one : *cases) {
      if (absl::GetFlag(FLAGS_symbolic) && !one.has_batch()) continue;
      if (std::regex_search(one.text, filter)) chosen.push_back(std::move(one));
    }
  }
  if (chosen.empty()) return absl::NotFoundError("no case is left to measure");
  return chosen;
}

// Writes the case's inputs; gives a folder for each set.
absl::StatusOr<std::vector<std::string>> WriteInputs(const NodeCase& node, const std::string& folder) {
  std::vector<std::string> sets;
  for (int set = 0; set < absl::GetFlag(FLAGS_sets); ++set) {
    sets.push_back(absl::StrCat(folder, "/in", set));
    std::error_code error;
    fs::create_directory(sets.back(), error);
    const std::vector<NDArray> arrays = node.Arrays(static_cast<uint64_t>(set) + 1);
    for (size_t i = 0; i < arrays.size(); ++i) {
      TW_RETURN_IF_ERROR(WriteNpy(arrays[i], graph::ArrayPath(sets.back(), node.inputs[i].name)));
    }
  }
  return sets;
}

class Nodes {
 public:
  Nodes(runtime::ThreadPool& pool, std::vector<int> cpus) : pool_(pool), cpus_(std::move(cpus)), gauge_(pool) {}

  absl::Status Measure(const NodeCase& node) {
    TW_ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::Make());
    TW_ASSIGN_OR_RETURN(std::vector<std::string> sets, WriteInputs(node, folder.path()));
    const std::string file = folder.path() + "/node.onnx", symbolic = folder.path() + "/symbolic.onnx";
    TW_RETURN_IF_ERROR(WriteModel(node.model, file));
    ModelRun run({.name = node.text, .file = file}, pool_, cpus_, gauge_,
                 {.target = HostTarget(),
                  .peers = absl::GetFlag(FLAGS_peers),
                  .seconds = absl::GetFlag(FLAGS_seconds),
                  .block_nanoseconds = kBlockNanoseconds,
                  .tolerance = node.tolerance,
                  .given = std::move(sets),
                  .always_own_reference = false,
                  .profile = false,
                  .processes = &processes_});
    if (absl::GetFlag(FLAGS_symbolic)) {
      TW_RETURN_IF_ERROR(WriteModel(node.Symbolic(), symbolic));
      run.AddVariant(kSymbolicName, symbolic);
    }
    for (ModelResult& result : run.Run()) {
      if (result.implementation == kSymbolicName) result.symbolic = node.Batch();
      if (result.own() && !result.ok()) {
        std::fprintf(stderr, "error: %s: %s: %s\n", result.implementation.c_str(), node.text.c_str(),
                     result.error.c_str());
        failed_ = true;
      }
      results_.push_back(std::move(result));
    }
    return absl::OkStatus();
  }

  const std::vector<ModelResult>& results() const { return results_; }
  bool failed() const { return failed_; }

 private:
  runtime::ThreadPool& pool_;
  const std::vector<int> cpus_;
  SpeedGauge gauge_;
  PeerProcesses processes_;
  std::vector<ModelResult> results_;
  bool failed_ = false;
};

// Models and, by --symbolic, those with a symbolic batch; prints which case each file is.
absl::Status WriteModels(const std::vector<NodeCase>& cases, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string file = absl::StrCat(folder, "/", i, ".onnx");
    TW_RETURN_IF_ERROR(WriteModel(absl::GetFlag(FLAGS_symbolic) ? cases[i].Symbolic() : cases[i].model, file));
    std::printf("%s  %s\n", file.c_str(), cases[i].text.c_str());
  }
  return absl::OkStatus();
}

absl::Status WriteIfNamed(const std::string& path, const std::string& text) {
  return path.empty() ? absl::OkStatus() : WriteFile(AbsolutePath(path), text);
}

int Main(const std::vector<std::string>& arguments, char** argv) {
  if (absl::GetFlag(FLAGS_sets) < 1) return Fail(2, "--sets must be positive");
  const auto cases = ChooseCases();
  if (!cases.ok()) return Fail(2, std::string(cases.status().message()));
  if (const std::string folder = absl::GetFlag(FLAGS_files); !folder.empty()) {
    const absl::Status written = WriteModels(*cases, AbsolutePath(folder));
    return written.ok() ? 0 : Fail(1, std::string(written.message()));
  }
  const absl::StatusOr<std::vector<int>> cpus = SetUpProcess(absl::GetFlag(FLAGS_threads), argv);
  if (!cpus.ok()) return Fail(2, std::string(cpus.status().message()));
  const int num_threads = static_cast<int>(cpus->size());
  runtime::ThreadPool pool({.num_threads = num_threads, .cpus = *cpus});
  Report head = {.machine = DescribeMachine(num_threads),
                 .peak = MeasurePeak(pool),
                 .commit = CurrentCommit(),
                 .command = absl::StrCat("bazel run -c opt //bench:nodes -- ", absl::StrJoin(arguments, " "))};
  const OtherLoad other_load;
  Nodes nodes(pool, *cpus);
  for (size_t i = 0; i < cases->size(); ++i) {
    std::fprintf(stderr, "%zu of %zu: %s\n", i + 1, cases->size(), (*cases)[i].text.c_str());
    const absl::Status measured = nodes.Measure((*cases)[i]);
    if (!measured.ok()) return Fail(1, std::string(measured.message()));
  }
  head.other_load = other_load.Share();
  const int slowest = absl::GetFlag(FLAGS_slowest);
  std::fputs(NodesToText(head, nodes.results(), slowest).c_str(), stdout);
  absl::Status written = WriteIfNamed(absl::GetFlag(FLAGS_json), ModelsToJson(head, nodes.results()));
  written.Update(WriteIfNamed(absl::GetFlag(FLAGS_markdown),
                              NodesToMarkdown(head, nodes.results(), slowest, absl::GetFlag(FLAGS_remark))));
  if (!written.ok()) return Fail(1, std::string(written.message()));
  return nodes.failed() ? Fail(1, "some results were wrong or missing; see the report") : 0;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  using namespace tilewright::bench;  // NOLINT(build/namespaces): main() cannot be in it.
  absl::SetProgramUsageMessage(
      "Measures models of one node of every operator against other engines.\n"
      "  nodes --filter='^Conv ' --seconds=2\n"
      "  nodes --symbolic --json=results.json");
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) return Fail(2, absl::StrCat("unexpected argument '", rest[1], "'"));
  return Main(arguments, argv);
}

// Measures programs of users: each program file against plain loops in C beside it, in one process, in turns, on the
// same data, results compared; and against the bandwidth of the cache level that holds its arrays. See README.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/tune/list_candidates.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "bench/harness/bandwidth.h"
#include "bench/harness/kept_workspace.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/harness/other_load.h"
#include "bench/harness/process_setup.h"
#include "bench/operators/choose_schedule.h"
#include "bench/peers/plain_c.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/functor.h"
#include "ir/ndarray.h"
#include "ir/script/parser.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::vector<std::string>, files, {"examples/operators"},
          "Program files, each with plain loops in a .c file beside it or without; a folder stands for those in it.");
ABSL_FLAG(double, seconds, 24, "Time for one file: a sixth of it, 4 at most, measures, the rest tunes.");
ABSL_FLAG(bool, tune, true, "Whether to tune; otherwise records of --db are used, and rules where there are none.");
ABSL_FLAG(std::string, db, "", "Tuning database: what was measured before is used, what is measured is kept.");
ABSL_FLAG(uint64_t, seed, 0, "Of the tuning's choices.");
ABSL_FLAG(int, threads, 0, "Threads of both sides; 0 for one per available CPU.");
ABSL_FLAG(std::string, cc, "clang-19", "The C compiler, with flags of your own.");
ABSL_FLAG(std::string, json, "", "File to write the results to as JSON.");

namespace tilewright::bench {
namespace {

// Largest difference of the two results, as a part of the largest magnitude: sums in another order.
constexpr double kTolerance = 1e-4;

struct Row {
  std::string file, error;
  bool tensorized = false;
  double own_ms = 0;
  double c_ms = 0, fast_c_ms = 0;  // without and with kFastMath; 0: no plain loops
  double gflops = 0;
  std::string level;
  double bandwidth = 0;  // the time of moving its arrays' bytes, over its own
  double difference = 0;
  int64_t trials = 0;
};

// The files of the command line; a path is one of the user's folder or, as the default is, of the program's own.
absl::StatusOr<std::vector<std::string>> ProgramFiles(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::string path = std::filesystem::exists(AbsolutePath(name)) ? AbsolutePath(name) : name;
    if (!std::filesystem::exists(path)) return absl::NotFoundError(absl::StrCat("there is no file ", name));
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".py") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Arrays of a program's parameters with the same numbers every time.
absl::StatusOr<std::vector<NDArray>> MakeArrays(const Function& main) {
  std::vector<NDArray> arrays;
  for (const Param& param : main->params) {
    if (!param.buffer) return absl::InvalidArgumentError("a parameter is a scalar");
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) {
      const auto value = AsInt(extent);
      if (!value)
        return absl::InvalidArgumentError(absl::StrCat("the shape of ", param.buffer->name, " is not constant"));
      shape.push_back(*value);
    }
    arrays.emplace_back(param.buffer->dtype, std::move(shape));
    FillUniform(arrays.back(), arrays.size());
  }
  return arrays;
}

// Which parameters the program's blocks read and write.
struct ParamUse {
  bool read = false, written = false;
};
std::vector<ParamUse> UsesOfParams(const Function& main) {
  std::vector<ParamUse> uses(main->params.size());
  PreOrder(main->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return true;
    for (size_t i = 0; i < uses.size(); ++i) {
      for (const BufferRegion& region : realize->block->reads) {
        uses[i].read |= region.buffer.same_as(main->params[i].buffer);
      }
      for (const BufferRegion& region : realize->block->writes) {
        uses[i].written |= region.buffer.same_as(main->params[i].buffer);
      }
    }
    return true;
  });
  return uses;
}

// What takes turns. Results stay in its tensors.
class TensorsRunner : public Runner {
 public:
  // With copies of the arrays, in their order.
  explicit TensorsRunner(const std::vector<NDArray>& arrays) : arrays_(arrays) {
    for (const NDArray& array : arrays_) {
      memory_.push_back(*runtime::Tensor::Allocate(runtime::kUInt8, {array.bytes()}));
      std::memcpy(data(memory_.size() - 1), array.data(), static_cast<size_t>(array.bytes()));
    }
  }
  void SpoilOutput(int) override {}
  absl::Status CopyOutput(int, runtime::Tensor&) override { return absl::UnimplementedError("Result() has it"); }
  NDArray Result(size_t array) const {
    NDArray result(arrays_[array].dtype(), arrays_[array].shape());
    std::memcpy(result.data(), memory_[array].data<char>(), static_cast<size_t>(result.bytes()));
    return result;
  }

 protected:
  void* data(size_t array) { return memory_[array].data<char>(); }

  const std::vector<NDArray>& arrays_;

 private:
  std::vector<runtime::Tensor> memory_;
};

class CRunner : public TensorsRunner {
 public:
  CRunner(PlainC code, const std::vector<NDArray>& arrays, runtime::ThreadPool& pool)
      : TensorsRunner(arrays), code_(std::move(code)), pool_(pool) {
    for (size_t i = 0; i < arrays.size(); ++i) args_.push_back(data(i));
  }
  void Run(int) override { code_.Run(pool_, args_); }

 private:
  const PlainC code_;
  runtime::ThreadPool& pool_;
  std::vector<void*> args_;
};

class OwnRunner : public TensorsRunner {
 public:
  static absl::StatusOr<std::unique_ptr<OwnRunner>> Make(const Module& original, const Module& scheduled,
                                                         const Target& target, const std::vector<NDArray>& arrays,
                                                         runtime::ThreadPool& pool) {
    TW_ASSIGN_OR_RETURN(auto code, CompileAndLoad(scheduled, target));
    std::unique_ptr<OwnRunner> runner(new OwnRunner(std::move(code), arrays, pool));
    const Function main = original.Find("main");
    for (size_t i = 0; i < main->params.size(); ++i) {
      const NDArray& array = arrays[i];
      runner->tensors_.emplace(main->params[i].buffer->name,
                               runtime::Tensor::Borrow(runner->data(i), AbiType(array.dtype()), array.shape()));
    }
    TW_RETURN_IF_ERROR(PackConstants(*runner->code_, scheduled, runner->tensors_));
    for (const Param& param : scheduled.Find("main")->params) {
      runner->args_.push_back(runner->tensors_.at(param.buffer->name).abi());
    }
    return runner;
  }
  void Run(int) override { function_(&call_, args_.data(), static_cast<int32_t>(args_.size())); }
  absl::Status TryRun() { return code_->Run("main", args_, &hook_); }

 private:
  OwnRunner(std::unique_ptr<CompiledModule> code, const std::vector<NDArray>& arrays, runtime::ThreadPool& pool)
      : TensorsRunner(arrays),
        code_(std::move(code)),
        function_(code_->Find("main")),
        hook_(pool.hook()),
        workspace_(*code_, "main"),
        call_(workspace_.Call(&hook_)) {}

  const std::unique_ptr<CompiledModule> code_;
  const TwFunction function_;
  const TwParallelHook hook_;
  KeptWorkspace workspace_;
  const TwCall call_;
  std::map<std::string, runtime::Tensor> tensors_;
  std::vector<TwTensor*> args_;
};

double LargestMagnitude(const NDArray& array) {
  double largest = 1e-30;
  for (int64_t i = 0; i < array.size(); ++i) largest = std::max(largest, std::fabs(array.Get(i)));
  return largest;
}

class ExampleRun {
 public:
  ExampleRun(const std::vector<LevelBandwidth>& levels, const std::vector<int>& cpus, runtime::ThreadPool& pool)
      : levels_(levels), cpus_(cpus), pool_(pool), target_(HostTarget()) {
    target_.cores = static_cast<int>(cpus.size());
  }

  absl::Status Measure(const std::string& path, Row& row) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    TW_ASSIGN_OR_RETURN(const auto module, ParseModule(text.str(), path));
    const Function main = module.Find("main");
    if (!main) return absl::InvalidArgumentError("there is no function main");
    TW_ASSIGN_OR_RETURN(auto arrays, MakeArrays(main));

    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const double measure_seconds = std::min(4.0, absl::GetFlag(FLAGS_seconds) / 6);
    const bool tune = absl::GetFlag(FLAGS_tune);
    TW_ASSIGN_OR_RETURN(const auto tuned,
                        ChooseSchedule(module, target_, &intrins,
                                       {.seconds = tune ? absl::GetFlag(FLAGS_seconds) - measure_seconds : 0,
                                        .database = AbsolutePath(absl::GetFlag(FLAGS_db)),
                                        .seed = absl::GetFlag(FLAGS_seed),
                                        .caches = Caches::kWarm},
                                       cpus_));
    row.trials = tuned.trials;
    TW_ASSIGN_OR_RETURN(auto own, OwnRunner::Make(module, tuned.module, target_, arrays, pool_));
    TW_RETURN_IF_ERROR(own->TryRun());
    std::vector<Runner*> runners = {own.get()};
    std::vector<std::unique_ptr<CRunner>> c;
    if (const std::string source = std::filesystem::path(path).replace_extension(".c");
        std::filesystem::exists(source)) {
      for (const char* flags : {"", kFastMath}) {
        TW_ASSIGN_OR_RETURN(
            auto code, PlainC::Compile(source, absl::StrCat(absl::GetFlag(FLAGS_cc), " ", kPlainCFlags, " ", flags)));
        c.push_back(std::make_unique<CRunner>(std::move(code), arrays, pool_));
        c.back()->Run(0);
        TW_RETURN_IF_ERROR(Compare(main, *own, *c.back(), row));
        runners.push_back(c.back().get());
      }
    }
    TrafficRunner traffic(TrafficOf(main, arrays), pool_);
    runners.push_back(&traffic);
    const std::vector<Timing> timings = MeasureAlternating(runners, {.seconds = measure_seconds});
    row.own_ms = timings[0].median_ms;
    row.bandwidth = timings.back().median_ms / row.own_ms;
    if (!c.empty()) {
      row.c_ms = timings[1].median_ms;
      row.fast_c_ms = timings[2].median_ms;
    }
    const auto plain = BlocksWithoutIntrinsic(module, target_, &intrins);
    row.tensorized = HasTensorBlock(module, intrins, plain.size());
    Describe(main, arrays, row);
    return absl::OkStatus();
  }

 private:
  // Whether some intrinsic computes some block.
  bool HasTensorBlock(const Module& module, IntrinRegistry& intrins, size_t without) {
    const std::string candidates = ListCandidates(module, target_, &intrins);
    size_t blocks = 0;
    for (const auto line : absl::StrSplit(candidates, '\n')) blocks += line.substr(0, 6) == "block ";
    return blocks > without;
  }

  static absl::Status Compare(const Function& main, const TensorsRunner& own, const TensorsRunner& other, Row& row) {
    const std::vector<ParamUse> uses = UsesOfParams(main);
    for (size_t i = 0; i < uses.size(); ++i) {
      if (!uses[i].written) continue;
      const NDArray a = own.Result(i), b = other.Result(i);
      const double difference = MaxError(a, b).max_abs / LargestMagnitude(b);
      row.difference = std::max(row.difference, difference);
      if (difference < kTolerance) continue;
      return absl::DataLossError(absl::StrFormat("the results differ by %g of the largest magnitude", difference));
    }
    return absl::OkStatus();
  }

  static Traffic TrafficOf(const Function& main, const std::vector<NDArray>& arrays) {
    const std::vector<ParamUse> uses = UsesOfParams(main);
    Traffic traffic;
    for (size_t i = 0; i < uses.size(); ++i) {
      (uses[i].written ? uses[i].read ? traffic.changed : traffic.written : traffic.read) += arrays[i].bytes();
    }
    return traffic;
  }

  void Describe(const Function& main, const std::vector<NDArray>& arrays, Row& row) const {
    int64_t bytes = 0;
    for (const NDArray& array : arrays) bytes += array.bytes();
    row.level = LevelThatHolds(levels_, bytes).level;
    row.gflops = 2e-6 * SpeedOfLightOf(main, target_).multiply_adds / row.own_ms;
  }

  const std::vector<LevelBandwidth>& levels_;
  const std::vector<int>& cpus_;
  runtime::ThreadPool& pool_;
  Target target_;
};

std::string Table(const std::vector<Row>& rows) {
  std::string text = absl::StrFormat("%-28s %-8s %10s %10s %9s %10s %9s %9s %-7s %10s\n", "file", "blocks", "ours ms",
                                     "C ms", "C / ours", "fast C ms", "C / ours", "GFLOP/s", "level", "bandwidth");
  for (const Row& row : rows) {
    if (!row.error.empty()) {
      absl::StrAppendFormat(&text, "%-28s %s\n", row.file, row.error);
      continue;
    }
    const std::string c = row.c_ms > 0 ? absl::StrFormat("%10.5f %9.2f %10.5f %9.2f", row.c_ms, row.c_ms / row.own_ms,
                                                         row.fast_c_ms, row.fast_c_ms / row.own_ms)
                                       : absl::StrFormat("%10s %9s %10s %9s", "-", "-", "-", "-");
    absl::StrAppendFormat(&text, "%-28s %-8s %10.5f %s %9.1f %-7s %9.1f%%\n", row.file,
                          row.tensorized ? "tensor" : "vector", row.own_ms, c, row.gflops, row.level,
                          100 * row.bandwidth);
  }
  return text;
}

nlohmann::json ToJson(const std::vector<Row>& rows, const std::vector<LevelBandwidth>& levels, const Machine& machine,
                      double other_load, const std::string& command) {
  nlohmann::json results = nlohmann::json::array(), bandwidth = nlohmann::json::array();
  for (const LevelBandwidth& level : levels) {
    bandwidth.push_back(
        {{"level", level.level}, {"bytes", level.bytes}, {"read_gbs", level.read_gbs}, {"copy_gbs", level.copy_gbs}});
  }
  for (const Row& row : rows) {
    if (!row.error.empty()) {
      results.push_back({{"file", row.file}, {"error", row.error}});
      continue;
    }
    results.push_back({{"file", row.file},
                       {"tensorized", row.tensorized},
                       {"own_ms", row.own_ms},
                       {"gflops", row.gflops},
                       {"level", row.level},
                       {"part_of_bandwidth", row.bandwidth},
                       {"trials", row.trials}});
    if (row.c_ms == 0) continue;
    results.back().update({{"c_ms", row.c_ms},
                           {"ratio", row.c_ms / row.own_ms},
                           {"fast_c_ms", row.fast_c_ms},
                           {"fast_ratio", row.fast_c_ms / row.own_ms},
                           {"difference", row.difference}});
  }
  return {{"machine", {{"cpu", machine.cpu}, {"threads", machine.threads}, {"system", machine.system}}},
          {"commit", CurrentCommit()},
          {"command", command},
          {"c", absl::StrCat(absl::GetFlag(FLAGS_cc), " ", kPlainCFlags)},
          {"other_load", other_load},
          {"bandwidth", std::move(bandwidth)},
          {"results", std::move(results)}};
}

int Fail(int status, const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return status;
}

int Main(const std::string& command, char** argv) {
  const auto files = ProgramFiles(absl::GetFlag(FLAGS_files));
  if (!files.ok()) return Fail(2, std::string(files.status().message()));
  const auto cpus = SetUpProcess(absl::GetFlag(FLAGS_threads), argv);
  if (!cpus.ok()) return Fail(2, std::string(cpus.status().message()));
  runtime::ThreadPool pool({.num_threads = static_cast<int>(cpus->size()), .cpus = *cpus});
  const Machine machine = DescribeMachine(static_cast<int>(cpus->size()));
  const std::vector<LevelBandwidth> levels = MeasureBandwidth(pool, machine);
  std::printf("%d threads; C: %s %s, fast C: with %s\n", machine.threads, absl::GetFlag(FLAGS_cc).c_str(), kPlainCFlags,
              kFastMath);
  for (const LevelBandwidth& level : levels) {
    std::printf("%-7s %7.1f GB/s read, %7.1f GB/s copied\n", level.level.c_str(), level.read_gbs, level.copy_gbs);
  }
  std::fflush(stdout);

  const OtherLoad other_load;
  ExampleRun run(levels, *cpus, pool);
  std::vector<Row> rows;
  bool failed = false;
  for (size_t i = 0; i < files->size(); ++i) {
    const std::string name = std::filesystem::path((*files)[i]).filename();
    std::fprintf(stderr, "[%zu/%zu] %s\n", i + 1, files->size(), name.c_str());
    Row& row = rows.emplace_back();
    row.file = name;
    if (absl::Status status = run.Measure((*files)[i], row); !status.ok()) row.error = std::string(status.message());
    failed |= !row.error.empty();
  }
  std::fputs(Table(rows).c_str(), stdout);
  std::printf("other processes took %.1f%% of the CPU time\n", 100 * other_load.Share());
  if (const std::string path = AbsolutePath(absl::GetFlag(FLAGS_json)); !path.empty()) {
    std::ofstream file(path);
    file << ToJson(rows, levels, machine, other_load.Share(), command).dump(2) << "\n";
    if (!file.flush()) return Fail(1, absl::StrCat("cannot write ", path));
  }
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures programs against plain loops in C and against the caches' bandwidth.\n"
      "  examples --files=mine.py --seconds=30");
  const std::string command = absl::StrJoin(std::vector<std::string>(argv, argv + argc), " ");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) return tilewright::bench::Fail(2, absl::StrCat("unexpected argument '", rest[1], "'"));
  return tilewright::bench::Main(command, argv);
}

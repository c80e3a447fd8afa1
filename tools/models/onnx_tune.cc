#include "tools/models/onnx_tune.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autoschedule/database/database.h"
#include "autoschedule/measure/runner.h"
#include "base/status_macros.h"
#include "graph/executor/onnx_model.h"
#include "graph/tune/model_tasks.h"
#include "graph/tune/submit.h"
#include "graph/tune/tune_joins.h"
#include "graph/tune/tune_model.h"
#include "target/target.h"
#include "tools/command_line/flag_table.h"
#include "tools/command_line/flag_value.h"
#include "tools/interrupt.h"
#include "tools/models/onnx_file.h"

namespace tilewright {
namespace {

using graph::ExecutablePlan;
using graph::ModelTask;
using graph::OnnxModel;

// A value for each dimension that --dim names; where these have several, the first of each together, then the second.
absl::StatusOr<std::vector<std::map<std::string, int64_t>>> DimsToTune(const CommandArguments& args) {
  std::map<std::string, std::vector<int64_t>> named;
  size_t count = 1;
  for (const std::string& text : args.GetAll("--dim")) {
    const auto dim = ReadDim(text);
    const size_t sizes = dim->second.size();
    if (sizes > 1 && count > 1 && sizes != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", text, " has ", sizes, " sizes, and another dimension ", count));
    }
    count = std::max(count, sizes);
    named.emplace(dim->first, dim->second);
  }
  std::vector<std::map<std::string, int64_t>> result(count);
  for (size_t i = 0; i < count; ++i) {
    for (const auto& [name, sizes] : named) result[i][name] = sizes[sizes.size() == 1 ? 0 : i];
  }
  return result;
}

// The database whose records may change the plan. Jobs do not have one: they tune the same plan as who submits.
std::string DatabaseOfPlan(const CommandArguments& args) {
  return args.Has("--submit") ? "" : args.Get("--db").value_or("");
}

// The model's plan for some sizes; nothing of it is compiled.
absl::StatusOr<std::unique_ptr<OnnxModel>> PlanFor(const CommandArguments& args,
                                                   const std::map<std::string, int64_t>& dims, const Target& target,
                                                   graph::FusionReport* report) {
  TW_ASSIGN_OR_RETURN(auto file, ReadModel(args));
  graph::ExecutorOptions executor;
  executor.kernels.target = target;
  executor.kernels.use = graph::KernelUse::kExplain;
  executor.kernels.schedule = false;
  executor.kernels.database = DatabaseOfPlan(args);
  TW_ASSIGN_OR_RETURN(
      auto model, OnnxModel::Load(std::move(file),
                                  {.dims = dims, .executor = executor, .passes = PassesOf(args), .report = report}));
  if (model->executor().planned() == nullptr) {
    return absl::UnimplementedError(
        "the order of its calls depends on data (If, Loop, or operators whose results' extents do): it has no plan "
        "whose kernels could be tuned");
  }
  return model;
}

// A plan for each of the sizes; `report` receives what fusion decided for all.
absl::StatusOr<std::vector<std::unique_ptr<OnnxModel>>> PlansFor(const CommandArguments& args, const Target& target,
                                                                 graph::FusionReport* report) {
  TW_ASSIGN_OR_RETURN(const auto sizes, DimsToTune(args));
  std::vector<std::unique_ptr<OnnxModel>> models;
  for (const auto& dims : sizes) {
    TW_ASSIGN_OR_RETURN(models.emplace_back(), PlanFor(args, dims, target, report));
  }
  return models;
}

// `report` receives what was taken apart.
absl::StatusOr<std::vector<ModelTask>> TasksFor(const CommandArguments& args, const Target& target,
                                                graph::FusionReport* report) {
  TW_ASSIGN_OR_RETURN(const auto models, PlansFor(args, target, report));
  std::vector<const ExecutablePlan*> plans;
  for (const auto& model : models) plans.push_back(&model->executor().planned()->plan());
  // Tasks are measured, or projected, as their candidates are.
  return graph::TasksOf(plans, MeasuredTarget(target, args.Get("--launcher").value_or("")));
}

graph::ModelTuneOptions OptionsOf(const CommandArguments& args) {
  graph::ModelTuneOptions options{.launcher = args.Get("--launcher").value_or(""), .stop = Interrupt::Asked};
  if (const auto text = args.Get("--seconds")) (void)absl::SimpleAtod(*text, &options.seconds);
  if (const auto text = args.Get("--trials")) (void)absl::SimpleAtoi(*text, &options.trials);
  if (const auto text = args.Get("--seed")) (void)absl::SimpleAtoi(*text, &options.seed);
  if (args.Has("--cold-cache")) options.caches = Caches::kCold;
  if (args.Has("--warm-cache")) options.caches = Caches::kWarm;
  options.on_progress = [&args, seconds = options.seconds](const graph::ModelTuneProgress& now) {
    args.err() << absl::StrFormat("%4.0f s of %.0f: %s (%s), %.4g ms, was %.4g ms; all calls %.4g ms\n", now.seconds,
                                  seconds, now.task->name, now.task->kernels.front(), now.after * 1e3, now.before * 1e3,
                                  now.model_seconds * 1e3)
               << std::flush;
  };
  return options;
}

// Joined kernels are measured apart in this part of the time, or of the measurements.
constexpr double kShareOfJoins = 0.25;

// Measures joined kernels apart as long as plans that take the records have some to measure. What that took is no
// longer in `options`. Nothing without a database, which keeps what is decided, and where others have the plan.
absl::Status MeasureJoins(const CommandArguments& args, const Target& target, Database& database,
                          graph::ModelTuneOptions* options) {
  for (const char* flag : {"--keep-joins", "--submit", "--tasks", "--records"}) {
    if (args.Has(flag)) return absl::OkStatus();
  }
  graph::ModelTuneOptions part = *options;
  part.on_progress = {};
  part.trials = static_cast<int64_t>(kShareOfJoins * static_cast<double>(options->trials));
  if (!args.Has("--db") || (options->trials > 0 && part.trials == 0)) return absl::OkStatus();
  const Target measured = MeasuredTarget(target, options->launcher);
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  int joins = 0;
  while (true) {
    graph::FusionReport report;
    TW_RETURN_IF_ERROR(PlansFor(args, target, &report).status());
    part.seconds = kShareOfJoins * options->seconds - spent();
    TW_ASSIGN_OR_RETURN(const graph::JoinTuning tuning, graph::TuneJoins(report.joins, measured, database, part));
    joins += tuning.joins;
    for (const std::string& failure : tuning.failures) args.err() << "join not measured: " << failure << "\n";
    if (options->trials > 0) {
      options->trials -= std::min(tuning.trials, options->trials - 1);
      part.trials -= tuning.trials;
    }
    if (tuning.joins == 0 || part.trials < 0 || (options->trials > 0 && part.trials == 0)) break;
  }
  args.err() << "joined kernels measured apart: " << joins << "\n";
  options->seconds -= spent();
  return absl::OkStatus();
}

// Those of --tasks; an error names a workload that the model does not have.
absl::Status KeepNamedTasks(const CommandArguments& args, std::vector<ModelTask>* tasks) {
  const auto named = args.Get("--tasks");
  if (!named) return absl::OkStatus();
  std::set<uint64_t> kept;
  for (const std::string& text : WordsOf(*named, ',')) {
    TW_ASSIGN_OR_RETURN(const uint64_t workload, ParseHash(text));
    if (std::ranges::find(*tasks, workload, &ModelTask::workload) == tasks->end()) {
      return absl::InvalidArgumentError(absl::StrCat("the model has no kernel of workload ", text));
    }
    kept.insert(workload);
  }
  std::erase_if(*tasks, [&](const ModelTask& task) { return !kept.contains(task.workload); });
  return absl::OkStatus();
}

// Flags of the command that submits, which jobs do not get.
constexpr std::string_view kSubmitterFlags[] = {"--submit", "--jobs", "--db", "--tasks", "--records"};

// This command for some of the tasks, as a job runs it. The model and this program are there under the same paths.
std::string JobCommand(const CommandArguments& args, const std::vector<uint64_t>& workloads) {
  std::error_code error;
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe", error).string(), "tune",
                                    std::filesystem::absolute(args.operands()[0], error).string(), "--records"};
  std::vector<std::string> hashes;
  for (const uint64_t workload : workloads) hashes.push_back(HashText(workload));
  words.push_back(absl::StrCat("--tasks=", absl::StrJoin(hashes, ",")));
  for (const FlagRow& row : FlagsOf("tune")) {
    const std::string flag(row.flag);
    if ((row.kinds & kModels) == 0 || std::ranges::find(kSubmitterFlags, flag) != std::end(kSubmitterFlags)) continue;
    for (std::string value : args.GetAll(flag)) {
      // A target may be the path of its description.
      if (std::filesystem::exists(value, error)) value = std::filesystem::absolute(value, error).string();
      words.push_back(row.form == ValueForm::kSwitch ? flag : absl::StrCat(flag, "=", value));
    }
  }
  for (std::string& word : words) word = graph::ShellQuoted(word);
  return absl::StrJoin(words, " ");
}

// The tasks as jobs of --submit. Lost jobs are named in the failures.
absl::StatusOr<graph::ModelTuning> Submit(const CommandArguments& args, const std::vector<ModelTask>& tasks,
                                          const Target& target, Database& database,
                                          const graph::ModelTuneOptions& tune) {
  const RecordQuery query = graph::QueryOf(target, tune);
  graph::SubmitOptions options{
      .submit = *args.Get("--submit"),
      .command = [&](const std::vector<uint64_t>& workloads) { return JobCommand(args, workloads); },
      .stop = tune.stop,
      .on_event = [&](std::string_view event) { args.err() << event << "\n"
                                                           << std::flush; }};
  if (const auto text = args.Get("--jobs")) (void)absl::SimpleAtoi(*text, &options.jobs);
  TW_ASSIGN_OR_RETURN(const graph::SubmitResult result, graph::SubmitTasks(tasks, query, database, options));
  args.err() << result.records << " records of " << result.jobs << " jobs, " << result.requeued << " submitted again\n";
  graph::ModelTuning tuning{.stopped = tune.stop()};
  for (const std::string& refused : result.refused) tuning.failures.push_back(refused);
  for (const std::string& lost : result.lost) tuning.failures.push_back(absl::StrCat("lost: ", lost));
  for (const ModelTask& task : tasks) {
    TW_ASSIGN_OR_RETURN(const graph::TaskTimes times, graph::TimesOf(task, query, database));
    tuning.times.push_back(times);
  }
  return tuning;
}

}  // namespace

int TuneOnnx(const CommandArguments& args) {
  const Interrupt interrupt;
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) return RefuseOnnx(args, target.status().message());
  int status = kDone;
  if (OpenModel(args, &status) == nullptr) return status;
  const std::string path = args.Get("--db").value_or(":memory:");
  auto database = Database::Open(path);
  if (!database.ok()) return RefuseOnnx(args, database.status().message());
  if (!args.Has("--db") && !args.Has("--records"))
    args.err() << "what is measured is not kept: --db=PATH names a database\n";
  graph::ModelTuneOptions options = OptionsOf(args);
  if (absl::Status joins = MeasureJoins(args, *target, *database, &options); !joins.ok()) {
    return RefuseOnnx(args, joins.message());
  }
  graph::FusionReport apart;
  auto tasks = TasksFor(args, *target, &apart);
  if (!tasks.ok()) return RefuseOnnx(args, tasks.status().message());
  if (absl::Status kept = KeepNamedTasks(args, &*tasks); !kept.ok()) return RefuseOnnx(args, kept.message());
  int64_t records = 0;
  if (args.Has("--records")) {
    options.on_record = [&](const TuningRecord& record) {
      args.out() << ToJson(record) << "\n" << std::flush;
      ++records;
    };
  }
  const Target measured = MeasuredTarget(*target, options.launcher);
  args.err() << tasks->size() << " kernels to tune\n";
  const auto tuning = args.Has("--submit") ? Submit(args, *tasks, measured, *database, options)
                                           : graph::TuneModel(*tasks, measured, *database, options);
  for (const std::string& record : database->damaged()) args.err() << record << "\n";
  if (!tuning.ok()) return RefuseOnnx(args, tuning.status().message());
  for (const std::string& failure : tuning->failures) args.err() << "not tuned: " << failure << "\n";
  if (tuning->stopped) {
    args.err() << "interrupted: "
               << (args.Has("--db")
                       ? absl::StrCat("what was measured is in ", path, ", and the same command goes on from there")
                       : "this is what was found so far")
               << "\n";
  }
  if (IsEmulated(measured, options.launcher))
    args.err() << "times are projected: no code ran on " << target->name << "\n";
  (args.Has("--records") ? args.err() : args.out()) << ToString(*tuning, *tasks) << MeasuredApart(args, apart);
  if (args.Has("--records")) args.out() << graph::EndOfRecords(records) << "\n" << std::flush;
  return args.Has("--submit") && !tuning->failures.empty() ? kRefused : kDone;
}

}  // namespace tilewright

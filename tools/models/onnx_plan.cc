#include "tools/models/onnx_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/program/top_nests.h"
#include "base/files.h"
#include "codegen/abi/c_symbol.h"
#include "graph/executor/export_model.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/scheduled_kernel.h"
#include "graph/fusion/fuse_kernels.h"
#include "graph/rewrite/pass.h"
#include "ir/script/printer.h"
#include "nlohmann/json.hpp"
#include "schedule/layout/hoist_prepack.h"
#include "target/target.h"
#include "tools/models/onnx_file.h"
#include "tools/programs/explanation.h"
#include "tools/timings/load_report.h"

namespace tilewright {
namespace {

using graph::OnnxModel;
using graph::PlannedFunction;

constexpr char kNoPlan[] =
    "the order of its calls depends on data (If, Loop, or operators whose results' extents do): it has no plan, and "
    "runs by `run` only";

// The model of the first operand for a target, compiled where that is the host; for other targets `use` says what for.
// Reports what is wrong, and gives null and the exit status.
std::unique_ptr<OnnxModel> LoadOnnx(const CommandArguments& args, const graph::KernelCache* cache, const Target& target,
                                    graph::KernelUse use, int* status, graph::FusionReport* report = nullptr) {
  std::unique_ptr<graph::ModelFile> file = OpenModel(args, status);
  if (file == nullptr) return nullptr;
  const graph::PassContext passes = PassesOf(args);
  graph::ExecutorOptions executor = ExecutorOptionsOf(args, cache);
  // What is exported does not run here, whatever the target.
  if (target.name != HostTarget().name || use == graph::KernelUse::kExport) executor.kernels.use = use;
  executor.kernels.target = target;
  graph::FusionReport apart{.anew = false};
  auto model = OnnxModel::Load(std::move(file), {.dims = DimsOf(args),
                                                 .likely = LikelyOf(args),
                                                 .executor = executor,
                                                 .passes = passes,
                                                 .report = report != nullptr ? report : &apart,
                                                 .as_library = use == graph::KernelUse::kExport});
  args.err() << MeasuredApart(args, apart);
  if (model.ok()) return *std::move(model);
  *status = RefuseOnnx(args, model.status().message());
  return nullptr;
}

std::string Bytes(int64_t bytes) {
  if (bytes < 10'000) return absl::StrCat(bytes, " B");
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / 1048576);
}

std::string ShapeOf(const graph::PlanTensor& tensor) {
  std::vector<std::string> extents;
  for (const Expr& extent : tensor.shape) {
    const auto value = AsInt(extent);
    extents.push_back(value ? absl::StrCat(*value) : "*");
  }
  return absl::StrCat(tensor.dtype.ToString(), "[", absl::StrJoin(extents, ", "), "]");
}

struct KernelFacts {
  int calls = 0;
  int nests = 0;
  double seconds = 0;
  std::string limiter;
  bool by_record = false;
  std::vector<std::string> refused;  // by structures that the rules prefer
};

// What the cost model says about each kernel; extents that are symbols count as it takes them.
std::vector<KernelFacts> FactsOf(const PlannedFunction& function, const Target& target, const std::string& database) {
  std::vector<KernelFacts> facts(function.plan().programs.size());
  for (const graph::PlanStep& step : function.plan().steps) ++facts[static_cast<size_t>(step.program)].calls;
  for (size_t i = 0; i < facts.size(); ++i) {
    const graph::KernelSource& source = function.plan().programs[i];
    const graph::PrimFunc canonical = graph::CanonicalProgram(source.program);
    const auto scheduled = graph::ScheduleKernel(canonical, source.constant, target, database);
    const bool good = scheduled.ok() && function.kernels()[i].scheduled;
    const graph::PrimFunc runs = good ? scheduled->module.Find(graph::kKernelMain) : canonical;
    const Projection projection = Project(runs, target);
    facts[i].nests = CountTopNests(runs);
    facts[i].seconds = projection.seconds;
    facts[i].limiter = projection.limiter;
    facts[i].by_record = good && scheduled->by_record;
    if (good) facts[i].refused = scheduled->refused;
  }
  return facts;
}

void PrintPlan(std::ostream& out, const PlannedFunction& function, const std::vector<KernelFacts>& facts) {
  const graph::ExecutablePlan& plan = function.plan();
  out << absl::StrFormat("%5s  %-9s %5s %-32s %10s  %-12s %s\n", "call", "kernel", "nests", "value", "projected",
                         "limiter", "result");
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const graph::PlanStep& step = plan.steps[s];
    const auto kernel = static_cast<size_t>(step.program);
    std::vector<std::string> results;
    for (size_t i = step.num_inputs; i < step.tensors.size(); ++i) {
      results.push_back(ShapeOf(plan.tensors[static_cast<size_t>(step.tensors[i])]));
    }
    out << absl::StrFormat("%5d  k%-8d %5d %-32s %7.1f us  %-12s %s%s\n", s, kernel, facts[kernel].nests,
                           plan.steps[s].name, facts[kernel].seconds * 1e6, facts[kernel].limiter,
                           absl::StrJoin(results, ", "),
                           !function.kernels()[kernel].scheduled ? "  (as written: its schedule does not compile)"
                           : facts[kernel].by_record             ? "  (record)"
                                                                 : "");
  }
}

// A line for each block of a kernel that the preferred structure refuses, and another one schedules.
void PrintRefused(std::ostream& out, const std::vector<KernelFacts>& facts) {
  for (size_t i = 0; i < facts.size(); ++i) {
    for (const std::string& refused : facts[i].refused) {
      out << "k" << i << ": the preferred sketch refuses a block: " << refused << "\n";
    }
  }
}

// FOLDER/kN.py for each kernel: the program that is scheduled, with its constant parameters marked.
absl::Status WritePrograms(const std::string& folder, const PlannedFunction& function) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::vector<graph::KernelSource>& programs = function.plan().programs;
  for (size_t i = 0; i < programs.size(); ++i) {
    std::vector<int> constants;
    for (size_t p = 0; p < programs[i].constant.size(); ++p) {
      if (programs[i].constant[p]) constants.push_back(static_cast<int>(p));
    }
    const std::string path = absl::StrCat(folder, "/k", i, ".py");
    TW_RETURN_IF_ERROR(
        WriteFile(path, Print(constants.empty() ? programs[i].program : MarkConstant(programs[i].program, constants))));
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

// What a model's plan is projected to take.
struct PlanSummary {
  double seconds = 0;
  int nests = 0;
  std::map<std::string, double> by_limiter;  // seconds
};

PlanSummary Summarize(const std::vector<KernelFacts>& facts) {
  PlanSummary summary;
  for (const KernelFacts& kernel : facts) {
    summary.seconds += kernel.calls * kernel.seconds;
    summary.nests += kernel.calls * kernel.nests;
    summary.by_limiter[kernel.limiter] += kernel.calls * kernel.seconds;
  }
  return summary;
}

void PrintSummary(const PlannedFunction& planned, const PlanSummary& summary, size_t kernels, const Target& target,
                  std::ostream& out) {
  out << planned.plan().steps.size() << " calls of " << kernels << " kernels, " << summary.nests
      << (target.is_gpu() ? " launches" : " loop nests") << ", projected "
      << absl::StrFormat("%.3g ms", summary.seconds * 1e3) << " on " << target.name << "\n";
  for (const auto& [limiter, part] : summary.by_limiter) {
    out << absl::StrFormat("  limited by %-14s %5.1f%%\n", limiter,
                           summary.seconds > 0 ? 100 * part / summary.seconds : 0);
  }
  out << "constants " << Bytes(planned.constants().bytes()) << "\n";
}

void PrintSlowKernels(const graph::Executor& executor, std::ostream& out) {
  for (const graph::SlowKernel& kernel : executor.slow_kernels()) {
    out << "slow: " << kernel.name << ", " << kernel.calls << (kernel.calls == 1 ? " call of " : " calls of ")
        << kernel.pace.ToString() << "\n";
  }
}

nlohmann::json ToJson(const graph::Executor& executor, const PlannedFunction& planned,
                      const std::vector<KernelFacts>& facts, const Target& target) {
  const PlanSummary summary = Summarize(facts);
  nlohmann::json json = {{"target", target.name},
                         {"engine", "model"},
                         {"threads", target.cores},
                         {"kernels", facts.size()},
                         {"projected_seconds", summary.seconds},
                         {"limiters", summary.by_limiter},
                         {"constant_bytes", planned.constants().bytes()},
                         {"calls", nlohmann::json::array()},
                         {"slow", nlohmann::json::array()}};
  for (const graph::PlanStep& step : planned.plan().steps) {
    const KernelFacts& kernel = facts[static_cast<size_t>(step.program)];
    json["calls"].push_back({{"value", step.name},
                             {"kernel", step.program},
                             {"nests", kernel.nests},
                             {"record", kernel.by_record},
                             {"projected_seconds", kernel.seconds},
                             {"limiter", kernel.limiter}});
  }
  for (const graph::SlowKernel& kernel : executor.slow_kernels()) {
    json["slow"].push_back({{"value", kernel.name},
                            {"calls", kernel.calls},
                            {"seconds", kernel.pace.pace.seconds},
                            {"speed_of_light_seconds", kernel.pace.pace.limit_seconds},
                            {"limiter", kernel.pace.pace.limiter},
                            {"reason", kernel.pace.why_not}});
  }
  return json;
}

std::string Plural(int64_t count, const char* noun) { return absl::StrCat(count, " ", noun, count == 1 ? "" : "s"); }

// The same as the text, in sections: the whole, what limits it, its kernels, its calls.
Explanation ExplanationOf(const PlannedFunction& planned, const std::vector<KernelFacts>& facts, const Target& target,
                          const std::string& title) {
  const PlanSummary summary = Summarize(facts);
  const graph::ExecutablePlan& plan = planned.plan();
  const auto part = [&](std::string name, double seconds, const std::string& remark) {
    const double share = summary.seconds > 0 ? seconds / summary.seconds : 0;
    return ExplanationSection::Row{
        std::move(name), absl::StrFormat("%-9s %5.1f%%  %s", Quantity(seconds, "s"), 100 * share, remark), share};
  };
  ExplanationSection whole{title + " on " + target.name, {}}, limits{"Limiters", {}}, kernels{"Kernels", {}},
      calls{"Calls in their order", {}};
  whole.rows = {{"projected", Quantity(summary.seconds, "s")},
                {"calls", absl::StrCat(Plural(static_cast<int64_t>(plan.steps.size()), "call"), " of ",
                                       Plural(static_cast<int64_t>(facts.size()), "kernel"))},
                {target.is_gpu() ? "launches" : "loop nests", absl::StrCat(summary.nests)},
                {"constants", Bytes(planned.constants().bytes())}};
  for (const auto& [limiter, seconds] : summary.by_limiter) limits.rows.push_back(part(limiter, seconds, ""));
  std::vector<std::string> names(facts.size());
  for (const graph::PlanStep& step : plan.steps) names[static_cast<size_t>(step.program)] = step.name;
  for (size_t i = 0; i < facts.size(); ++i) {
    kernels.rows.push_back(part(
        absl::StrCat("k", i, " ", names[i]), facts[i].calls * facts[i].seconds,
        absl::StrCat(Plural(facts[i].calls, "call"), ", ", facts[i].limiter, facts[i].by_record ? ", a record" : "")));
  }
  std::ranges::sort(kernels.rows,
                    [](const auto& a, const auto& b) { return std::tie(b.share, a.name) < std::tie(a.share, b.name); });
  for (const graph::PlanStep& step : plan.steps) {
    const KernelFacts& kernel = facts[static_cast<size_t>(step.program)];
    std::vector<std::string> results;
    for (size_t i = step.num_inputs; i < step.tensors.size(); ++i) {
      results.push_back(ShapeOf(plan.tensors[static_cast<size_t>(step.tensors[i])]));
    }
    calls.rows.push_back(
        part(step.name, kernel.seconds, absl::StrCat("k", step.program, "  ", absl::StrJoin(results, ", "))));
  }
  return {{whole, limits, kernels, calls}};
}

// Writes the page of --html, if there is one to write.
int WritePage(const CommandArguments& args, const graph::Executor& executor, std::vector<Explanation> parts,
              const std::string& joins) {
  const auto path = args.Get("--html");
  if (!path) return kDone;
  ExplainedFile file{
      .title = args.operands()[0], .parts = std::move(parts), .texts = {{"Why kernels were joined", joins}}};
  std::ostringstream slow;
  PrintSlowKernels(executor, slow);
  for (const absl::string_view line : absl::StrSplit(slow.str(), '\n', absl::SkipEmpty())) {
    file.remarks.emplace_back(line);
  }
  const absl::Status written = WriteFile(*path, ExplanationPage(file));
  return written.ok() ? kDone : RefuseOnnx(args, written.message());
}

// A model whose order of calls depends on data: parts with plans, and what the host runs between them.
int ExplainSteps(const CommandArguments& args, const graph::Executor& executor, const Target& target) {
  if (args.Has("--programs")) return RefuseOnnx(args, kNoPlan);
  nlohmann::json json = {
      {"target", target.name}, {"engine", "model"}, {"threads", target.cores}, {"steps", nlohmann::json::array()}};
  std::ostringstream text;
  std::vector<Explanation> explained;
  int parts = 0;
  for (const graph::ExecutorStep& step : executor.steps()) {
    if (step.part == nullptr) {
      json["steps"].push_back({{"host", step.host}});
      text << "host: " << step.host << "\n";
      continue;
    }
    const std::vector<KernelFacts> facts = FactsOf(*step.part, target, args.Get("--db").value_or(""));
    json["steps"].push_back({{"part", step.part->plan().name}, {"plan", ToJson(executor, *step.part, facts, target)}});
    text << "part " << step.part->plan().name << ": ";
    PrintSummary(*step.part, Summarize(facts), facts.size(), target, text);
    if (args.Has("--plan")) PrintPlan(text, *step.part, facts);
    explained.push_back(ExplanationOf(*step.part, facts, target, "Part " + step.part->plan().name));
    ++parts;
  }
  if (const int status = WritePage(args, executor, std::move(explained), ""); status != kDone) return status;
  if (args.Has("--json")) {
    args.out() << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return kDone;
  }
  args.out() << parts << (parts == 1 ? " part" : " parts") << " on " << target.name
             << ", the rest on the host's CPU: results whose extents depend on data, branches and loops\n"
             << text.str();
  PrintSlowKernels(executor, args.out());
  return kDone;
}

}  // namespace

int CompileOnnx(const CommandArguments& args, const std::string& path) {
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) return RefuseOnnx(args, target.status().message());
  if (target->is_gpu() && !path.ends_with(".so")) {
    return RefuseOnnx(args, absl::StrCat("a model for ", target->name, " is written as .so"));
  }
  LoadReport timings;
  const std::unique_ptr<graph::KernelCache> cache = graph::KernelCache::Default();
  int status = kDone;
  const std::unique_ptr<OnnxModel> model = LoadOnnx(args, cache.get(), *target, graph::KernelUse::kExport, &status);
  if (model == nullptr) return status;
  const PlannedFunction* planned = model->executor().planned();
  if (planned == nullptr) return RefuseOnnx(args, kNoPlan);
  WarnOfSlowKernels(args, model->executor());
  graph::ExportOptions options{.name = CIdentifier(std::filesystem::path(path).stem().string()),
                               .path = path,
                               .database = args.Get("--db").value_or(""),
                               .target = *target};
  for (const graph::ModelValue& output : model->imported().outputs) options.results.push_back(output.name);
  const absl::Status written = graph::ExportFunction(*planned, options);
  if (args.Has("--timings")) args.out() << timings.ToText();
  return written.ok() ? kDone : RefuseOnnx(args, written.message());
}

int FillCache(const CommandArguments& args, const std::string& folder) {
  LoadReport timings;
  const graph::KernelCache cache(folder);
  int status = kDone;
  const std::unique_ptr<OnnxModel> model = LoadOnnx(args, &cache, HostTarget(), graph::KernelUse::kHere, &status);
  if (model == nullptr) return status;
  const graph::Executor& executor = model->executor();
  const size_t all = executor.num_programs(), compiled = executor.num_compiled(), kept = executor.num_kept();
  if (args.Has("--timings")) args.out() << timings.ToText();
  if (kept < all) {
    return RefuseOnnx(args, absl::StrCat(folder, " has ", kept, " of the model's ", all,
                                         " kernels: the others cannot be written there"));
  }
  args.out() << folder << " has the model's " << all << " kernels, " << compiled << " of them compiled now\n";
  return kDone;
}

int ExplainOnnx(const CommandArguments& args) {
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) return RefuseOnnx(args, target.status().message());
  // Kept kernels and decisions would hide what a load takes that has none.
  const bool passes = args.Has("--passes"), json = args.Has("--json");
  const std::unique_ptr<graph::KernelCache> cache = passes ? nullptr : graph::KernelCache::Default();
  const bool here = passes && target->name == HostTarget().name;
  graph::FusionReport report;
  int status = kDone;
  std::optional<LoadReport> timings;
  if (passes) timings.emplace();
  const std::unique_ptr<OnnxModel> model = LoadOnnx(
      args, cache.get(), *target, here ? graph::KernelUse::kHere : graph::KernelUse::kExplain, &status, &report);
  if (timings) timings->Finish();
  if (model == nullptr) return status;
  if (passes && !json) args.out() << timings->ToText();
  const PlannedFunction* planned = model->executor().planned();
  if (planned == nullptr && !model->executor().steps().empty()) {
    return ExplainSteps(args, model->executor(), *target);
  }
  if (planned == nullptr) return RefuseOnnx(args, kNoPlan);
  if (const auto folder = args.Get("--programs")) {
    const absl::Status written = WritePrograms(*folder, *planned);
    if (!written.ok()) return RefuseOnnx(args, written.message());
  }
  const std::vector<KernelFacts> facts = FactsOf(*planned, *target, args.Get("--db").value_or(""));
  const std::string joins = report.kernels.empty() ? "" : ToString(report);
  const std::string name = std::filesystem::path(args.operands()[0]).filename().string();
  status = WritePage(args, model->executor(), {ExplanationOf(*planned, facts, *target, name)}, joins);
  if (status != kDone) return status;
  if (json) {
    nlohmann::json result = ToJson(model->executor(), *planned, facts, *target);
    if (passes) result["load"] = timings->ToJson();
    args.out() << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return kDone;
  }
  PrintSummary(*planned, Summarize(facts), facts.size(), *target, args.out());
  if (const auto database = args.Get("--db")) {
    args.out() << std::ranges::count(facts, true, &KernelFacts::by_record) << " of " << facts.size()
               << " kernels by records of " << *database << "\n"
               << MeasuredApart(args, report);
  }
  PrintSlowKernels(model->executor(), args.out());
  if (args.Has("--plan")) {
    PrintPlan(args.out(), *planned, facts);
    PrintRefused(args.out(), facts);
    if (!joins.empty()) args.out() << "\n" << joins;
  }
  return kDone;
}

}  // namespace tilewright

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <ostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/measure/runner.h"
#include "autoschedule/tune/list_candidates.h"
#include "autoschedule/tune/tune.h"
#include "autoschedule/tune/tune_page.h"
#include "intrin/registry.h"
#include "ir/script/printer.h"
#include "schedule/script/trace_text.h"
#include "tools/arrays/run_arguments.h"
#include "tools/command_line/flag_value.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/models/onnx_tune.h"
#include "tools/program_file.h"
#include "tools/programs/verification.h"
#include "tools/scheduled_program.h"
#include "tools/tune_report.h"

namespace tilewright {
namespace {

// What a user wants to know of a time: "0.123 ms, 543.2 GFLOP/s (82.1% of peak)"; the time alone where data says how
// much is computed.
std::string Describe(double seconds, const SpeedOfLight& bound) {
  if (!std::isfinite(seconds)) return "none yet";
  std::string text = absl::StrFormat("%.6g ms", seconds * 1e3);
  if (!bound.whole) return text;
  if (bound.multiply_adds > 0) {
    absl::StrAppendFormat(&text, ", %.1f GFLOP/s (%.1f%% of peak)", 2e-9 * bound.multiply_adds / seconds,
                          100 * bound.arithmetic_seconds / seconds);
  } else {
    absl::StrAppendFormat(&text, ", %.1f GB/s", 1e-9 * bound.bytes / seconds);
  }
  return text;
}

// What a second look at the best candidate adds to its time before it is worth a word.
constexpr double kWorse = 1.02;
// A schedule that multiplies less than this part of what the program does saves operations.
constexpr double kFewerProducts = 0.99;

// One line that is overwritten on a terminal; elsewhere a line now and then.
class ProgressPrinter {
 public:
  ProgressPrinter(std::ostream& out, bool live, double budget, const SpeedOfLight& bound)
      : out_(out), live_(live), budget_(budget), bound_(bound) {}

  void Show(const SearchProgress& progress) {
    if (!live_ && progress.seconds < next_) return;
    next_ = progress.seconds + 5;
    const SearchStatistics& statistics = *progress.statistics;
    const bool worse = progress.best_seconds > kWorse * best_seconds_;
    best_seconds_ = progress.best_seconds;
    int64_t failed = 0;
    for (const auto& [reason, count] : statistics.failed) failed += count;
    out_ << (live_ ? "\r\033[K" : "")
         << absl::StrFormat("%4.0f s of %g: %d measured (%d failed), best %s%s", progress.seconds, budget_,
                            statistics.measured, failed, Describe(progress.best_seconds, bound_),
                            worse ? ", measured again: slower than it seemed" : "")
         << (live_ ? "" : "\n") << std::flush;
  }
  void End() {
    if (live_) out_ << "\r\033[K";
  }

 private:
  std::ostream& out_;
  const bool live_;
  const double budget_;
  const SpeedOfLight& bound_;
  double next_ = 0;
  double best_seconds_ = std::numeric_limits<double>::infinity();  // of the last line
};

void PrintStatistics(const TuneResult& result, std::ostream& err) {
  const SearchStatistics& s = result.statistics;
  err << absl::StrFormat(
      "%d candidates made (%d of them known before) in %.1f s, predicted in %.1f s, %d measured in "
      "%.1f s\n",
      s.tries, s.repeated, s.propose_seconds, s.predict_seconds, s.measured, s.measure_seconds);
  for (const auto& [reason, count] : s.refused) err << "  refused " << count << " times: " << reason << "\n";
  for (const auto& [reason, count] : s.failed) err << "  failed " << count << " times: " << reason << "\n";
  for (const std::string& failure : result.failures) err << "  first " << failure << "\n";
  for (const RuleRefusal& block : result.left_alone) err << "  not scheduled: " << block.ToString() << "\n";
}

// n=1,37,512 of each --dim.
SizesByName ReadSizes(const CommandArguments& args) {
  SizesByName sizes;
  for (const std::string& text : args.GetAll("--dim")) {
    const auto dim = ReadDim(text);
    sizes.emplace(dim->first, dim->second);
  }
  return sizes;
}

// Says which sizes are taken for extents that no --dim names.
SizesByName TypicalWhereNoneIsNamed(const CommandArguments& args, const Function& main, const SizesByName& named) {
  SizesByName sizes = WithTypicalSizes(main, named);
  std::vector<std::string> taken;
  for (const auto& [name, values] : sizes) {
    if (!named.contains(name)) taken.push_back(absl::StrCat(name, "=", values.front()));
  }
  if (!taken.empty()) args.err() << "tuned for " << absl::StrJoin(taken, ", ") << "; --dim names other sizes\n";
  return sizes;
}

// What stands beside the best time on the page.
std::vector<std::pair<std::string, std::string>> FactsOf(const TuneResult& result, const Target& target) {
  const Projection projection = Project(result.schedule.module().Main(), target);
  const SpeedOfLight& bound = result.bound;
  return {{"version", absl::StrCat("tilewright ", std::string(kVersion))},
          {"threads", absl::StrCat(target.cores)},
          {"limited by", absl::StrCat(projection.limiter, ", as projected")},
          {"arithmetic alone", absl::StrFormat("%.6g ms", bound.arithmetic_seconds * 1e3)},
          {"parameters alone",
           absl::StrFormat("%.6g ms, %.4g MB from %s", bound.traffic_seconds * 1e3, bound.bytes * 1e-6, bound.from)},
          {"bandwidth", absl::StrFormat("%.1f GB/s of the parameters", 1e-9 * bound.bytes / result.seconds)},
          {"other processes", absl::StrFormat("took %.0f%% of the CPU time", 100 * result.others_share)}};
}

// Budget, seed, caches, libraries and launcher as the flags say.
TuneOptions OptionsOf(const CommandArguments& args) {
  TuneOptions options = {.seconds = 60,
                         .caches = args.Has("--cold-cache")   ? Caches::kCold
                                   : args.Has("--warm-cache") ? Caches::kWarm
                                                              : Caches::kRotating,
                         .libraries = ExternLibraries(args),
                         .launcher = args.Get("--launcher").value_or(""),
                         .stop = Interrupt::Asked};
  if (const auto text = args.Get("--seconds")) (void)absl::SimpleAtod(*text, &options.seconds);
  if (const auto text = args.Get("--trials")) (void)absl::SimpleAtoi(*text, &options.trials);
  if (const auto text = args.Get("--seed")) (void)absl::SimpleAtoi(*text, &options.seed);
  return options;
}

// What was found, on standard output; how, and what to know of it, beside it.
void Report(const CommandArguments& args, const Module& module, const Target& target, IntrinRegistry* intrins,
            const std::optional<Database>& database, const TuneResult& result, double seconds) {
  PrintStatistics(result, args.err());
  if (Interrupt::Asked()) {
    args.err() << "interrupted: this is the best that was found so far"
               << (database ? "; what was measured is in " + database->path() : "") << "\n";
  }
  args.err() << BusyLine(result) << NotBesideRulesLine(result) << NothingSearchedLine(result, seconds);
  if (!result.caution.empty()) args.err() << "caution: " << result.caution << "\n";
  if (const auto plain = BlocksWithoutIntrinsic(module, target, intrins); !plain.empty()) {
    args.err() << "no tensor intrinsic computes " << absl::StrJoin(plain, ", ") << ": loops over vectors\n";
  }
  const char* const how = !result.emulated ? "" : target.is_gpu() ? "projected " : "emulated, projected ";
  args.out() << "best: " << how << Describe(result.seconds, result.bound) << "\n";
  const double products = SpeedOfLightOf(result.schedule.module().Main(), target).multiply_adds;
  const bool saves = products < kFewerProducts * result.bound.multiply_adds;
  args.err() << PeakLine(result.bound, target, result.seconds, saves);
}

// The program with its trace, and the page, where the flags ask for them. False where one cannot be written.
bool WriteFiles(const CommandArguments& args, const Target& target, const TuneOptions& options,
                const TuneResult& result, std::vector<TuneMeasurement> measurements) {
  const std::string program = Print(result.schedule.module()), trace = ToText(result.schedule.trace());
  if (const auto path = args.Get("-o")) {
    if (!WriteText(args, *path, program) || !WriteText(args, *path + ".trace", trace)) return false;
  }
  const auto page = args.Get("--html");
  if (!page) return true;
  const char* const how = !result.emulated ? "" : target.is_gpu() ? ", projected" : ", emulated";
  const TuningRun run{.title = args.operands()[0],
                      .command = absl::StrCat("tilewright tune ", args.operands()[0], " --seconds=", options.seconds,
                                              " --seed=", options.seed),
                      .target = absl::StrCat(target.name, " ", target.cpu, how),
                      .facts = FactsOf(result, target),
                      .measurements = std::move(measurements),
                      .failures = result.failures,
                      .statistics = result.statistics,
                      .best_seconds = result.seconds,
                      .bound_seconds = result.bound.seconds,
                      .trace = trace,
                      .program = program};
  return WriteText(args, *page, ToHtml(run));
}

int RunTune(const CommandArguments& args) {
  if (args.kind() == FileKind::kModel) return TuneOnnx(args);
  const Interrupt interrupt;
  TuneOptions options = OptionsOf(args);
  auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  const std::optional<Module> program = ReadProgram(args, args.operands()[0]);
  if (!program) return kRefused;
  if (const auto unknown = UnknownFunction(args, *program)) return UsageError(args, "tune", *unknown);
  const auto name = args.Get("--func");
  const Module module = name ? Module(program->Find(*name)) : *program;
  if (module.Main()) {
    if (const auto unused = UnusedArguments(args, module.Main())) return UsageError(args, "tune", *unused);
  }
  WarnOfLoopsWithoutBlocks(args, module);
  *target = MeasuredTarget(*target, options.launcher);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  if (!LoadIntrinsics(args, &intrins)) return kRefused;
  if (args.Has("--list-candidates")) {
    args.out() << ListCandidates(module, *target, &intrins);
    return kDone;
  }
  if (!module.Main()) {
    args.err() << args.operands()[0] << ": error: " << WhichFunction(module) << "\n";
    return kRefused;
  }
  auto refuse = [&](const absl::Status& status) {
    args.err() << args.operands()[0] << ": error: " << NamingExtern(std::string(status.message())) << "\n";
    return kRefused;
  };
  std::optional<Database> database;
  if (const auto path = args.Get("--db")) {
    auto opened = Database::Open(*path);
    if (!opened.ok()) return refuse(opened.status());
    database.emplace(*std::move(opened));
  }
  options.sizes = ReadSizes(args);
  if (module.Main()) options.sizes = TypicalWhereNoneIsNamed(args, module.Main(), options.sizes);
  const Function main = module.Main() ? WithLikelySizes(module.Main(), options.sizes) : Function();
  const SpeedOfLight bound = main ? SpeedOfLightOf(main, *target) : SpeedOfLight();
  const bool live = &args.err() == &std::cerr && isatty(STDERR_FILENO) != 0;
  ProgressPrinter progress(args.err(), live, options.seconds, bound);
  std::vector<TuneMeasurement> measurements;
  options.database = database ? &*database : nullptr;
  options.on_progress = [&](const SearchProgress& now) { progress.Show(now); };
  options.on_measured = [&](const TuneMeasurement& m) { measurements.push_back(m); };
  const auto result = Tune(module, *target, &intrins, options);
  progress.End();
  if (database) {
    for (const std::string& record : database->damaged()) args.err() << record << "\n";
  }
  if (!result.ok()) return refuse(result.status());
  Report(args, module, *target, &intrins, database, *result, options.seconds);
  if (!WriteFiles(args, *target, options, *result, std::move(measurements))) return kRefused;
  return kDone;
}

}  // namespace

Command TuneCommand() {
  return {
      .name = "tune",
      .operands = "FILE",
      .summary = "searches for the fastest schedule of a program, or of each kernel of a model",
      .details =
          "Prints the best time: that of this machine, of the one that --launcher reaches, or, for a target of another "
          "architecture, a projected one of emulated code, which is marked. OUT receives the scheduled program and "
          "OUT.trace the schedule, which "
          "`schedule --script` and `compile --script` take.\n"
          "Of a model, joined kernels are measured apart first, and those that are slower joined are taken apart: what "
          "loads the model with --db does the same, and names them.\n"
          "A model's distinct kernels share the time: the next one is that from which most is expected, by its calls, "
          "its "
          "time and its bound. The table at the end has for each its calls, time before and after, percent of the "
          "bound, "
          "and whether a record is used. `run`, `explain` and `compile` take the records by --db. Ctrl-C ends the "
          "search "
          "with what there is; the same command goes on from the database.",
      .takes = kPrograms | kModels,
      .run = RunTune};
}

}  // namespace tilewright

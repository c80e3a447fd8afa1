#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "schedule/reduction/define_empty_reductions.h"
#include "target/target.h"
#include "tools/arrays/array_summary.h"
#include "tools/arrays/compare_outputs.h"
#include "tools/arrays/run_arguments.h"
#include "tools/command_line/flag_value.h"
#include "tools/commands.h"
#include "tools/graph_file.h"
#include "tools/models/onnx_run.h"
#include "tools/profile/timing_flags.h"
#include "tools/program_file.h"
#include "tools/programs/execute_program.h"
#include "tools/programs/verification.h"
#include "tools/scheduled_program.h"

namespace tilewright {
namespace {

int Refuse(const CommandArguments& args, std::string_view message) {
  args.err() << args.operands()[0] << ": error: " << NamingExtern(message) << "\n";
  return kRefused;
}

// Whether two functions take the same arguments, which were made for each.
bool SameTypes(const std::vector<interp::Argument>& a, const std::vector<interp::Argument>& b, const Function& f,
               const Function& g) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Param &p = f->params[i], &q = g->params[i];
    if (!p.buffer != !q.buffer) return false;
    if (!p.buffer ? p.var.dtype() != q.var.dtype() : p.buffer->dtype != q.buffer->dtype) return false;
    if (a[i].array.shape() != b[i].array.shape()) return false;
  }
  return true;
}

// What is run: a function, scheduled or not, in an engine.
struct Run {
  Engine engine;
  std::string schedule;  // "as is", "rules", "database" or "script"
  Module source, module;
  Function function;  // of the source
};

// The engine and its target. Reports what does not fit.
std::optional<Engine> ChooseEngine(const CommandArguments& args, int* status) {
  const auto named = args.Get("--target");
  Engine engine{.name = EngineOf(args, args.kind())};
  const auto target = NamedTarget(named.value_or(engine.is_cuda() ? "cuda-sm90a" : "host"));
  if (!target.ok()) {
    *status = Refuse(args, std::string(target.status().message()));
    return std::nullopt;
  }
  if (engine.compiles() && engine.is_cuda() != target->is_gpu()) {
    *status = UsageError(args, "run", "--engine=" + engine.name + " does not run code for --target=" + target->name);
    return std::nullopt;
  }
  const bool scheduled = args.Has("--script") || args.Has("--db");
  for (const char* flag : {"--target", "--intrin"}) {
    if (!args.Has(flag) || engine.compiles() || scheduled) continue;
    *status = UsageError(args, "run",
                         std::string(flag) +
                             " has no effect on a program that is interpreted as it stands: --script, "
                             "--db or another --engine give it one");
    return std::nullopt;
  }
  engine.target = *target;
  engine.libraries = ExternLibraries(args);
  engine.launcher = args.Get("--launcher").value_or("");
  engine.file = args.operands()[0];
  engine.max_threads = ThreadsOf(args);
  return engine;
}

// What `compile` compiles: the program after --script, the best record of --db or the rules. With --as-is, and in the
// interpreter where no schedule is given, the program as it stands. What is compiled is verified.
std::optional<Run> Prepare(const CommandArguments& args, int* status) {
  Run run;
  *status = kRefused;
  const std::optional<Engine> engine = ChooseEngine(args, status);
  if (!engine) return std::nullopt;
  run.engine = *engine;
  const std::optional<Module> source = ReadProgram(args, args.operands()[0]);
  if (!source) return std::nullopt;
  if (const auto unknown = UnknownFunction(args, *source)) {
    *status = UsageError(args, "run", *unknown);
    return std::nullopt;
  }
  const auto name = args.Get("--func");
  run.function = name ? source->Find(*name) : source->Main();
  if (!run.function) {
    *status = Refuse(args, WhichFunction(*source));
    return std::nullopt;
  }
  if (const auto unused = UnusedArguments(args, run.function)) {
    *status = UsageError(args, "run", *unused);
    return std::nullopt;
  }
  run.schedule = "as is";
  run.source = run.module = DefineEmptyReductions(*source);
  bool verified = false;
  const bool given = args.Has("--script") || args.Has("--db");
  if (given || (run.engine.compiles() && !args.Has("--as-is"))) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const std::optional<ScheduledProgram> scheduled = ScheduleProgram(args, *source, run.engine.target, &intrins);
    if (!scheduled) return std::nullopt;
    run.schedule = scheduled->by;
    run.module = scheduled->module;
    verified = scheduled->verified;
  }
  if (!run.engine.compiles() || verified) return run;
  if (!MayBeCompiled(args, *source, run.module, run.engine.target)) return std::nullopt;
  return run;
}

// Runs the interpreter, or the program of --against as it stands, on `arguments`, which it changes. What to expect of
// the difference; nothing when it is refused, which is reported.
std::optional<Tolerances> RunReference(const CommandArguments& args, const Run& run,
                                       std::vector<interp::Argument>& arguments) {
  const auto against = args.Get("--against");
  const std::optional<Module> reference = against ? ReadProgram(args, *against) : run.source;
  if (!reference) return std::nullopt;
  const auto name = args.Get("--func");
  const Function same = name ? reference->Find(*name) : reference->Main();
  // The same arguments go to both, so types and extents have to agree too.
  absl::StatusOr<std::vector<interp::Argument>> expected = absl::InvalidArgumentError("");
  if (same) expected = MakeArguments(args, same);
  if (!expected.ok() || !SameTypes(*expected, arguments, same, run.function)) {
    Refuse(args, "the other program has no function with the same parameters");
    return std::nullopt;
  }
  const std::vector<interp::Argument> before = Copy(arguments);
  Engine engine = run.engine;
  if (!against) engine.name = "interp";
  const absl::Status status = Execute(engine, *reference, same, arguments);
  if (!status.ok()) {
    Refuse(args, std::string(status.message()));
    return std::nullopt;
  }
  std::vector<Function> alike = {same};
  if (against) alike.push_back(run.function);
  return Tolerances(alike, before);
}

// One output beside that of the reference; false beyond what rounding explains. Adds to `json` where it is not null.
bool ReportError(const CommandArguments& args, const Tolerances& tolerances, size_t position, const std::string& name,
                 const NDArray& array, const NDArray& expected, nlohmann::json* json) {
  const auto [error, of_tolerance, failure] = tolerances.Compare(position, name, array, expected);
  const bool good = failure.empty();
  if (json != nullptr) {
    (*json)["error"] = {{"max_abs", OrNull(error.max_abs)},
                        {"max_rel", OrNull(error.max_rel)},
                        {"of_tolerance", OrNull(of_tolerance)},
                        {"good", good}};
    if (!good) (*json)["error"]["failure"] = failure;
    return good;
  }
  args.out() << name << ": largest error absolute " << error.max_abs << " relative " << error.max_rel;
  if (good) {
    args.out() << ", " << absl::StrFormat("%.1f", 100 * of_tolerance) << "% of the tolerance\n";
  } else {
    args.out() << ", tolerance EXCEEDED: " << failure << "\n";
  }
  return good;
}

// Prints the outputs, and how far they are from the reference's where there is one; writes them to --outputs.
int ReportOutputs(const CommandArguments& args, const Run& run, const std::vector<interp::Argument>& arguments,
                  const std::vector<interp::Argument>& reference, const Tolerances* tolerances,
                  nlohmann::json* outputs) {
  const std::vector<bool> written = Written(run.function);
  const auto folder = args.Get("--outputs");
  std::error_code error;  // what cannot be made cannot be written either, which is reported
  if (folder) std::filesystem::create_directories(*folder, error);
  int status = kDone;
  for (size_t i = 0; i < run.function->params.size(); ++i) {
    const Buffer& buffer = run.function->params[i].buffer;
    if (!buffer || !written[i]) continue;
    const NDArray& array = arguments[i].array;
    if (folder) {
      const absl::Status stored = WriteNpy(array, *folder + "/" + buffer->name + ".npy");
      if (!stored.ok()) return Refuse(args, std::string(stored.message()));
    }
    if (outputs != nullptr) {
      outputs->push_back(ToJson(buffer->name, array));
    } else {
      PrintArray(args.out(), buffer->name, array);
    }
    if (tolerances == nullptr) continue;
    nlohmann::json* const last = outputs == nullptr ? nullptr : &outputs->back();
    if (!ReportError(args, *tolerances, i, buffer->name, array, reference[i].array, last)) status = kRefused;
  }
  return status;
}

int RunProgram(const CommandArguments& args) {
  if (args.kind() == FileKind::kModel) return RunOnnx(args);
  if (args.kind() == FileKind::kGraph) return RunGraph(args);
  int status = kDone;
  const std::optional<Run> run = Prepare(args, &status);
  if (!run) return status;
  auto arguments = MakeArguments(args, run->function);
  if (!arguments.ok()) return Refuse(args, std::string(arguments.status().message()));
  std::vector<interp::Argument> other = Copy(*arguments);
  Timing timing{.calls = Repetitions(args), .by_part = WantsParts(args)};
  const absl::Status executed =
      Execute(run->engine, run->module, run->function, *arguments, timing.calls == 0 ? nullptr : &timing);
  if (!executed.ok()) return Refuse(args, std::string(executed.message()));
  const absl::Status traced = WriteTraceEvents(args, timing.profile, run->function->name);
  if (!traced.ok()) return Refuse(args, std::string(traced.message()));
  std::optional<Tolerances> tolerances;
  if (args.Has("--against") || args.Has("--compare")) {
    tolerances = RunReference(args, *run, other);
    if (!tolerances) return kRefused;
  }
  const bool json = args.Has("--json");
  nlohmann::json outputs = nlohmann::json::array();
  status = ReportOutputs(args, *run, *arguments, other, tolerances ? &*tolerances : nullptr, json ? &outputs : nullptr);
  if (!json) {
    if (run->engine.compiles() || run->schedule != "as is") {
      const std::string where = run->engine.compiles() ? " for " + run->engine.target.name : "";
      args.out() << "schedule: " << run->schedule << "; " << run->engine.name << where << "\n";
    }
    PrintTiming(args, timing.spans, timing.profile);
    return status;
  }
  nlohmann::json result = {{"function", run->function->name},
                           {"engine", run->engine.name},
                           {"target", run->engine.compiles() ? run->engine.target.name : ""},
                           {"threads", run->engine.threads()},
                           {"schedule", run->schedule},
                           {"outputs", std::move(outputs)}};
  AddTiming(args, timing.spans, timing.profile, &result);
  args.out() << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return status;
}

}  // namespace

Command RunCommand() {
  return {.name = "run",
          .operands = "FILE",
          .summary = "executes a program, graph text or an ONNX model on seeded random inputs",
          .details =
              "Prints of every output its type, shape, sum, least, largest and first values. Without --engine the "
              "interpreter "
              "runs the program as it stands; with --target, the engine for that target runs it. Compiled engines "
              "run what `compile` compiles (the rules' schedule, or that of --script or --db), with --as-is the "
              "program as it stands; the output says which.",
          .takes = kPrograms | kGraphs | kModels,
          .run = RunProgram};
}

}  // namespace tilewright

#include <algorithm>
#include <cmath>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"
#include "intrin/registry.h"
#include "tools/commands.h"
#include "tools/models/onnx_file.h"
#include "tools/models/onnx_plan.h"
#include "tools/program_file.h"
#include "tools/scheduled_program.h"

namespace tilewright {
namespace {

// "1.35 ms"; three digits.
std::string Quantity(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"n", "u", "m", "", "k", "M", "G", "T"};
  if (value == 0) return absl::StrCat("0 ", unit);
  const int thousands = std::clamp(static_cast<int>(std::floor(std::log10(value) / 3)), -3, 4);
  return absl::StrFormat("%.3g %s%s", value / std::pow(1000.0, thousands), kPrefixes[thousands + 3], unit);
}

// The name of a number and the number, in columns.
class Table {
 public:
  explicit Table(std::ostream& out) : out_(out) {}
  void Line(const std::string& name, const std::string& value) { out_ << absl::StrFormat("  %-22s %s\n", name, value); }
  void Part(const std::string& name, double seconds, double all, const std::string& remark) {
    Line(name, absl::StrFormat("%-10s %5.1f%%  %s", Quantity(seconds, "s"), all > 0 ? 100 * seconds / all : 0, remark));
  }

 private:
  std::ostream& out_;
};

void ExplainInstructions(const InstructionCounts& n, Table& table) {
  const double all = n.Total();
  const std::pair<const char*, double> kinds[] = {
      {"multiply-adds", n.multiply_adds},
      {"dot products", n.dots},
      {"other arithmetic", n.arithmetic},
      {"divisions, roots", n.divides},
      {"functions", n.transcendentals},
      {"conversions", n.converts},
      {"rows of tiles", n.tile_rows},
      {"calls", n.calls},
      {"loads", n.loads},
      {"narrow loads", n.narrow_loads},
      {"stores", n.stores},
      {"gathered elements", n.gathered},
  };
  for (const auto& [name, count] : kinds) {
    if (count > 0) table.Line(name, absl::StrFormat("%-10s %5.1f%%", Quantity(count, ""), 100 * count / all));
  }
}

// What kernels of a GPU do, all blocks together.
void ExplainKernels(const Projection& p, const Target& target, std::ostream& out) {
  Table table(out);
  out << "time of the kernels\n";
  table.Part("work of the units", p.throughput_seconds, p.seconds, "if nothing waited");
  table.Part("work and waiting", p.latency_seconds, p.seconds, "as many blocks at once as fit");
  for (const Projection::Level& level : p.levels) {
    table.Part(
        "traffic from " + level.from, level.seconds, p.seconds,
        absl::StrFormat("%s read, %s written", Quantity(level.read_bytes, "B"), Quantity(level.written_bytes, "B")));
  }
  table.Part("launches", p.fork_seconds, p.seconds, absl::StrFormat("%.0f kernels", p.forks));
  out << "parallelism of the longest kernel\n";
  table.Line("cores", absl::StrFormat("%d of %d", p.cores_used, target.cores));
  table.Line("balance", absl::StrFormat("%.1f%%", 100 * p.balance));
}

void Explain(const Function& function, const Target& target, std::ostream& out) {
  const ProgramFacts facts = GatherFacts(function);
  const Projection p = Project(facts, target);
  const SpeedOfLight limit = SpeedOfLightOf(facts, target);
  Table table(out);
  out << function->name << " on " << target.name << " (" << target.cpu << ", " << target.cores << " cores)\n";
  table.Line("projected", Quantity(p.seconds, "s"));
  table.Line("limiter", p.limiter.empty() ? "nothing to do" : p.limiter);
  table.Line("speed of light", absl::StrFormat("%-10s %5.1f%% of the projected time", Quantity(limit.seconds, "s"),
                                               p.seconds > 0 ? 100 * limit.seconds / p.seconds : 0));
  table.Line("  arithmetic", absl::StrFormat("%-10s %s multiply-adds", Quantity(limit.arithmetic_seconds, "s"),
                                             Quantity(limit.multiply_adds, "")) +
                                 (limit.whole ? "" : ", more in loops that data ends"));
  table.Line("  parameters", absl::StrFormat("%-10s %s from %s", Quantity(limit.traffic_seconds, "s"),
                                             Quantity(limit.bytes, "B"), limit.from));
  if (target.is_gpu()) return ExplainKernels(p, target, out);
  out << "time of the busiest core\n";
  table.Part("instructions", p.compute_seconds, p.seconds,
             absl::StrFormat("throughput %s, latency %s", Quantity(p.throughput_seconds, "s"),
                             Quantity(p.latency_seconds, "s")));
  for (const Projection::Level& level : p.levels) {
    table.Part(
        "traffic from " + level.from, level.seconds, p.seconds,
        absl::StrFormat("%s read, %s written", Quantity(level.read_bytes, "B"), Quantity(level.written_bytes, "B")));
  }
  table.Part("fork and join", p.fork_seconds, p.seconds, absl::StrFormat("%.0f parallel loops entered", p.forks));
  out << "instructions of the busiest core\n";
  ExplainInstructions(p.instructions, table);
  table.Line("vector registers",
             absl::StrFormat("%.0f of %d in the fullest loop", p.register_vectors, target.cpu_part().vector_registers));
  out << "parallelism\n";
  table.Line("cores", absl::StrFormat("%d of %d", p.cores_used, target.cores));
  table.Line("balance", absl::StrFormat("%.1f%%", 100 * p.balance));
}

int RunExplain(const CommandArguments& args) {
  if (args.kind() == FileKind::kModel) return ExplainOnnx(args);
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  const std::optional<Module> module = ReadProgram(args, args.operands()[0]);
  if (!module) return kRefused;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Module scheduled = *module;
  if (!args.Has("--as-is")) {
    const std::optional<ScheduledProgram> by_schedule = ScheduleProgram(args, *module, *target, &intrins);
    if (!by_schedule) return kRefused;
    scheduled = by_schedule->schedule.module();
    for (const std::string& refused : by_schedule->refused) {
      args.out() << "the preferred sketch refuses a block, and another one schedules it: " << refused << "\n";
    }
  }
  bool first = true;
  for (const Function& function : scheduled.functions()) {
    if (!first) args.out() << "\n";
    first = false;
    Explain(function, *target, args.out());
  }
  return kDone;
}

}  // namespace

Command ExplainCommand() {
  return {
      .name = "explain",
      .operands = "FILE",
      .summary = "says what a program's time goes to, by the cost models",
      .details =
          "Nothing is run. The busiest core is the one with the most iterations of parallel loops; caches are taken "
          "to be warm. Functions that prepare constants are shown apart.",
      .takes = kPrograms | kModels,
      .run = RunExplain};
}

}  // namespace tilewright

#include "tools/programs/explanation.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/tune/html.h"
#include "nlohmann/json.hpp"

namespace tilewright {

std::string Quantity(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"n", "u", "m", "", "k", "M", "G", "T"};
  if (value == 0) return absl::StrCat("0 ", unit);
  const int thousands = std::clamp(static_cast<int>(std::floor(std::log10(value) / 3)), -3, 4);
  return absl::StrFormat("%.3g %s%s", value / std::pow(1000.0, thousands), kPrefixes[thousands + 3], unit);
}

namespace {

// The sections of a function.
class Table {
 public:
  void Section(const std::string& title) { sections_.push_back({title, {}}); }
  void Line(const std::string& name, const std::string& value, double share = 0) {
    sections_.back().rows.push_back({name, value, share});
  }
  void Part(const std::string& name, double seconds, double all, const std::string& remark) {
    const double share = all > 0 ? seconds / all : 0;
    Line(name, absl::StrFormat("%-10s %5.1f%%  %s", Quantity(seconds, "s"), 100 * share, remark), share);
  }
  std::vector<ExplanationSection> sections() const { return sections_; }

 private:
  std::vector<ExplanationSection> sections_;
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
    if (count > 0)
      table.Line(name, absl::StrFormat("%-10s %5.1f%%", Quantity(count, ""), 100 * count / all), count / all);
  }
}

// What kernels of a GPU do, all blocks together.
void ExplainKernels(const Projection& p, const Target& target, Table& table) {
  table.Section("time of the kernels");
  table.Part("work of the units", p.throughput_seconds, p.seconds, "if nothing waited");
  table.Part("work and waiting", p.latency_seconds, p.seconds, "as many blocks at once as fit");
  for (const Projection::Level& level : p.levels) {
    table.Part(
        "traffic from " + level.from, level.seconds, p.seconds,
        absl::StrFormat("%s read, %s written", Quantity(level.read_bytes, "B"), Quantity(level.written_bytes, "B")));
  }
  table.Part("launches", p.fork_seconds, p.seconds, absl::StrFormat("%.0f kernels", p.forks));
  table.Section("parallelism of the longest kernel");
  table.Line("cores", absl::StrFormat("%d of %d", p.cores_used, target.cores));
  table.Line("balance", absl::StrFormat("%.1f%%", 100 * p.balance));
}

constexpr char kStyle[] = R"(td.value { font-family: monospace; white-space: pre-wrap; }
div.bar { background: #7d9ab5; height: 10px; }
)";
// Pixels of a bar that stands for all.
constexpr double kBar = 240;

std::string SectionTable(const ExplanationSection& section) {
  std::string rows;
  for (const auto& [name, value, share] : section.rows) {
    const std::string bar =
        share > 0 ? absl::StrFormat("<div class=\"bar\" style=\"width:%.0fpx\"></div>", kBar * std::min(share, 1.0))
                  : "";
    absl::StrAppend(&rows, "<tr><td>", EscapeHtml(name), "</td><td class=\"value\">", EscapeHtml(value), "</td><td>",
                    bar, "</td></tr>\n");
  }
  return absl::StrCat("<h2>", EscapeHtml(section.title), "</h2>\n<table>\n", rows, "</table>\n");
}

}  // namespace

Explanation Explain(const Function& function, const Target& target) {
  const ProgramFacts facts = GatherFacts(function);
  const Projection p = Project(facts, target);
  const SpeedOfLight limit = SpeedOfLightOf(facts, target);
  Table table;
  table.Section(absl::StrCat(function->name, " on ", target.name, " (", target.cpu, ", ", target.cores, " cores)"));
  table.Line("projected", Quantity(p.seconds, "s"));
  table.Line("limiter", p.limiter.empty() ? "nothing to do" : p.limiter);
  table.Line("speed of light", absl::StrFormat("%-10s %5.1f%% of the projected time", Quantity(limit.seconds, "s"),
                                               p.seconds > 0 ? 100 * limit.seconds / p.seconds : 0));
  table.Line("  arithmetic", absl::StrFormat("%-10s %s multiply-adds", Quantity(limit.arithmetic_seconds, "s"),
                                             Quantity(limit.multiply_adds, "")) +
                                 (limit.whole ? "" : ", more in loops that data ends"));
  table.Line("  parameters", absl::StrFormat("%-10s %s from %s", Quantity(limit.traffic_seconds, "s"),
                                             Quantity(limit.bytes, "B"), limit.from));
  if (target.is_gpu()) {
    ExplainKernels(p, target, table);
    return {table.sections()};
  }
  table.Section("time of the busiest core");
  table.Part("instructions", p.compute_seconds, p.seconds,
             absl::StrFormat("throughput %s, latency %s", Quantity(p.throughput_seconds, "s"),
                             Quantity(p.latency_seconds, "s")));
  for (const Projection::Level& level : p.levels) {
    table.Part(
        "traffic from " + level.from, level.seconds, p.seconds,
        absl::StrFormat("%s read, %s written", Quantity(level.read_bytes, "B"), Quantity(level.written_bytes, "B")));
  }
  table.Part("fork and join", p.fork_seconds, p.seconds, absl::StrFormat("%.0f parallel loops entered", p.forks));
  table.Section("instructions of the busiest core");
  ExplainInstructions(p.instructions, table);
  table.Line("vector registers",
             absl::StrFormat("%.0f of %d in the fullest loop", p.register_vectors, target.cpu_part().vector_registers));
  table.Section("parallelism");
  table.Line("cores", absl::StrFormat("%d of %d", p.cores_used, target.cores));
  table.Line("balance", absl::StrFormat("%.1f%%", 100 * p.balance));
  return {table.sections()};
}

void PrintExplanation(const Explanation& explanation, std::ostream& out) {
  for (const ExplanationSection& section : explanation.sections) {
    out << section.title << "\n";
    for (const auto& row : section.rows) out << absl::StrFormat("  %-22s %s\n", row.name, row.value);
  }
}

std::string ExplanationPage(const ExplainedFile& file) {
  std::string html = PageBegin("Explanation of " + file.title, kStyle);
  absl::StrAppend(&html, "<p>Projected by the cost models; nothing was run.</p>\n");
  for (const std::string& remark : file.remarks) absl::StrAppend(&html, "<p>", EscapeHtml(remark), "</p>\n");
  for (const Explanation& explanation : file.parts) {
    for (const ExplanationSection& section : explanation.sections) html += SectionTable(section);
  }
  for (const auto& [heading, text] : file.texts) {
    if (text.empty()) continue;
    absl::StrAppend(&html, "<h2>", EscapeHtml(heading), "</h2>\n<pre>", EscapeHtml(text), "</pre>\n");
  }
  return html + "</body></html>\n";
}

std::string ExplanationJson(const Module& module, const Target& target) {
  nlohmann::json functions = nlohmann::json::array();
  for (const Function& function : module.functions()) {
    const ProgramFacts facts = GatherFacts(function);
    const Projection p = Project(facts, target);
    const SpeedOfLight limit = SpeedOfLightOf(facts, target);
    nlohmann::json levels = nlohmann::json::array();
    for (const Projection::Level& level : p.levels) {
      levels.push_back({{"from", level.from},
                        {"seconds", level.seconds},
                        {"read_bytes", level.read_bytes},
                        {"written_bytes", level.written_bytes}});
    }
    functions.push_back({{"name", function->name},
                         {"projected_seconds", p.seconds},
                         {"limiter", p.limiter},
                         {"throughput_seconds", p.throughput_seconds},
                         {"latency_seconds", p.latency_seconds},
                         {target.is_gpu() ? "launch_seconds" : "fork_seconds", p.fork_seconds},
                         {"levels", std::move(levels)},
                         {"cores_used", p.cores_used},
                         {"balance", p.balance},
                         {"speed_of_light",
                          {{"seconds", limit.seconds},
                           {"arithmetic_seconds", limit.arithmetic_seconds},
                           {"multiply_adds", limit.multiply_adds},
                           {"traffic_seconds", limit.traffic_seconds},
                           {"bytes", limit.bytes},
                           {"from", limit.from}}}});
  }
  const nlohmann::json json = {
      {"target", target.name}, {"engine", "model"}, {"threads", target.cores}, {"functions", std::move(functions)}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tilewright

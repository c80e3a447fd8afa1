// Work and text of a load may grow as the model does: twice the model gives at most 2.5 times the nodes after each
// phase, and 2.5 times the nodes visited. What LLVM does is not counted; it gets what lowering leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "base/phases.h"
#include "codegen/lower/growing_programs.h"
#include "codegen/lower/pipeline.h"
#include "graph/executor/optimize.h"
#include "graph/executor/plan.h"
#include "graph/executor/scheduled_kernel.h"
#include "graph/growth/growing_models.h"
#include "graph/host/host_ops.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/import.h"
#include "intrin/registry.h"
#include "ir/iterations.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "verify/verify.h"

namespace tilewright::graph {
namespace {

constexpr double kMostGrowth = 2.5;
// The same for n conditions, each on a sum of up to n lengths: four times the text, whose parts fusion schedules too.
constexpr double kMostGrowthOfSums = 7;
constexpr int kSize = 8;

// Counts that grow faster, by kind and count. This list may only shrink: a line that is not needed fails the test.
const std::set<std::pair<std::string, std::string>>& Exceptions() {
  // Rules: a step of a schedule walks the whole program. Graph passes: fusion composes and schedules each beginning of
  // a chain, and of siblings up to the most blocks of a program. Lowering: loops of windows are cut at each border, and
  // conditions on sums of lengths are proven again and again. Layers: kernels of several layers are of few kinds from
  // 16 layers on.
  static const auto& exceptions = *new std::set<std::pair<std::string, std::string>>{
      {"model: concat of columns", "nodes that fusion schedules"},
      {"model: concat of columns", "visited by graph passes"},
      {"model: concat of columns", "visited by rules and verification"},
      {"model: concat of rows", "nodes that fusion schedules"},
      {"model: concat of rows", "visited by graph passes"},
      {"model: concat of rows", "visited by rules and verification"},
      {"model: dense layers of slices", "visited by graph passes"},
      {"model: dense layers of slices of 16", "nodes that fusion schedules"},
      {"model: dense layers of slices of 16", "visited by graph passes"},
      {"model: gathers", "nodes that fusion schedules"},
      {"model: gathers", "visited by graph passes"},
      {"model: layers", "nodes after lowering passes"},
      {"model: many outputs", "visited by rules and verification"},
      {"model: many outputs of 32", "visited by rules and verification"},
      {"model: means", "nodes after lowering passes"},
      {"model: means", "nodes that fusion schedules"},
      {"model: means", "visited by graph passes"},
      {"model: means", "visited by lowering"},
      {"model: means", "visited by rules and verification"},
      {"model: nested Where", "visited by graph passes"},
      {"model: pads", "nodes that fusion schedules"},
      {"model: pads", "visited by graph passes"},
      {"model: pads", "visited by rules and verification"},
      {"model: parts of a split", "nodes that fusion schedules"},
      {"model: parts of a split", "visited by graph passes"},
      {"model: parts of a split", "visited by rules and verification"},
      {"model: slices of one tensor", "visited by graph passes"},
      {"model: symbolic dense layers of slices", "visited by graph passes"},
      {"model: symbolic lengths", "nodes that fusion schedules"},
      {"model: transposes", "visited by graph passes"},
      {"program: many outputs", "visited by rules"},
      {"program: many outputs of 64", "visited by rules"},
      {"program: nested conditions", "visited by verification"},
      {"program: unrolled steps", "visited by rules"},
      {"program: unrolled steps of 64", "visited by rules"},
      {"program: windows", "nodes after lowering passes"},
      {"program: windows", "visited by lowering"},
  };
  return exceptions;
}

// By name: the most nodes after a pass of a stage, and nodes visited in each stage.
using Counts = std::map<std::string, int64_t>;

std::string StageOf(const std::string& path) {
  if (path.starts_with("graph passes/FuseKernels/")) return "nodes that fusion schedules";
  if (path.starts_with("graph passes")) return "nodes after graph passes";
  return path.starts_with("lower") ? "nodes after lowering passes" : "nodes after rules";
}

class Counter {
 public:
  template <class Work>
  auto Visited(const std::string& name, Work work) {
    const int64_t before = NodesVisited();
    auto result = work();
    counts_["visited by " + name] += NodesVisited() - before;
    return result;
  }
  void Lowered(const Module& module, const Target& target) {
    const auto lowered = Visited("lowering", [&] { return Lower(module, target); });
    EXPECT_TRUE(lowered.ok()) << lowered.status().message();
  }
  Counts Finish(const PhaseReport& report) {
    for (const PhaseReport::Entry& phase : report.Phases()) {
      if (phase.nodes_after < 0) continue;
      int64_t& most = counts_[StageOf(phase.path)];
      most = std::max(most, phase.nodes_after);
    }
    return std::move(counts_);
  }

 private:
  Counts counts_;
};

Target TestedTarget() { return *NamedTarget("x86-znver3"); }

Counts CountsOf(const std::string& program) {
  PhaseReport report;
  const ReportPhases here({.report = &report});
  const Target target = TestedTarget();
  Counter counter;
  const PrimFunc function = ParseFunctionOrDie(program);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module scheduled =
      counter.Visited("rules", [&] { return AutoSchedule(Module(function), target, &intrins).schedule.module(); });
  counter.Visited("verification", [&] { return VerifyProgram(scheduled.functions()[0], &target).verdict(); });
  counter.Lowered(scheduled, target);
  return counter.Finish(report);
}

Counts CountsOf(const ModelWriter& model) {
  PhaseReport report;
  const ReportPhases here({.report = &report});
  const Target target = TestedTarget();
  Counter counter;
  OpTable ops;
  AddBasicOps(&ops);
  AddHostOps(&ops);
  const auto file = model.File();
  EXPECT_TRUE(file.ok()) << file.status();
  const auto imported = counter.Visited("import", [&] { return ImportModel(**file, ops, {}); });
  EXPECT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->unsupported.empty());
  const auto optimized =
      counter.Visited("graph passes", [&] { return OptimizeGraph(imported->module, ops, {}, {.target = target}); });
  EXPECT_TRUE(optimized.ok()) << optimized.status();
  const auto plan = Plan(*optimized, optimized->Main());
  EXPECT_TRUE(plan.ok() && plan->has_value()) << plan.status();
  std::set<uint64_t> seen;
  for (const KernelSource& source : (*plan)->programs) {
    if (!seen.insert(tilewright::StructuralHash(source.program)).second) continue;
    const auto kernel = counter.Visited("rules and verification", [&] {
      return ScheduleKernel(CanonicalProgram(source.program), source.constant, target, "");
    });
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    counter.Lowered(kernel->module, target);
  }
  return counter.Finish(report);
}

// Small counts double by a constant: nothing is said of those.
constexpr int64_t kLeastCount = 3000;

// What grows faster from one length to twice the length.
std::set<std::string> Growing(const Counts& once, const Counts& twice, double most) {
  std::set<std::string> growing;
  for (const auto& [name, count] : twice) {
    const auto before = once.find(name);
    if (before == once.end() || count < kLeastCount) continue;
    if (static_cast<double>(count) > most * static_cast<double>(before->second)) growing.insert(name);
  }
  return growing;
}

void ExpectGrowth(const std::string& kind, const Counts& once, const Counts& twice, double most = kMostGrowth) {
  const std::set<std::string> growing = Growing(once, twice, most);
  for (const std::string& name : growing) {
    EXPECT_TRUE(Exceptions().contains({kind, name})) << "{\"" << kind << "\", \"" << name << "\"}: " << once.at(name)
                                                     << ", and " << twice.at(name) << " of twice the length";
  }
  for (const auto& [excepted, name] : Exceptions()) {
    if (excepted == kind) EXPECT_TRUE(growing.contains(name)) << kind << ": " << name << " is an exception no longer";
  }
}

// A kind, and the length from which it is doubled.
struct Length {
  std::string kind;
  int size;
};

// Work that grows by the square of the length, and little, shows where the length is that of programs which users have.
template <class Kinds>
std::vector<Length> LengthsOf(const Kinds& kinds, std::vector<Length> longer) {
  std::vector<Length> lengths;
  for (const auto& kind : kinds) lengths.push_back({kind.name, kSize});
  lengths.insert(lengths.end(), longer.begin(), longer.end());
  return lengths;
}
std::vector<Length> LengthsOfPrograms() {
  return LengthsOf(GrowingPrograms(), {{"chain of functions", 500},
                                       {"chain of sums", 500},
                                       {"chain of products", 128},
                                       {"many outputs", 64},
                                       {"unrolled steps", 64}});
}
std::vector<Length> LengthsOfModels() {
  return LengthsOf(GrowingModels(), {{"elementwise chain", 500},
                                     {"many outputs", 32},
                                     {"unrolled steps", 16},
                                     {"unrolled gated steps", 16},
                                     {"dense layers of slices", 16}});
}

template <class Kinds>
const auto& KindOf(const Kinds& kinds, const Length& length) {
  return *std::ranges::find_if(kinds, [&](const auto& kind) { return kind.name == length.kind; });
}
// "many outputs", "many outputs of 64"
std::string NameOf(const Length& length) {
  return absl::StrCat(length.kind, length.size == kSize ? "" : absl::StrCat(" of ", length.size));
}

class GrowthOfPrograms : public testing::TestWithParam<Length> {};

TEST_P(GrowthOfPrograms, IsAtMostThatOfTheirText) {
  const GrowingProgram& kind = KindOf(GrowingPrograms(), GetParam());
  const int size = GetParam().size;
  ExpectGrowth("program: " + NameOf(GetParam()), CountsOf(kind.text(size)), CountsOf(kind.text(2 * size)));
}

class GrowthOfModels : public testing::TestWithParam<Length> {};

TEST_P(GrowthOfModels, IsAtMostThatOfTheirText) {
  const GrowingModel& kind = KindOf(GrowingModels(), GetParam());
  const int size = GetParam().size;
  ExpectGrowth("model: " + NameOf(GetParam()), CountsOf(kind.write(size)), CountsOf(kind.write(2 * size)),
               kind.name == "symbolic lengths" ? kMostGrowthOfSums : kMostGrowth);
}

// "concat of rows" as a test is named: "concat_of_rows".
std::string TestName(std::string kind) {
  for (char& c : kind) c = absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return kind;
}

INSTANTIATE_TEST_SUITE_P(Programs, GrowthOfPrograms, testing::ValuesIn(LengthsOfPrograms()),
                         [](const auto& info) { return TestName(NameOf(info.param)); });
INSTANTIATE_TEST_SUITE_P(Models, GrowthOfModels, testing::ValuesIn(LengthsOfModels()),
                         [](const auto& info) { return TestName(NameOf(info.param)); });

}  // namespace
}  // namespace tilewright::graph

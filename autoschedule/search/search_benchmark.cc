// How many candidates of a search one thread makes, verifies and predicts in a second.
//
//   bazel run -c opt //autoschedule:search_benchmark
//
// In a candidate every choice of the rules is drawn anew, each value with equal probability; then come all steps of the
// schedule, verification, the structural hash, and what the learned model says: the projection, the features, the
// trees. It is asked for kBatch candidates at a time, as in a search, and has been trained. `items_per_second` counts
// candidates that are valid and were not seen before in the run; refused ones and repetitions take time too, so it says
// little where a space is small. `tries` counts all, per second. `accepted` is the part that is valid, `distinct` the
// part of those that is new; `make_us` and `predict_us` are microseconds per try, and the other times those of single
// stages.
#include <benchmark/benchmark.h>

#include <chrono>
#include <unordered_set>

#include "autoschedule/cost/learned.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/sketch/cpu/winograd_rule.h"
#include "autoschedule/sketch/space.h"
#include "ir/annotations.h"
#include "ir/ops/conv.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/structural.h"
#include "schedule/core/random.h"
#include "schedule/layout/hoist_prepack.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr size_t kBatch = 64;

using Clock = std::chrono::steady_clock;
double Microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

// Trees of the usual number and depth. Which times they are trained on does not matter.
void Train(const Space& space, const ProjectedModel& projected, LearnedModel& learned) {
  std::vector<Function> programs;
  for (uint64_t seed = 1; programs.size() < kBatch && seed < 8 * kBatch; ++seed) {
    Outcome<tilewright::Candidate> candidate = space.Make(Choices::Drawn(seed));
    if (candidate.ok()) programs.push_back(candidate->schedule.module().Find("main"));
  }
  learned.Update(programs, projected.Predict(programs), 0);
}

// Times some of the candidates again, one stage after the other.
void TimeStages(benchmark::State& state, const std::vector<Function>& programs, const Target& target,
                const LearnedModel& learned) {
  const auto time = [&](const char* name, const auto& stage) {
    const Clock::time_point start = Clock::now();
    for (const Function& program : programs) benchmark::DoNotOptimize(stage(program));
    state.counters[name] = Microseconds(Clock::now() - start) / static_cast<double>(programs.size());
  };
  if (programs.empty()) return;
  time("verify_us", [](const Function& program) { return VerifyProgram(program).verdict(); });
  time("hash_us", [](const Function& program) { return StructuralHash(program); });
  time("project_us", [&](const Function& program) { return Project(program, target).seconds; });
  const Clock::time_point start = Clock::now();
  benchmark::DoNotOptimize(learned.Predict(programs));
  state.counters["learned_us"] = Microseconds(Clock::now() - start) / static_cast<double>(programs.size());
}

void Candidate(benchmark::State& state, const Function& function) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Target target = HostTarget();
  const Function constant = function->params.size() > 2 ? MarkConstant(function, {1}) : function;
  const Space space(Module(constant), target, &intrins);
  const ProjectedModel projected(target);
  LearnedModel learned(target);
  Train(space, projected, learned);
  Random random(1);
  std::unordered_set<uint64_t> seen;
  std::vector<Function> batch, some;
  int64_t tries = 0, accepted = 0;
  Clock::duration making{}, predicting{};
  const auto predict = [&] {
    const Clock::time_point start = Clock::now();
    benchmark::DoNotOptimize(learned.Predict(batch));
    predicting += Clock::now() - start;
    some = std::move(batch);
    batch.clear();
  };
  for (auto _ : state) {
    ++tries;
    const Clock::time_point start = Clock::now();
    Outcome<tilewright::Candidate> candidate = space.Make(Choices::Drawn(random.Next()));
    making += Clock::now() - start;
    if (!candidate.ok()) continue;
    ++accepted;
    if (seen.insert(candidate->hash).second) batch.push_back(candidate->schedule.module().Find("main"));
    if (batch.size() == kBatch) predict();
  }
  if (!batch.empty()) predict();
  const auto part = [](double a, double b) { return b == 0 ? 0 : a / b; };
  state.SetItemsProcessed(static_cast<int64_t>(seen.size()));
  state.counters["tries"] = benchmark::Counter(static_cast<double>(tries), benchmark::Counter::kIsRate);
  state.counters["accepted"] = part(static_cast<double>(accepted), static_cast<double>(tries));
  state.counters["distinct"] = part(static_cast<double>(seen.size()), static_cast<double>(accepted));
  state.counters["make_us"] = part(Microseconds(making), static_cast<double>(tries));
  state.counters["predict_us"] = part(Microseconds(predicting), static_cast<double>(tries));
  TimeStages(state, some, target, learned);
}

Function Convolution(int64_t extent, int64_t channels) {
  return ops::Conv({.spatial = {extent, extent},
                    .in_channels = channels,
                    .out_channels = channels,
                    .windows = ops::Same({3, 1, 1}, 2)});
}

// Candidates of fewer stages: the sums over windows as they are.
Function WithoutWinograd(const Function& function) {
  FunctionNode::Fields fields = function->fields();
  fields.attrs[kWinograd] = MakeAnnotation(False());
  return Function(new FunctionNode(std::move(fields)));
}

#define CANDIDATES(name, program) BENCHMARK_CAPTURE(Candidate, name, program)->Unit(benchmark::kMicrosecond)
CANDIDATES(GMM_1024, ops::Matmul(1024, 1024, 1024));
CANDIDATES(C2D_3x3, Convolution(56, 64));
CANDIDATES(C2D_3x3_direct, WithoutWinograd(Convolution(56, 64)));
CANDIDATES(GMM_1024_u8s8, ops::Matmul(1024, 1024, 1024, *ops::OperandTypes::Parse("u8s8")));
CANDIDATES(TBG_128_12_64, ops::TransposeBatchMatmul(1, 128, 12, 64));
CANDIDATES(DEP_3x3, ops::Depthwise(1, 112, 112, 32, {3, 1, 1}));
CANDIDATES(SFM_1024, ops::Softmax(1024, 1024));

}  // namespace
}  // namespace tilewright

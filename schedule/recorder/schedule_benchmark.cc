// How many tensorized candidates one thread makes in a second.
//
//   bazel run -c opt //schedule:schedule_benchmark
//
// What comes before all choices (staging the operands) is done once, and candidates fork from there. In a candidate
// every size is sampled anew (rows, vectors and depth of the register tile, tiles of the loops around it, the number of
// parallel loops), all steps are applied that a contraction takes until it can be compiled, and the program is verified
// and hashed.
// `items_per_second` counts candidates that are valid and were not seen before in the run; refused ones and repetitions
// take time too. `accepted` is the part that is valid, `distinct` the part of those that is new; the others are
// microseconds per try.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "base/status_macros.h"
#include "intrin/fma_tile.h"
#include "intrin/registry.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"
#include "schedule/core/random.h"
#include "schedule/recorder/schedule.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr int kLanes = 16, kVectorRegisters = 32;
constexpr int64_t kMaxInnermostFactor = 256;

// A contraction by the roles of its block's iterators (their positions). The last row, column and inner iterator are
// those of the register tile.
struct Workload {
  Function program;
  const char* block;
  std::vector<int> rows, columns, inner;
};

// The blocks after the steps that precede all choices.
struct Staged {
  Schedule schedule;
  BlockRv block, row_stage, column_stage, write_back;
};

using Loops = std::vector<LoopRv>;
using Done = std::monostate;

Value Buffer(const char* side, int index) { return Value::List{side, index}; }

Outcome<Staged> Stage(const Workload& workload, IntrinRegistry* intrins) {
  Schedule sch(Module(workload.program), {.intrins = intrins});
  TW_ASSIGN_OR_RETURN(const BlockRv block, sch.GetBlock(workload.block));
  TW_ASSIGN_OR_RETURN(const BlockRv row_stage, sch.Reindex(block, Buffer("read", 0)));
  TW_ASSIGN_OR_RETURN(const BlockRv column_stage, sch.Reindex(block, Buffer("read", 1)));
  TW_ASSIGN_OR_RETURN(const BlockRv write_back, sch.CacheWrite(block, 0, "register"));
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> producers, sch.GetProducers(row_stage));
  for (BlockRv producer : producers) TW_RETURN_IF_ERROR(sch.ComputeInline(producer));
  TW_RETURN_IF_ERROR(sch.SetScope(row_stage, 0, "register"));
  return Staged{std::move(sch), block, row_stage, column_stage, write_back};
}

// One of first, ..., last.
Outcome<IntRv> SampleBetween(Schedule& sch, int64_t first, int64_t last) {
  Value::List candidates, weights;
  for (int64_t value = first; value <= last; ++value) {
    candidates.emplace_back(value);
    weights.emplace_back(1);
  }
  return sch.SampleCategorical(std::move(candidates), std::move(weights));
}

int64_t IntOf(const Schedule& sch, IntRv rv) { return *sch.Get(rv).As<int64_t>(); }

// The sizes of a register tile, with as many rows as there are registers for.
struct RegisterTile {
  IntRv rows, columns, depth;
};
Outcome<RegisterTile> SampleTile(Schedule& sch) {
  TW_ASSIGN_OR_RETURN(const IntRv columns,
                      sch.SampleCategorical({kLanes, 2 * kLanes, 3 * kLanes, 4 * kLanes}, {1, 1, 1, 1}));
  const int64_t vectors = IntOf(sch, columns) / kLanes;
  TW_ASSIGN_OR_RETURN(const IntRv rows, SampleBetween(sch, 1, (kVectorRegisters - 1 - vectors) / vectors));
  TW_ASSIGN_OR_RETURN(const IntRv depth, sch.SampleCategorical({1, 2, 4}, {1, 1, 1}));
  return RegisterTile{rows, columns, depth};
}

// Stores a stage that is indexed by the iterators `dims` with those in `last` as its last dimensions.
// With `width`, the last of them is divided: (last // width, others..., last % width).
Outcome<Done> StoreAs(Schedule& sch, BlockRv stage, std::vector<int> dims, const std::vector<int>& last,
                      int64_t width) {
  std::sort(dims.begin(), dims.end());
  std::vector<Var> inputs;
  std::vector<Expr> outputs, tail(last.size());
  for (int dim : dims) {
    inputs.emplace_back("i" + std::to_string(inputs.size()));
    const auto place = std::find(last.begin(), last.end(), dim);
    (place == last.end() ? outputs.emplace_back() : tail[static_cast<size_t>(place - last.begin())]) = inputs.back();
  }
  if (width != 0) {
    outputs.insert(outputs.begin(), FloorDiv(tail.back(), width));
    tail.back() = FloorMod(tail.back(), width);
  }
  outputs.insert(outputs.end(), tail.begin(), tail.end());
  return sch.TransformLayout(stage, Buffer("write", 0), IndexMap(std::move(inputs), std::move(outputs)));
}

// The register tile's loop below, and the loop over tiles divided in two.
struct DividedLoop {
  LoopRv outer, inner, tile;
};
Outcome<DividedLoop> Divide(Schedule& sch, LoopRv loop, IntRv tile) {
  TW_ASSIGN_OR_RETURN(const Loops tiles, sch.Split(loop, {Value(), tile}));
  TW_ASSIGN_OR_RETURN(const std::vector<IntRv> factors, sch.SamplePerfectTile(tiles[0], 2, kMaxInnermostFactor));
  TW_ASSIGN_OR_RETURN(const Loops blocks, sch.Split(tiles[0], {factors[0], factors[1]}));
  return DividedLoop{blocks[0], blocks[1], tiles[1]};
}

// Unrolls the loops of a block inside of `outer`, the innermost one vectorized when `vector` is set.
Outcome<Done> WriteOut(Schedule& sch, BlockRv block, LoopRv outer, bool vector) {
  TW_ASSIGN_OR_RETURN(Loops loops, sch.GetLoops(block));
  const uint32_t outer_id = sch.Get(outer).As<LoopRef>()->id;
  for (; sch.Get(loops.back()).As<LoopRef>()->id != outer_id; loops.pop_back()) {
    TW_RETURN_IF_ERROR(vector ? sch.Vectorize(loops.back()) : sch.Unroll(loops.back()));
    vector = false;
  }
  return Done();
}

Outcome<Done> MakeCandidate(const Workload& workload, Staged& staged) {
  Schedule& sch = staged.schedule;
  const int row = workload.rows.back(), column = workload.columns.back(), depth = workload.inner.back();

  TW_ASSIGN_OR_RETURN(const RegisterTile tile, SampleTile(sch));
  const int64_t rows = IntOf(sch, tile.rows), columns = IntOf(sch, tile.columns);
  Value::List padding(workload.rows.size() + workload.columns.size() + workload.inner.size(), Value(1));
  padding[static_cast<size_t>(row)] = tile.rows;
  padding[static_cast<size_t>(column)] = tile.columns;
  TW_RETURN_IF_ERROR(sch.PadEinsumInPlace(staged.block, padding));
  std::vector<int> row_dims = workload.rows, column_dims = workload.columns;
  row_dims.insert(row_dims.end(), workload.inner.begin(), workload.inner.end());
  column_dims.insert(column_dims.end(), workload.inner.begin(), workload.inner.end());
  TW_RETURN_IF_ERROR(StoreAs(sch, staged.row_stage, row_dims, {row, depth}, 0));
  TW_RETURN_IF_ERROR(StoreAs(sch, staged.column_stage, column_dims, {depth, column}, columns));

  TW_ASSIGN_OR_RETURN(const Loops loops, sch.GetLoops(staged.block));
  auto loop_of = [&](int iterator) { return loops[static_cast<size_t>(iterator)]; };
  TW_ASSIGN_OR_RETURN(const DividedLoop i, Divide(sch, loop_of(row), tile.rows));
  TW_ASSIGN_OR_RETURN(const DividedLoop j, Divide(sch, loop_of(column), tile.columns));
  TW_ASSIGN_OR_RETURN(const DividedLoop k, Divide(sch, loop_of(depth), tile.depth));
  // The other loops over rows go outside, one of them divided as well; those of the reduction between.
  Loops outer = {j.outer}, middle = {j.inner}, order;
  for (size_t r = 0; r + 1 < workload.rows.size(); ++r) {
    TW_ASSIGN_OR_RETURN(const std::vector<IntRv> factors,
                        sch.SamplePerfectTile(loop_of(workload.rows[r]), 2, kMaxInnermostFactor));
    TW_ASSIGN_OR_RETURN(const Loops blocks, sch.Split(loop_of(workload.rows[r]), {factors[0], factors[1]}));
    outer.push_back(blocks[0]);
    middle.push_back(blocks[1]);
  }
  outer.push_back(i.outer);
  middle.push_back(i.inner);
  order = outer;
  order.insert(order.end(), middle.begin(), middle.end());
  const LoopRv tile_loop = middle.back();
  order.push_back(k.outer);
  for (size_t r = 0; r + 1 < workload.inner.size(); ++r) order.push_back(loop_of(workload.inner[r]));
  order.insert(order.end(), {k.inner, i.tile, j.tile, k.tile});
  TW_RETURN_IF_ERROR(sch.Reorder(order));

  TW_RETURN_IF_ERROR(sch.ReverseComputeAt(staged.write_back, tile_loop));
  TW_RETURN_IF_ERROR(sch.ComputeAt(staged.row_stage, k.inner));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(staged.block, k.outer));
  TW_RETURN_IF_ERROR(
      sch.Tensorize(i.tile, FmaTileName(*InstructionNamed("fma", "f32", "avx512"), static_cast<int>(rows),
                                        static_cast<int>(columns), static_cast<int>(IntOf(sch, tile.depth)))));
  TW_RETURN_IF_ERROR(WriteOut(sch, init, tile_loop, true));
  TW_RETURN_IF_ERROR(WriteOut(sch, staged.write_back, tile_loop, true));
  TW_RETURN_IF_ERROR(WriteOut(sch, staged.row_stage, k.inner, false));

  TW_ASSIGN_OR_RETURN(const IntRv parallel, SampleBetween(sch, 1, static_cast<int64_t>(outer.size())));
  TW_ASSIGN_OR_RETURN(const LoopRv threads, sch.Fuse({outer.begin(), outer.begin() + IntOf(sch, parallel)}));
  return sch.Parallel(threads);
}

using Clock = std::chrono::steady_clock;
double Microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

void Candidate(benchmark::State& state, const Workload& workload) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Outcome<Staged> common = Stage(workload, &intrins);
  if (!common.ok()) return state.SkipWithError(RenderLine(common.refusal(), workload.program).c_str());
  Random random(1);
  std::unordered_set<uint64_t> seen;
  int64_t tries = 0, accepted = 0;
  Clock::duration scheduling{}, verifying{}, hashing{};
  for (auto _ : state) {
    ++tries;
    const Clock::time_point start = Clock::now();
    Staged staged = *common;
    staged.schedule.Seed(random.Next());
    const bool made = MakeCandidate(workload, staged).ok();
    const Clock::time_point scheduled = Clock::now();
    scheduling += scheduled - start;
    if (!made) continue;
    const Function result = staged.schedule.module().Main();
    const bool valid = VerifyProgram(result).verdict() != Verdict::kRefuted;
    const Clock::time_point verified = Clock::now();
    verifying += verified - scheduled;
    accepted += valid;
    if (valid) seen.insert(StructuralHash(result));
    hashing += Clock::now() - verified;
  }
  const auto part = [](double a, double b) { return b == 0 ? 0 : a / b; };
  state.SetItemsProcessed(static_cast<int64_t>(seen.size()));
  state.counters["accepted"] = part(static_cast<double>(accepted), static_cast<double>(tries));
  state.counters["distinct"] = part(static_cast<double>(seen.size()), static_cast<double>(accepted));
  state.counters["schedule_us"] = part(Microseconds(scheduling), static_cast<double>(tries));
  state.counters["verify_us"] = part(Microseconds(verifying), static_cast<double>(tries));
  state.counters["hash_us"] = part(Microseconds(hashing), static_cast<double>(tries));
}

Workload Matmul() { return {ops::Matmul(1024, 1024, 1024), "C", {0}, {1}, {2}}; }
Workload Convolution() {
  const ops::ConvShape shape = {
      .spatial = {56, 56}, .in_channels = 64, .out_channels = 64, .windows = ops::Same({3, 1, 1}, 2)};
  return {ops::Conv(shape), "conv2d_nhwc", {0, 1, 2}, {3}, {4, 5, 6}};
}

BENCHMARK_CAPTURE(Candidate, GMM_1024, Matmul())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Candidate, C2D_3x3, Convolution())->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tilewright

// How many tensorized candidates one thread makes in a second.
//
//   bazel run -c opt //schedule:schedule_benchmark
//
// What comes before all choices (staging the operands) is done once, and candidates fork from there. In a candidate
// every size is sampled anew (register tile, depth of the tile, tiles of the outer loops), the block is tensorized, the
// program verified and hashed.
// `items_per_second` counts candidates that are valid and were not seen before in the run; refused ones and repetitions
// take time too. `accepted` is the part that is valid, `distinct` the part of those that is new; the others are
// microseconds per try.
#include <benchmark/benchmark.h>

#include <chrono>
#include <unordered_set>

#include "absl/strings/substitute.h"
#include "intrin/fma_tile.h"
#include "intrin/registry.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"
#include "schedule/random.h"
#include "schedule/schedule.h"
#include "schedule/script/schedule_script.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

struct Steps {
  const char* common;     // before the first choice
  const char* candidate;  // $0 rows, $1 columns and $2 depth of the tile, $3 its intrinsic
};

constexpr Steps kMatmul = {R"(
b = sch.get_block("C")
a_stage = sch.reindex(b, ("read", 0))
b_stage = sch.reindex(b, ("read", 1))
out = sch.cache_write(b, 0, "register")
sch.set_scope(a_stage, 0, "register")
)",
                           R"(
b = sch.get_block("C")
a_stage = sch.get_block("A_reindex_reindex")
b_stage = sch.get_block("B_reindex_reindex")
out = sch.get_block("C_register")
sch.pad_einsum(b, padding=[$0, $1, 1])
sch.transform_layout(b_stage, ("write", 0), lambda j, k: (j // $1, k, j % $1))
i, j, k = sch.get_loops(b)
i, i_tile = sch.split(i, factors=[None, $0])
j, j_tile = sch.split(j, factors=[None, $1])
k, k_tile = sch.split(k, factors=[None, $2])
t0, t1 = sch.sample_perfect_tile(i, n=2, max_innermost_factor=256)
i0, i1 = sch.split(i, factors=[t0, t1])
t2, t3 = sch.sample_perfect_tile(j, n=2, max_innermost_factor=256)
j0, j1 = sch.split(j, factors=[t2, t3])
t4, t5 = sch.sample_perfect_tile(k, n=2, max_innermost_factor=256)
k0, k1 = sch.split(k, factors=[t4, t5])
sch.reorder(j0, i0, j1, i1, k0, k1, i_tile, j_tile, k_tile)
sch.reverse_compute_at(out, i1)
sch.compute_at(a_stage, k1)
init = sch.decompose_reduction(b, k0)
sch.tensorize(i_tile, "$3")
sch.parallel(j0)
)"};

constexpr Steps kConvolution = {R"(
b = sch.get_block("conv2d_nhwc")
pad = sch.get_block("pad_temp")
a_stage = sch.reindex(b, ("read", 0))
b_stage = sch.reindex(b, ("read", 1))
out = sch.cache_write(b, 0, "register")
sch.compute_inline(pad)
sch.set_scope(a_stage, 0, "register")
sch.transform_layout(a_stage, ("write", 0), lambda n, h, w, kh, kw, c: (n, h, kh, kw, w, c))
)",
                                R"(
b = sch.get_block("conv2d_nhwc")
a_stage = sch.get_block("pad_temp_reindex_reindex")
b_stage = sch.get_block("weight_reindex_reindex")
out = sch.get_block("conv2d_nhwc_register")
sch.pad_einsum(b, padding=[1, 1, $0, $1, 1, 1, 1])
sch.transform_layout(b_stage, ("write", 0), lambda o, kh, kw, c: (o // $1, kh, kw, c, o % $1))
n, h, w, o, kh, kw, c = sch.get_loops(b)
w, w_tile = sch.split(w, factors=[None, $0])
o, o_tile = sch.split(o, factors=[None, $1])
c, c_tile = sch.split(c, factors=[None, $2])
t0, t1 = sch.sample_perfect_tile(h, n=2, max_innermost_factor=64)
h0, h1 = sch.split(h, factors=[t0, t1])
t2, t3 = sch.sample_perfect_tile(w, n=2, max_innermost_factor=64)
w0, w1 = sch.split(w, factors=[t2, t3])
t4, t5 = sch.sample_perfect_tile(c, n=2, max_innermost_factor=64)
c0, c1 = sch.split(c, factors=[t4, t5])
t6, t7 = sch.sample_perfect_tile(o, n=2, max_innermost_factor=64)
o0, o1 = sch.split(o, factors=[t6, t7])
sch.reorder(n, o0, h0, w0, o1, h1, w1, c0, kh, kw, c1, w_tile, o_tile, c_tile)
sch.reverse_compute_at(out, w1)
sch.compute_at(a_stage, c1)
init = sch.decompose_reduction(b, c0)
sch.tensorize(w_tile, "$3")
sch.parallel(h0)
)"};

using Clock = std::chrono::steady_clock;
double Microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

void Candidate(benchmark::State& state, const Function& op, const Steps& steps) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Schedule common(Module(op), {.intrins = &intrins});
  if (const auto error = ApplyScheduleScript(steps.common, "common", &common, {})) {
    return state.SkipWithError(error->diagnostic.ToString().c_str());
  }
  Random random(1);
  std::unordered_set<uint64_t> seen;
  int64_t tries = 0, accepted = 0;
  Clock::duration scheduling{}, verifying{}, hashing{};
  for (auto _ : state) {
    ++tries;
    const Clock::time_point start = Clock::now();
    const int vectors = 1 + static_cast<int>(random.Next() % 4);
    const int rows = 1 + static_cast<int>(random.Next() % static_cast<uint64_t>(31 / vectors - 1));
    const int depth = 1 << (random.Next() % 3);
    const std::string tile = FmaTileName(rows, 16 * vectors, depth, true);
    Schedule schedule = common;
    schedule.Seed(random.Next());
    const auto error = ApplyScheduleScript(absl::Substitute(steps.candidate, rows, 16 * vectors, depth, tile),
                                           "candidate", &schedule, {});
    const Clock::time_point scheduled = Clock::now();
    scheduling += scheduled - start;
    if (error) continue;
    const Function result = schedule.module().functions()[0];
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

BENCHMARK_CAPTURE(Candidate, GMM_1024, ops::Matmul(1024, 1024, 1024), kMatmul)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(
    Candidate, C2D_3x3,
    ops::Conv({.spatial = {56, 56}, .in_channels = 64, .out_channels = 64, .windows = ops::Same({3, 1, 1}, 2)}),
    kConvolution)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tilewright

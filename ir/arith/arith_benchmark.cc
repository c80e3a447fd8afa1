// Times of the operations that a schedule search repeats for every candidate.
//
//   bazel run -c opt //ir/arith:arith_benchmark
#include <benchmark/benchmark.h>

#include "ir/arith/analyzer.h"
#include "ir/arith/int_set.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/region.h"

namespace tilewright::arith {
namespace {

// The loops of a tiled matrix product and its bindings.
struct Tiled {
  Var i0{"i_0"}, j0{"j_0"}, k0{"k_0"}, i1{"i_1"}, j1{"j_1"}, k1{"k_1"}, i2{"i_2"}, j2{"j_2"};
  Domain loops = {{i0, {0, 8}}, {j0, {0, 16}}, {k0, {0, 64}}, {i1, {0, 8}},
                  {j1, {0, 4}}, {k1, {0, 16}}, {i2, {0, 16}}, {j2, {0, 16}}};
  Expr vi = i0 * 128 + i1 * 16 + i2, vj = j0 * 64 + j1 * 16 + j2, vk = k0 * 16 + k1;

  void Bind(Analyzer* analyzer) const {
    for (const auto& [var, range] : loops) analyzer->Bind(var, range);
  }
};

void BM_MakeAnalyzer(benchmark::State& state) {
  for (auto _ : state) {
    Analyzer analyzer;
    benchmark::DoNotOptimize(analyzer);
  }
}
BENCHMARK(BM_MakeAnalyzer);

void BM_BindEightLoops(benchmark::State& state) {
  Tiled tiled;
  for (auto _ : state) {
    Analyzer analyzer;
    tiled.Bind(&analyzer);
    benchmark::DoNotOptimize(analyzer);
  }
}
BENCHMARK(BM_BindEightLoops);

void Simplify(benchmark::State& state, const Expr& e, const Tiled& tiled) {
  Analyzer analyzer;
  tiled.Bind(&analyzer);
  for (auto _ : state) benchmark::DoNotOptimize(analyzer.Simplify(e));
}
void BM_SimplifyFinished(benchmark::State& state) {
  Tiled tiled;
  Simplify(state, tiled.vi, tiled);
}
BENCHMARK(BM_SimplifyFinished);
void BM_SimplifySplitOfFused(benchmark::State& state) {
  Tiled tiled;
  Simplify(state, FloorDiv(tiled.i1 * 16 + tiled.i2, 16), tiled);
}
BENCHMARK(BM_SimplifySplitOfFused);
void BM_SimplifyPackedIndex(benchmark::State& state) {
  Tiled tiled;
  Simplify(state, FloorDiv(tiled.vi, 16) * 1024 + tiled.vk * 16 + FloorMod(tiled.vi, 16), tiled);
}
BENCHMARK(BM_SimplifyPackedIndex);
void BM_SimplifyPredicate(benchmark::State& state) {
  Tiled tiled;
  Simplify(state, And(tiled.vi < Expr(1000), tiled.vj < Expr(1024)), tiled);
}
BENCHMARK(BM_SimplifyPredicate);

void BM_DetectBindings(benchmark::State& state) {
  Tiled tiled;
  Analyzer analyzer;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        DetectIterMap({tiled.vi, tiled.vj, tiled.vk}, tiled.loops, {}, IterMapLevel::kSurjective, &analyzer));
  }
}
BENCHMARK(BM_DetectBindings);

void BM_DetectWithPredicate(benchmark::State& state) {
  Tiled tiled;
  Analyzer analyzer;
  for (auto _ : state) {
    benchmark::DoNotOptimize(DetectIterMap({tiled.vi, tiled.vj, tiled.vk}, tiled.loops, tiled.vi < Expr(1000),
                                           IterMapLevel::kSurjective, &analyzer));
  }
}
BENCHMARK(BM_DetectWithPredicate);

void BM_DivideBindings(benchmark::State& state) {
  Tiled tiled;
  Analyzer analyzer;
  for (auto _ : state) {
    benchmark::DoNotOptimize(SubspaceDivide({tiled.vi, tiled.vj, tiled.vk}, tiled.loops, 3, {}, &analyzer));
  }
}
BENCHMARK(BM_DivideBindings);

void BM_RegionOfTile(benchmark::State& state) {
  Tiled tiled;
  Analyzer analyzer;
  Domain inner(tiled.loops.begin() + 3, tiled.loops.end());
  Region region = {{tiled.vi, 1}, {tiled.vk, 1}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(MayTouch(region, inner, {}, &analyzer));
    benchmark::DoNotOptimize(MustCover(region, inner, {}, &analyzer));
  }
}
BENCHMARK(BM_RegionOfTile);

}  // namespace
}  // namespace tilewright::arith

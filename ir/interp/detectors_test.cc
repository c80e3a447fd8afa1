// What the detectors find, and that they find nothing in right programs.
#include "ir/interp/testing.h"

namespace tilewright::interp {
namespace {

TEST(Bounds, NamesBufferIndexAndBlock) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4, 4}, kF32);
  Buffer b = f.Compute("B", {4, 4}, [&](Var i, Var j) { return a(i, j + 1); });
  const Function function = f.Build({b});
  NDArray x(kF32, {4, 4}), y(kF32, {4, 4});
  EXPECT_EQ(Text(RunOnce(function, {x, y})),
            "OUT_OF_RANGE: out of bounds: block \"B\" reads A[0, 4]; dimension 1 has extent 4 (i0 = 0, i1 = 3)");
  // Without the detector the access stays in A's memory until the last row.
  EXPECT_EQ(Text(RunOnce(function, {x, y}, {})),
            "OUT_OF_RANGE: out of bounds: block \"B\" reads A[3, 4], outside of the buffer's memory (i0 = 3, i1 = 3)");
}

TEST(Bounds, NegativeIndices) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kF32);
  f.Loop("i", 4, [&](Var i) { f.Store(a, ConstFloat(kF32, 1), {i - 1}); });
  NDArray x(kF32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x}, {})),
            "OUT_OF_RANGE: out of bounds: block \"root\" writes A[-1], outside of the buffer's memory (i = 0)");
}

TEST(Bounds, IteratorsStayInTheirDomain) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {8}, kF32);
  f.Loop("i", 5, [&](Var i) {
    f.Block("a", [&](BlockBuilder& block) {
      Var v = block.Spatial(8, i * 2, "v");
      f.Store(a, ConstFloat(kF32, 1), {v});
    });
  });
  NDArray x(kF32, {8});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})),
            "OUT_OF_RANGE: iterator v of block \"a\" is 8, outside of its domain [0, 8)");
}

TEST(Bounds, PredicatesComeFirst) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {10}, kF32);
  f.Grid({4, 3}, [&](const std::vector<Var>& v) {
    f.Block("a", [&](BlockBuilder& block) {
      const Expr at = v[0] * 3 + v[1];
      Var x = block.Spatial(10, at, "x");
      block.Where(at < 10);
      f.Store(a, ConstFloat(kF32, 1), {x});
    });
  });
  NDArray x(kF32, {10});
  EXPECT_EQ(Text(RunOnce(f.Build(), {Uninitialized(x)})), "OK");
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(x.Get(i), 1);
}

TEST(Uninitialized, ReadsOfWhatWasNeverWritten) {
  FunctionBuilder f;
  Buffer out = f.Input("out", {4}, kF32);
  Buffer t = f.Alloc("t", {4}, kF32);
  f.Loop("i", 3, [&](Var i) { f.Store(t, ConstFloat(kF32, 1), {i}); });
  f.Loop("j", 4, [&](Var j) { f.Store(out, t(j), {j}); });
  NDArray x(kF32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})),
            "FAILED_PRECONDITION: uninitialized: block \"root\" reads t[3], which was never written (j = 3)");
}

TEST(Uninitialized, MemoryIsNewForEachIteration) {
  FunctionBuilder f;
  Buffer out = f.Input("out", {2}, kF32);
  f.Loop("i", 2, [&](Var i) {
    f.Block("b", [&](BlockBuilder& block) {
      Var v = block.Spatial(2, i);
      Buffer t = f.Alloc("t", {1}, kF32);
      f.If(v == 0, [&] { f.Store(t, ConstFloat(kF32, 1), {0}); });
      f.Store(out, t(0), {v});
    });
  });
  NDArray x(kF32, {2});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})),
            "FAILED_PRECONDITION: uninitialized: block \"b\" reads t[0], which was never written (i = 1)");
}

TEST(Uninitialized, OutputsOfAReductionWithoutInit) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kF32), s = f.Input("S", {1}, kF32);
  f.Loop("i", 4, [&](Var i) { f.Store(s, s(0) + a(i), {0}); });
  const Function function = f.Build();
  NDArray x(kF32, {4}), y(kF32, {1});
  EXPECT_EQ(Text(RunOnce(function, {x, y})), "OK");
  EXPECT_EQ(Text(RunOnce(function, {x, Uninitialized(y)})),
            "FAILED_PRECONDITION: uninitialized: block \"root\" reads S[0], which was never written (i = 0)");
}

Function ReduceIn(ForKind kind) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kF32), s = f.Input("S", {1}, kF32);
  f.Loop(
      "i", 4,
      [&](Var i) {
        f.Block("sum", [&](BlockBuilder& block) {
          Var v = block.Reduce(4, i);
          f.Store(s, s(0) + a(v), {0});
        });
      },
      kind);
  return f.Build();
}

TEST(Races, ParallelReduction) {
  NDArray x(kF32, {4}), y(kF32, {1});
  EXPECT_EQ(Text(RunOnce(ReduceIn(ForKind::kSerial), {x, y})), "OK");
  for (ForKind kind : {ForKind::kParallel, ForKind::kVectorized}) {
    EXPECT_EQ(Text(RunOnce(ReduceIn(kind), {x, y})),
              "ABORTED: race: block \"sum\" reads S[0] in i = 1, which block \"sum\" writes in i = 0");
  }
}

TEST(Races, WritesOfTheSameElement) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kF32);
  f.Loop("i", 8, [&](Var i) { f.Store(a, ConstFloat(kF32, 1), {FloorDiv(i, 2)}); }, ForKind::kParallel);
  NDArray x(kF32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})),
            "ABORTED: race: block \"root\" writes A[0] in i = 1, which block \"root\" writes in i = 0");
}

TEST(Races, ReadsBesideAWrite) {
  // Iteration 0 and 1 read element 5, iteration 5 writes it.
  FunctionBuilder f;
  Buffer a = f.Input("A", {8}, kF32), b = f.Input("B", {8}, kF32);
  f.Loop(
      "i", 8,
      [&](Var i) {
        f.Store(b, a(5), {i});
        f.Store(a, ConstFloat(kF32, 1), {i});
      },
      ForKind::kParallel);
  NDArray x(kF32, {8}), y(kF32, {8});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x, y})),
            "ABORTED: race: block \"root\" writes A[5] in i = 5, which block \"root\" reads in i = 0");
}

TEST(Races, NestedLoopsAndOrderedLoopsAreClean) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4, 4}, kF32), s = f.Input("S", {4}, kF32);
  f.Loop(
      "i", 4,
      [&](Var i) {
        f.Loop("j", 4, [&](Var j) { f.Store(a, ConstFloat(kF32, 1), {i, j}); }, ForKind::kParallel);
        f.Store(s, ConstFloat(kF32, 0), {i});
        f.Loop("k", 4, [&](Var k) { f.Store(s, s(i) + a(i, k), {i}); });
      },
      ForKind::kParallel);
  // A second loop over the same memory comes after the first.
  f.Loop("i", 4, [&](Var i) { f.Store(s, s(Expr(3) - i) * 2, {Expr(3) - i}); }, ForKind::kParallel);
  NDArray x(kF32, {4, 4}), y(kF32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {Uninitialized(x), Uninitialized(y)})), "OK");
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.Get(i), 8);
}

// Registers that lie outside of a parallel loop are a copy of their own in each iteration.
TEST(Races, RegistersBelongToTheIteration) {
  auto program = [](bool carried) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {4}, kF32);
    Buffer r = f.Alloc("R", {1}, kF32, Scope::Parse("register"));
    if (carried) f.Store(r, ConstFloat(kF32, 0), {0});
    f.Loop(
        "i", 4,
        [&](Var i) {
          if (!carried) f.Store(r, ConstFloat(kF32, 1), {0});
          f.Store(r, r(0) + 1, {0});
          f.Store(a, r(0), {i});
        },
        ForKind::kParallel);
    return f.Build();
  };
  NDArray x(kF32, {4});
  EXPECT_EQ(Text(RunOnce(program(false), {x}, {.check_races = true})), "OK");
  EXPECT_EQ(Text(RunOnce(program(true), {x}, {.check_races = true})),
            "ABORTED: race: block \"root\" reads R[0] in i = 1, which block \"root\" writes in i = 0");
}

// So are caches in global memory that only the iterations use.
TEST(Races, CachesOfIterationsBelongToThem) {
  auto program = [](bool read_after, bool carried) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {4}, kF32);
    Buffer r = f.Alloc("R", {2}, kF32);
    f.Loop(
        "i", 4,
        [&](Var i) {
          if (!carried) f.Store(r, ConstFloat(kF32, 1), {0});
          f.Store(r, carried ? r(1) : r(0) + 1, {0});
          f.Store(r, ConstFloat(kF32, 3), {1});
          f.Store(a, r(0), {i});
        },
        ForKind::kParallel);
    if (read_after) f.Store(a, r(0), {0});
    return f.Build();
  };
  NDArray x(kF32, {4});
  EXPECT_EQ(Text(RunOnce(program(false, false), {x}, {.check_races = true})), "OK");
  EXPECT_EQ(Text(RunOnce(program(true, false), {x}, {.check_races = true})),
            "ABORTED: race: block \"root\" writes R[0] in i = 1, which block \"root\" writes in i = 0");
  EXPECT_EQ(Text(RunOnce(program(false, true), {x}, {.check_races = true})),
            "ABORTED: race: block \"root\" reads R[1] in i = 1, which block \"root\" writes in i = 0");
}

TEST(Races, ManyShortParallelLoopsTakeLittleMemory) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {8}, kF32);
  f.Loop("n", 3000000,
         [&](Var) { f.Loop("i", 8, [&](Var i) { f.Store(a, ConstFloat(kF32, 1), {i}); }, ForKind::kVectorized); });
  // What was forgotten must not be taken for something that runs now.
  f.Loop("j", 2, [&](Var j) { f.Store(a, ConstFloat(kF32, 1), {j}); }, ForKind::kParallel);
  f.Loop("k", 2, [&](Var) { f.Store(a, ConstFloat(kF32, 1), {1}); }, ForKind::kParallel);
  NDArray x(kF32, {8});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x}, {.check_races = true})),
            "ABORTED: race: block \"root\" writes A[1] in k = 1, which block \"root\" writes in k = 0");
}

TEST(Races, OuterIterationsRaceThroughInnerLoops) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kF32);
  f.Loop(
      "i", 2, [&](Var) { f.Loop("j", 4, [&](Var j) { f.Store(a, ConstFloat(kF32, 1), {j}); }, ForKind::kParallel); },
      ForKind::kParallel);
  NDArray x(kF32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})),
            "ABORTED: race: block \"root\" writes A[0] in i = 1, j = 0, which block \"root\" writes in i = 0, j = 0");
}

TEST(Races, TemporariesOfAnIterationAreItsOwn) {
  FunctionBuilder f;
  Buffer out = f.Input("out", {4}, kF32);
  f.Loop(
      "i", 4,
      [&](Var i) {
        f.Block("b", [&](BlockBuilder& block) {
          Var v = block.Spatial(4, i);
          Buffer t = f.Alloc("t", {1}, kF32);
          f.Store(t, ConstFloat(kF32, 3), {0});
          f.Store(out, t(0), {v});
        });
      },
      ForKind::kParallel);
  NDArray x(kF32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})), "OK");
}

TEST(Regions, AccessesOutsideOfTheDeclaredOnes) {
  const auto program = [](int declared) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {8}, kF32), b = f.Input("B", {4}, kF32);
    f.Loop("i", 4, [&](Var i) {
      f.Block("b", [&](BlockBuilder& block) {
        Var v = block.Spatial(4, i);
        block.Reads({{a, {{v * 2, declared}}}});
        f.Store(b, a(v * 2) + a(v * 2 + 1), {v});
      });
    });
    return f.Build();
  };
  NDArray x(kF32, {8}), y(kF32, {4});
  EXPECT_EQ(Text(RunOnce(program(2), {x, y})), "OK");
  EXPECT_EQ(Text(RunOnce(program(1), {x, y})),
            "PERMISSION_DENIED: undeclared access: block \"b\" reads A[1], outside of the regions that block \"b\" "
            "declares (i = 0)");
}

TEST(Regions, OuterBlocksCountToo) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {8}, kF32);
  f.Loop("o", 2, [&](Var o) {
    f.Block("outer", [&](BlockBuilder& outer) {
      Var vo = outer.Spatial(2, o);
      outer.Writes({{a, {{vo * 4, 3}}}});
      f.Loop("i", 4, [&](Var i) {
        f.Block("inner", [&](BlockBuilder& inner) {
          Var vi = inner.Spatial(4, i);
          f.Store(a, ConstFloat(kF32, 0), {vo * 4 + vi});
        });
      });
    });
  });
  NDArray x(kF32, {8});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})),
            "PERMISSION_DENIED: undeclared access: block \"inner\" writes A[3], outside of the regions that block "
            "\"outer\" declares (o = 0, i = 3)");
}

}  // namespace
}  // namespace tilewright::interp

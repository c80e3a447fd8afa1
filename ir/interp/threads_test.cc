// Thread-bound loops: barriers, ownership of memory, races between threads.
#include "ir/interp/testing.h"

namespace tilewright::interp {
namespace {

void Threads(FunctionBuilder& f, const char* tag, int extent, const std::function<void(Var)>& body) {
  f.Loop(tag[0] == 'b' ? "bx" : "tx", extent, body, ForKind::kThreadBound, tag);
}

void Barrier(FunctionBuilder& f, OwnerLevel participants = OwnerLevel::kBlock) {
  f.Add(Ref<SyncNode>(new SyncNode(SyncKind::kBarrier, Scope::Parse("shared"), participants)));
}

// Each thread writes its element of shared memory and reads another's: the array is reversed.
Function Reverse(bool barrier, int threads = 8) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {2, threads}, kF32), b = f.Input("B", {2, threads}, kF32);
  Threads(f, "blockIdx.x", 2, [&](Var bx) {
    f.Block("block", [&](BlockBuilder& block) {
      Var v = block.Spatial(2, bx);
      Buffer s = f.Alloc("S", {threads}, kF32, Scope::Parse("shared"));
      Threads(f, "threadIdx.x", threads, [&](Var tx) {
        f.Store(s, a(v, tx), {tx});
        if (barrier) Barrier(f);
        f.Store(b, s(Expr(threads - 1) - tx), {v, tx});
      });
    });
  });
  return f.Build();
}

TEST(Threads, MeetAtBarriers) {
  NDArray x(kF32, {2, 8}), y(kF32, {2, 8});
  FillUniform(x, 1);
  ASSERT_EQ(Text(RunOnce(Reverse(true), {x, Uninitialized(y)})), "OK");
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(y.Get(8 + i), x.Get(15 - i));
}

TEST(Threads, WithoutTheBarrierItIsARace) {
  NDArray x(kF32, {2, 8}), y(kF32, {2, 8});
  EXPECT_EQ(Text(RunOnce(Reverse(false), {x, y}, {.check_races = true})),
            "ABORTED: race: block \"block\" writes S[4] in bx = 0, threadIdx.x = 4, which block \"block\" reads in "
            "bx = 0, threadIdx.x = 3");
}

TEST(Threads, BarriersInALoopSeparateItsIterations) {
  // An inclusive sum: in step d, thread t adds the element d before it.
  const auto program = [](bool second_barrier) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {8}, kI32);
    Threads(f, "threadIdx.x", 8, [&](Var tx) {
      f.Block("scan", [&](BlockBuilder& block) {
        Var t = block.Opaque(8, tx);
        Buffer mine = f.Alloc("mine", {1}, kI32, Scope::Parse("local"));
        f.Loop("d", 3, [&](Var d) {
          const Expr distance = Call(kI32, "shift_left", {Expr(1), d});
          f.Store(mine, IfThenElse(t >= distance, a(t - distance), Expr(0)), {0});
          Barrier(f);
          f.Store(a, a(t) + mine(0), {t});
          if (second_barrier) Barrier(f);
        });
      });
    });
    return f.Build();
  };
  NDArray x(kI32, {8});
  for (int64_t i = 0; i < 8; ++i) x.SetInt(i, i + 1);
  ASSERT_EQ(Text(RunOnce(program(true), {x}, {.check_uninitialized = true, .check_races = true})), "OK");
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(x.GetInt(i), (i + 1) * (i + 2) / 2);
  EXPECT_EQ(RunOnce(program(false), {x}, {.check_races = true}).code(), absl::StatusCode::kAborted);
}

TEST(Threads, TwoDimensionsWithCodeBetween) {
  FunctionBuilder f;
  Buffer b = f.Input("B", {2, 4}, kI32);
  f.Block("block", [&](BlockBuilder& block) {
    block.Reads({});
    block.Writes({BufferRegion::Full(b)});
    Buffer rows = f.Alloc("rows", {2}, kI32, Scope::Parse("shared"));
    Threads(f, "threadIdx.y", 2, [&](Var ty) {
      f.Store(rows, ty * 10, {ty});
      Threads(f, "threadIdx.x", 4, [&](Var tx) {
        Barrier(f);
        f.Store(b, rows(Expr(1) - ty) + tx, {ty, tx});
      });
    });
  });
  NDArray y(kI32, {2, 4});
  ASSERT_EQ(Text(RunOnce(f.Build(), {Uninitialized(y)})), "OK");
  EXPECT_EQ(y.GetInt(1), 11);
  EXPECT_EQ(y.GetInt(6), 2);
}

TEST(Threads, LocalMemoryIsOnePerThread) {
  FunctionBuilder f;
  Buffer b = f.Input("B", {4}, kI32);
  Threads(f, "threadIdx.x", 4, [&](Var tx) {
    f.Block("b", [&](BlockBuilder& block) {
      Var v = block.Spatial(4, tx);
      Buffer t = f.Alloc("t", {1}, kI32, Scope::Parse("local"));
      f.Store(t, v * v, {0});
      Barrier(f);
      f.Store(b, t(0), {v});
    });
  });
  NDArray y(kI32, {4});
  ASSERT_EQ(Text(RunOnce(f.Build(), {Uninitialized(y)})), "OK");
  EXPECT_EQ(y.GetInt(3), 9);
}

TEST(Threads, CombineInAReduction) {
  // S = sum of A; `other` also reads S while threads still add to it.
  const auto program = [](bool other) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {8}, kF32), s = f.Input("S", {1}, kF32), b = f.Input("B", {8}, kF32);
    Threads(f, "threadIdx.x", 8, [&](Var tx) {
      f.Block("sum", [&](BlockBuilder& block) {
        Var v = block.Reduce(8, tx);
        block.Init([&] { f.Store(s, 0, {0}); });
        f.Store(s, s(0) + a(v), {0});
      });
      if (!other) return;
      f.Block("other", [&](BlockBuilder& block) {
        Var v = block.Spatial(8, tx);
        f.Store(b, s(0), {v});
      });
    });
    return f.Build();
  };
  NDArray x(kF32, {8}), y(kF32, {1}), z(kF32, {8});
  FillIntegers(x, 1);
  double sum = 0;
  for (int64_t i = 0; i < 8; ++i) sum += x.Get(i);
  ASSERT_EQ(Text(RunOnce(program(false), {x, Uninitialized(y), z})), "OK");
  EXPECT_EQ(y.Get(0), sum);
  EXPECT_EQ(RunOnce(program(true), {x, y, z}).code(), absl::StatusCode::kAborted);
}

// What the threads of a block combine, its threads have: not those of other blocks, and nobody outside.
TEST(Threads, SumsStayWithTheirBlock) {
  const auto program = [](bool inside) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {8}, kF32), b = f.Input("B", {2}, kF32);
    Buffer s = f.Alloc("s", {2}, kF32, Scope::Parse("shared"));
    const auto copy = [&](const Expr& at) {
      f.Block("copy", [&](BlockBuilder& block) {
        Var v = block.Spatial(2, at);
        f.Store(b, s(v), {v});
      });
    };
    Threads(f, "blockIdx.x", 2, [&](Var bx) {
      Threads(f, "threadIdx.x", 4, [&](Var tx) {
        f.Block("sum", [&](BlockBuilder& block) {
          Var v = block.Spatial(2, bx), k = block.Reduce(4, tx);
          block.Init([&] { f.Store(s, 0, {v}); });
          f.Store(s, s(v) + a(v * 4 + k), {v});
        });
      });
      if (inside) copy(bx);
    });
    if (!inside) f.Loop("i", 2, [&](Var i) { copy(i); });
    return f.Build();
  };
  NDArray x(kF32, {8}), y(kF32, {2});
  FillIntegers(x, 1);
  EXPECT_EQ(Text(RunOnce(program(true), {x, Uninitialized(y)})), "OK");
  EXPECT_EQ(RunOnce(program(false), {x, Uninitialized(y)}).code(), absl::StatusCode::kAborted);
}

TEST(Threads, BarriersThatSomeNeverReach) {
  FunctionBuilder f;
  Buffer b = f.Input("B", {4}, kI32);
  Threads(f, "threadIdx.x", 4, [&](Var tx) {
    f.If(tx < 2, [&] { Barrier(f); });
    f.Store(b, tx, {tx});
  });
  NDArray y(kI32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {y})),
            "FAILED_PRECONDITION: barrier divergence: some threads of the block ended without reaching it");
  FunctionBuilder g;
  g.Input("B", {4}, kI32);
  Threads(g, "threadIdx.x", 4, [&](Var tx) { g.If(tx < 2, [&] { Barrier(g); }, [&] { Barrier(g); }); });
  EXPECT_EQ(Text(RunOnce(g.Build(), {y})),
            "FAILED_PRECONDITION: barrier divergence: the threads of the block wait at different barriers");
}

TEST(Threads, WarpBarriersOrderOnlyTheirWarp) {
  const auto program = [](int distance) {
    FunctionBuilder f;
    Buffer b = f.Input("B", {64}, kI32);
    f.Block("block", [&](BlockBuilder& block) {
      block.Reads({});
      block.Writes({BufferRegion::Full(b)});
      Buffer s = f.Alloc("S", {64}, kI32, Scope::Parse("shared"));
      Threads(f, "threadIdx.x", 64, [&](Var tx) {
        f.Store(s, tx, {tx});
        Barrier(f, OwnerLevel::kWarp);
        f.Store(b, s(FloorMod(tx + distance, 64)), {tx});
      });
    });
    return f.Build();
  };
  NDArray y(kI32, {64});
  ASSERT_EQ(Text(RunOnce(program(0), {y})), "OK");
  EXPECT_EQ(y.GetInt(40), 40);
  EXPECT_EQ(RunOnce(program(1), {y}).code(), absl::StatusCode::kAborted);  // thread 31 reads what 32 writes
}

TEST(Threads, WarpMemoryIsOnePerWarp) {
  FunctionBuilder f;
  Buffer b = f.Input("B", {64}, kI32);
  Threads(f, "threadIdx.x", 64, [&](Var tx) {
    f.Block("b", [&](BlockBuilder& block) {
      Var v = block.Opaque(64, tx);
      Buffer w = f.Alloc("W", {32}, kI32, Scope::Parse("warp"));
      const Expr lane = FloorMod(v, 32);
      f.Store(w, v, {lane});
      Barrier(f, OwnerLevel::kWarp);
      f.Store(b, w(Expr(31) - lane), {v});
    });
  });
  NDArray y(kI32, {64});
  ASSERT_EQ(Text(RunOnce(f.Build(), {y})), "OK");
  EXPECT_EQ(y.GetInt(0), 31);
  EXPECT_EQ(y.GetInt(32), 63);
}

// What schedules give before lowering: a cooperative copy bound to the same threads inside of the threads' loop.
TEST(Threads, AnInnerLoopOfTheSameTagIsCooperative) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kI32), b = f.Input("B", {4}, kI32);
  f.Block("block", [&](BlockBuilder& block) {
    block.Reads({BufferRegion::Full(a)});
    block.Writes({BufferRegion::Full(b)});
    Buffer s = f.Alloc("S", {4}, kI32, Scope::Parse("shared"));
    Threads(f, "threadIdx.x", 4, [&](Var tx) {
      f.Loop("k", 3, [&](Var) {
        Threads(f, "threadIdx.x", 4, [&](Var copier) { f.Store(s, a(copier), {copier}); });
        f.Store(b, s(Expr(3) - tx), {tx});
      });
    });
  });
  NDArray x(kI32, {4}), y(kI32, {4});
  FillIntegers(x, 1);
  ASSERT_EQ(Text(RunOnce(f.Build(), {x, Uninitialized(y)})), "OK");
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.GetInt(i), x.GetInt(3 - i));
}

TEST(Threads, BlocksRaceWithEachOther) {
  FunctionBuilder f;
  Buffer b = f.Input("B", {1}, kI32);
  Threads(f, "blockIdx.x", 2, [&](Var bx) { f.Store(b, bx, {0}); });
  NDArray y(kI32, {1});
  EXPECT_EQ(Text(RunOnce(f.Build(), {y})),
            "ABORTED: race: block \"root\" writes B[0] in bx = 1, which block \"root\" writes in bx = 0");
}

// Shared memory whose extent changes from one instance of a block to the next.
TEST(Threads, SharedMemoryGrows) {
  FunctionBuilder f;
  Buffer b = f.Input("B", {6}, kI32);
  Threads(f, "threadIdx.y", 1, [&](Var) {
    f.Loop("i", 6, [&](Var i) {
      f.Block("block", [&](BlockBuilder& block) {
        Var vi = block.Spatial(6, i);
        block.Reads({});
        block.Writes({{b, {{vi, 1}}}});
        Buffer s = f.Alloc("S", {Expr(vi) * 40 + 1}, kI32, Scope::Parse("shared"));
        Threads(f, "threadIdx.x", 1, [&](Var) { f.Store(s, vi, {Expr(vi) * 40}); });
        f.Store(b, s(Expr(vi) * 40), {vi});
      });
    });
  });
  NDArray y(kI32, {6});
  ASSERT_EQ(Text(RunOnce(f.Build(), {y})), "OK");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.GetInt(i), i);
}

TEST(Threads, VirtualThreadsShareABarrier) {
  FunctionBuilder f;
  Buffer b = f.Input("B", {2}, kI32);
  f.Block("block", [&](BlockBuilder& block) {
    block.Reads({});
    block.Writes({BufferRegion::Full(b)});
    Buffer s = f.Alloc("S", {2}, kI32, Scope::Parse("shared"));
    f.Loop(
        "v", 2,
        [&](Var v) {
          f.Store(s, v, {v});
          Barrier(f);
          f.Store(b, s(Expr(1) - v), {v});
        },
        ForKind::kThreadBound, "vthread.x");
  });
  NDArray y(kI32, {2});
  ASSERT_EQ(Text(RunOnce(f.Build(), {y})), "OK");
  EXPECT_EQ(y.GetInt(0), 1);
}

// The virtual threads of one thread may write the same value to the same element, no others.
TEST(Threads, VirtualThreadsMayRepeatEachOther) {
  const auto run = [](const char* outer, const std::function<Expr(Var)>& value) {
    FunctionBuilder f;
    Buffer b = f.Input("B", {4}, kI32);
    f.Loop(
        "v", 2, [&](Var v) { Threads(f, "threadIdx.x", 4, [&](Var t) { f.Store(b, value(v) + t, {t}); }); },
        ForKind::kThreadBound, outer);
    NDArray y(kI32, {4});
    return Text(RunOnce(f.Build(), {y}));
  };
  EXPECT_EQ(run("vthread.x", [](const Var&) { return Expr(7); }), "OK");
  EXPECT_EQ(
      run("vthread.x", [](const Var& v) { return Expr(v); }),
      "ABORTED: race: block \"root\" writes B[0] in vthread.x = 1, threadIdx.x = 0, which block \"root\" writes in "
      "vthread.x = 0, threadIdx.x = 0");
  EXPECT_EQ(
      run("threadIdx.y", [](const Var&) { return Expr(7); }),
      "ABORTED: race: block \"root\" writes B[0] in threadIdx.y = 1, threadIdx.x = 0, which block \"root\" writes "
      "in threadIdx.y = 0, threadIdx.x = 0");
}

}  // namespace
}  // namespace tilewright::interp

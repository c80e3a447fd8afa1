#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/movement/cache_read.h"
#include "schedule/movement/cache_write.h"
#include "schedule/movement/compute_at.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::LoopsOf;

// `tile` of `from` copied to `to` below the given loops.
void CopyTile(FunctionBuilder& f, const std::string& name, const Buffer& from, const Buffer& to, Var i, Var j, int m,
              int n) {
  f.Loop("ax0", 16, [&](Var ax0) {
    f.Loop("ax1", 16, [&](Var ax1) {
      f.Block(name, [&](BlockBuilder& block) {
        Var v0 = block.Spatial(m, i * 16 + ax0), v1 = block.Spatial(n, j * 16 + ax1);
        Expr inside;
        if (m % 16 != 0) inside = i * 16 + ax0 < m;
        if (n % 16 != 0) inside = inside ? And(inside, j * 16 + ax1 < n) : j * 16 + ax1 < n;
        if (inside) block.Where(inside);
        f.Store(to, from(v0, v1), {v0, v1});
      });
    });
  });
}

// Matmul over tiles of 16 by 16 by 16; with `cached`, tiles of A are read from and those of C written to caches.
Function TiledMatmul(int m, int n, int l, bool cached) {
  FunctionBuilder f("main");
  const DataType f32 = DataType::Float(32);
  Buffer a = f.Input("A", {m, l}, f32), b = f.Input("B", {n, l}, f32), c = f.Input("C", {m, n}, f32);
  Buffer a_used = cached ? f.Alloc("A_global.A_reg", {m, l}, f32, Scope::Parse("global.A_reg")) : a;
  Buffer c_used = cached ? f.Alloc("C_local", {m, n}, f32, Scope::Parse("local")) : c;
  auto tiles = [](int extent) { return (extent + 15) / 16; };
  f.Loop("i_0", tiles(m), [&](Var i0) {
    f.Loop("j_0", tiles(n), [&](Var j0) {
      f.Loop("k_0", tiles(l), [&](Var k0) {
        if (cached) CopyTile(f, "A_global.A_reg", a, a_used, i0, k0, m, l);
        f.Grid({16, 16, 16}, [&](const std::vector<Var>& inner) {
          f.Block("C", [&](BlockBuilder& block) {
            Expr i = i0 * 16 + inner[0], j = j0 * 16 + inner[1], k = k0 * 16 + inner[2];
            Var vi = block.Spatial(m, i), vj = block.Spatial(n, j), vk = block.Reduce(l, k);
            Expr inside;
            for (auto [e, extent] : {std::pair{i, m}, {j, n}, {k, l}}) {
              if (extent % 16 != 0) inside = inside ? And(inside, e < extent) : e < extent;
            }
            if (inside) block.Where(inside);
            block.Init([&] { f.Store(c_used, Const(f32, 0), {vi, vj}); });
            f.Store(c_used, c_used(vi, vj) + a_used(vi, vk) * b(vj, vk), {vi, vj});
          });
        });
      });
      if (cached) CopyTile(f, "C_local", c_used, c, i0, j0, m, n);
    });
  });
  return f.Build();
}

TEST(CacheAndComputeAt, BringTilesOfAMatmulCloseToTheComputation) {
  for (auto [m, n, l] : {std::tuple{64, 32, 48}, {60, 32, 40}}) {
    Function f = TiledMatmul(m, n, l, /*cached=*/false);
    const uint32_t c = BlockNamed(f, "C");
    const std::vector<uint32_t> loops = LoopsOf(f, "C");
    Outcome<CacheReadResult> read = CacheRead(f, c, 0, "global.A_reg");
    ASSERT_TRUE(read.ok()) << read.refusal().reason;
    Outcome<CacheWriteResult> write = CacheWrite(read->function, c, 0, "local");
    ASSERT_TRUE(write.ok()) << write.refusal().reason;
    Outcome<ComputeAtResult> moved = ComputeAt(write->function, read->block, loops[2]);
    ASSERT_TRUE(moved.ok()) << moved.refusal().reason;
    moved = ReverseComputeAt(moved->function, write->block, loops[1]);
    ASSERT_TRUE(moved.ok()) << moved.refusal().reason;
    Mismatch mismatch;
    EXPECT_TRUE(StructuralEqual(moved->function, TiledMatmul(m, n, l, /*cached=*/true), &mismatch))
        << mismatch.path << ": " << mismatch.reason;
    EXPECT_EQ(LoopsOf(moved->function, "C"), loops);
  }
}

// What (i_1 + r) // 2 reaches follows from both loops at once, not from one after the other.
TEST(ComputeAt, MakesTilesOfUpsampledInputs) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((10,), "float32"), Y: T.Buffer((16,), "float32")):
    P = T.alloc_buffer((10,))
    for i in range(10):
        with T.block("P"):
            vi = T.axis.spatial(10, i)
            P[vi] = X[vi] * T.float32(2)
    for i_0, i_1, r in T.grid(4, 4, 2):
        with T.block("Y"):
            vi = T.axis.spatial(16, i_0 * 4 + i_1)
            vr = T.axis.reduce(2, r)
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + P[(vi + vr) // 2]
)");
  Outcome<ComputeAtResult> moved = ComputeAt(f, BlockNamed(f, "P"), LoopsOf(f, "Y")[0]);
  ASSERT_TRUE(moved.ok()) << moved.refusal().reason;
  testing::ExpectEquivalent(f, moved->function);
  testing::ExpectProgram(moved->function, R"(
@T.prim_func
def main(X: T.Buffer((10,), "float32"), Y: T.Buffer((16,), "float32")):
    P = T.alloc_buffer((10,))
    for i_0 in range(4):
        for ax0 in range(3):
            with T.block("P"):
                vi = T.axis.spatial(10, i_0 * 2 + ax0)
                P[vi] = X[vi] * T.float32(2)
        for i_1, r in T.grid(4, 2):
            with T.block("Y"):
                vi = T.axis.spatial(16, i_0 * 4 + i_1)
                vr = T.axis.reduce(2, r)
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] + P[(vi + vr) // 2]
)");
}

}  // namespace
}  // namespace tilewright

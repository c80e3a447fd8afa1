#include "schedule/blocks/tensorize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/reduction/decompose_reduction.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectEquivalent;
using testing::LoopsOf;
using testing::ReasonOf;

// C[4, 4] += A[4, 4] * transpose(B[4, 4]); what `change` replaces in the text makes other intrinsics.
TensorIntrin Mma(std::vector<std::pair<std::string, std::string>> changes = {}) {
  std::string text = R"(
      @T.prim_func
      def mma_desc(a: T.handle, b: T.handle, c: T.handle):
          A = T.match_buffer(a, (4, 4), "float32", offset_factor=1)
          B = T.match_buffer(b, (4, 4), "float32", offset_factor=1)
          C = T.match_buffer(c, (4, 4), "float32", offset_factor=1)
          with T.block("root"):
              T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
              T.writes(C[0:4, 0:4])
              for i, j, k in T.grid(4, 4, 4):
                  with T.block("mma"):
                      vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]

      @T.prim_func
      def mma_impl(a: T.handle, b: T.handle, c: T.handle):
          sa = T.int32()
          sb = T.int32()
          sc = T.int32()
          A = T.match_buffer(a, (4, 4), "float32", offset_factor=1, strides=[sa, 1])
          B = T.match_buffer(b, (4, 4), "float32", offset_factor=1, strides=[sb, 1])
          C = T.match_buffer(c, (4, 4), "float32", offset_factor=1, strides=[sc, 1])
          with T.block("root"):
              T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
              T.writes(C[0:4, 0:4])
              for k in T.unroll(4):
                  for i in range(4):
                      for j in T.vectorized(4):
                          C[i, j] = C[i, j] + A[i, k] * B[j, k])";
  for (const auto& [from, to] : changes) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
  }
  const Module module = ParseOrDie(text);
  return {.name = "mma", .description = module.Find("mma_desc"), .implementation = module.Find("mma_impl")};
}

// The matmul in tiles of 4, its init decomposed; `tile` is the outermost loop of a tile.
struct Tiled {
  Function function;
  uint32_t tile;
};
Tiled TiledMatmul(const Function& matmul, bool decomposed = true) {
  const std::vector<uint32_t> loops = LoopsOf(matmul, "C");
  std::vector<uint32_t> outer, inner;
  Function f = matmul;
  for (uint32_t loop : loops) {
    const SplitResult split = *Split(f, loop, {Expr(), 4});
    f = split.function;
    outer.push_back(split.loops[0]);
    inner.push_back(split.loops[1]);
  }
  f = Reorder(f, {outer[0], outer[1], outer[2], inner[0], inner[1], inner[2]})->function;
  if (decomposed) f = DecomposeReduction(f, BlockNamed(f, "C"), outer[2])->function;
  return {f, inner[0]};
}

TEST(Tensorize, ReplacesATileAndComputesTheSame) {
  const Function matmul = testing::Matmul(8, 12, 16);
  const Tiled tiled = TiledMatmul(matmul);
  Outcome<TensorizeResult> result = Tensorize(tiled.function, tiled.tile, Mma());
  ASSERT_TRUE(result.ok()) << ReasonOf(result, tiled.function);
  testing::ExpectContains(result->function, R"(
      C_1 = T.match_buffer(C[vi_o * 4:vi_o * 4 + 4, vj_o * 4:vj_o * 4 + 4], (4, 4), strides=("C_s0", 1), offset_factor=1)
      for k in T.unroll(4):)");
  ExpectEquivalent(matmul, result->function);
}

TEST(Tensorize, ConstantsMayBeCasts) {
  const Function doubled = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
          for i, j, k in T.grid(4, 4, 4):
              with T.block("C"):
                  vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                  C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk] * T.Cast("float32", 2))");
  const auto times = [](const char* factor) {
    return Mma({{"* B[vj, vk]", std::string("* B[vj, vk] * ") + factor}, {"* B[j, k]", "* B[j, k] * T.float32(2)"}});
  };
  Outcome<TensorizeResult> result = Tensorize(doubled, LoopsOf(doubled, "C")[0], times("T.float32(2)"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, doubled);
  ExpectEquivalent(doubled, result->function);
  Outcome<TensorizeResult> refused = Tensorize(doubled, LoopsOf(doubled, "C")[0], times("T.float32(3)"));
  EXPECT_THAT(ReasonOf(refused, doubled), ::testing::HasSubstr("T.float32(3) is described"));
}

TEST(Tensorize, LeadingDimensionsAndSwappedOperands) {
  const Function batched = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((3, 4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((3, 4, 4), "float32")):
          for n, i, j, k in T.grid(3, 4, 4, 4):
              with T.block("C"):
                  vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                  C[vn, vi, vj] = B[vj, vk] * A[vn, vi, vk] + C[vn, vi, vj])");
  Outcome<TensorizeResult> result = Tensorize(batched, LoopsOf(batched, "C")[1], Mma());
  ASSERT_TRUE(result.ok()) << ReasonOf(result, batched);
  ExpectEquivalent(batched, result->function);
}

TEST(Tensorize, DimensionsInWhichNothingMoves) {
  const Function heads = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 3, 4), "float32"), B: T.Buffer((4, 4, 3), "float32"), C: T.Buffer((3, 4, 4), "float32")):
          for h, i, j, k in T.grid(3, 4, 4, 4):
              with T.block("C"):
                  vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
                  C[vh, vi, vj] = C[vh, vi, vj] + A[vi, vh, vk] * B[vj, vk, 0])");
  Outcome<TensorizeResult> refused = Tensorize(heads, LoopsOf(heads, "C")[1], Mma());
  EXPECT_THAT(ReasonOf(refused, heads), ::testing::HasSubstr("wants a stride of B to be 1; it is 3"));
  Outcome<TensorizeResult> result =
      Tensorize(heads, LoopsOf(heads, "C")[1], Mma({{"strides=[sb, 1]", "strides=[sb, 3]"}}));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, heads);
  testing::ExpectContains(result->function, R"(
      A_1 = T.match_buffer(A[0:4, vh_o, 0:4], (4, 4), strides=("A_s0", 1), offset_factor=1))");
  ExpectEquivalent(heads, result->function);
}

TEST(Tensorize, LoopsOfOneIteration) {
  const Function before = testing::Matmul(4, 4, 8);
  const SplitResult k = *Split(before, LoopsOf(before, "C")[2], {Expr(), 1});
  const std::vector<uint32_t> loops = LoopsOf(before, "C");
  Function f = Reorder(k.function, {k.loops[0], loops[0], loops[1], k.loops[1]})->function;
  f = DecomposeReduction(f, BlockNamed(f, "C"), k.loops[0])->function;
  Outcome<TensorizeResult> result = Tensorize(f, loops[0],
                                              Mma({{"4, 4, 4", "4, 4, 1"},
                                                   {"(a, (4, 4)", "(a, (4, 1)"},
                                                   {"(b, (4, 4)", "(b, (4, 1)"},
                                                   {"A[0:4, 0:4], B[0:4, 0:4]", "A[0:4, 0:1], B[0:4, 0:1]"},
                                                   {"T.unroll(4)", "T.unroll(1)"}}));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(before, result->function);
}

TEST(Tensorize, RefusesWhatDoesNotMatch) {
  const Function matmul = testing::Matmul(8, 12, 16);
  const Tiled tiled = TiledMatmul(matmul);
  auto reason = [&](std::vector<std::pair<std::string, std::string>> changes) {
    return ReasonOf(Tensorize(tiled.function, tiled.tile, Mma(std::move(changes))), tiled.function);
  };
  EXPECT_EQ(reason({{"T.grid(4, 4, 4)", "T.grid(4, 4, 2)"}}),
            "C_update does not match mma: the extent is 4 where 2 is described");
  EXPECT_EQ(reason({{"\"SSR\"", "\"SSS\""}}),
            "C_update does not match mma: the iterator vk_i is reduce, described as spatial");
  EXPECT_EQ(reason({{"float32", "float16"}}),
            "C_update does not match mma: buffer C has the type float32, described is float16");
  EXPECT_EQ(reason({{"offset_factor=1", "offset_factor=1, scope=\"shared\""}}),
            "C_update does not match mma: buffer C is in the scope global, described is shared");
  EXPECT_EQ(reason({{"B[vj, vk]\n", "B[vk, vj]\n"}}),
            "C_update does not match mma: the index vj_o * 4 + vj_i of B is not a shift of what is described");
  EXPECT_EQ(reason({{"+ A[vi, vk]", "- A[vi, vk]"}}),
            "C_update does not match mma: C[vi_o * 4 + vi_i, vj_o * 4 + vj_i] + A[vi_o * 4 + vi_i, vk_o * 4 + vk_i] * "
            "B[vj_o * 4 + vj_i, vk_o * 4 + vk_i] stands where C[vi, vj] - A[vi, vk] * B[vj, vk] is described");
  EXPECT_EQ(reason({{"offset_factor=1,", "offset_factor=64,"}}),
            "mma wants the offset of A to be a multiple of 64; it is vi_o * 64 + vk_o * 4");
  EXPECT_EQ(reason({{"strides=[sa, 1]", "strides=[sa, 2]"}}), "mma wants a stride of A to be 2; it is 1");
}

TEST(Tensorize, WhatIsWrittenLiesApart) {
  const auto in_place = [](const std::string& a) {
    return ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            X[vi + 4, vj] = X[vi + 4, vj] + )" +
                              a + R"( * Y[vj, vk]
)");
  };
  for (const char* apart : {"X[vi, vk]", "X[vi + 4, vk + 4]", "X[vi, vk + 4]"}) {
    const Function f = in_place(apart);
    const Outcome<TensorizeResult> result = Tensorize(f, LoopsOf(f, "C")[0], Mma());
    ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
    ExpectEquivalent(f, result->function);
  }
  for (const char* same : {"X[vi + 4, vk]", "X[vi + 2, vk + 3]"}) {
    const Function f = in_place(same);
    EXPECT_EQ(ReasonOf(Tensorize(f, LoopsOf(f, "C")[0], Mma()), f),
              "C does not match mma: A and C, which it writes, may overlap in X");
  }
}

TEST(Tensorize, KeepsAnInitThatIsNotDescribed) {
  const Tiled tiled = TiledMatmul(testing::Matmul(8, 12, 16), false);
  Outcome<TensorizeResult> result = Tensorize(tiled.function, tiled.tile, Mma());
  ASSERT_TRUE(result.ok()) << ReasonOf(result, tiled.function);
  EXPECT_TRUE(FindBlock(result->function, result->block)->block->init);
}

}  // namespace
}  // namespace tilewright

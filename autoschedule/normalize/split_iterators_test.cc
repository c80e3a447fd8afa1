// Which iterators get parts of their own, and what becomes of packed weights then.
#include "autoschedule/normalize/split_iterators.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// The extents of the last block's iterators after the split.
std::vector<int64_t> Extents(const Function& function) {
  Schedule sch{Module(function)};
  SplitIterators(sch, "main");
  std::vector<int64_t> extents;
  for (const IterVar& iter : RealizeOf(sch, BlocksInRoot(sch, "main").back()).block->iter_vars) {
    extents.push_back(*ExtentOf(iter));
  }
  return extents;
}

using Sizes = std::vector<int64_t>;

// y = (weight of four bits - 8) * scale by x, for weights in bytes of the shape `packed` that are read at `word` and
// shifted by `shift`, and scales of the shape `groups`, read at `scale`.
Function Product(const std::string& packed, const std::string& word, const std::string& shift,
                 const std::string& groups, const std::string& scale) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(x: T.Buffer((128,), "float32"), W: T.Buffer($0, "uint8"), S: T.Buffer($3, "float32"), y: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 128):
        with T.block("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vk] * ((T.Cast("float32", T.bitwise_and(T.shift_right(W[$1], T.Cast("uint8", $2)), T.uint8(15))) - T.float32(8)) * S[$4])
)",
                                             packed, word, shift, groups, scale));
}

Function AlongRows() { return Product("(64, 64)", "vi, vk // 2", "vk % 2 * 4", "(64, 4)", "vi, vk // 32"); }
Function InBlocks() {
  return Product("(64, 4, 16)", "vi, vk // 32, vk % 16", "vk % 32 // 16 * 4", "(64, 4)", "vi, vk // 32");
}
Function AlongColumns() { return Product("(64, 64)", "vk // 2, vi", "vk % 2 * 4", "(4, 64)", "vk // 32, vi"); }
Function WordsOfColumns() { return Product("(128, 32)", "vk, vi // 2", "vi % 2 * 4", "(4, 64)", "vk // 32, vi"); }

TEST(SplitIterators, WhatVectorsRunAlongStaysWhole) {
  EXPECT_EQ(Extents(AlongRows()), Sizes({64, 128}));
  EXPECT_EQ(Extents(InBlocks()), Sizes({64, 128}));
  EXPECT_EQ(Extents(AlongColumns()), Sizes({64, 4, 16, 2}));
  EXPECT_EQ(Extents(WordsOfColumns()), Sizes({64, 4, 32}));
}

TEST(SplitIterators, GroupsBecomeABatch) {
  const Function grouped = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((10, 16), "float32"), W: T.Buffer((4, 32), "float32"), C: T.Buffer((10, 32), "float32")):
    for i, o, c in T.grid(10, 32, 4):
        with T.block("C"):
            vi, vo, vc = T.axis.remap("SSR", [i, o, c])
            with T.init():
                C[vi, vo] = T.float32(0)
            C[vi, vo] = C[vi, vo] + A[vi, vo // 8 * 4 + vc] * W[vc, vo]
)");
  EXPECT_EQ(Extents(grouped), Sizes({10, 4, 8, 4}));
}

// Pixels that are put side by side: both parts are dimensions of what is read.
TEST(SplitIterators, DimensionsOfWhatIsReadAreParts) {
  const Function shuffle = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 8, 16), "float32"), C: T.Buffer((8, 64), "float32")):
    for i, j in T.grid(8, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj % 4, vi, vj // 4]
)");
  EXPECT_EQ(Extents(shuffle), Sizes({8, 16, 4}));
}

// C[8, 64] = `value`, at vi and vj.
Function Elementwise(const std::string& value) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), W: T.Buffer((8,), "float32"), C: T.Buffer((8, 64), "float32")):
    for i, j in T.grid(8, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = $0
)",
                                             value));
}
Function Pairs() {
  return Elementwise("A[vi, vj] * W[vj % 16 // 2] - A[vi, vj // 2 * 2 + 1 - vj % 2] * W[vj % 16 // 2]");
}
Function Twice() { return Elementwise("A[vi // 2, vj // 2]"); }
Function Repeated() { return Elementwise("A[vi, vj % 16]"); }

// Vectors of neighbours are picked from those that are loaded, also where each of these is used several times.
TEST(SplitIterators, NeighboursThatAreStoredStayWhole) {
  EXPECT_EQ(Extents(Pairs()), Sizes({8, 4, 16}));
  EXPECT_EQ(Extents(Twice()), Sizes({4, 2, 64}));
  EXPECT_EQ(Extents(Repeated()), Sizes({8, 4, 16}));
}

TEST(SplitIterators, ProgramsAreRightByTheRules) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const Function& program :
       {AlongRows(), InBlocks(), AlongColumns(), WordsOfColumns(), Pairs(), Twice(), Repeated()}) {
    for (const char* target : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
      const AutoScheduled result = AutoSchedule(Module(program), *NamedTarget(target), &intrins);
      const Module& scheduled = result.schedule.module();
      EXPECT_EQ(testing::CompareWithInterpreter(scheduled, {.original = program, .integers = 3}), "") << target;
    }
  }
}

}  // namespace
}  // namespace tilewright

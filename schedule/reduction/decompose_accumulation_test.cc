#include "schedule/reduction/decompose_accumulation.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/well_formed.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

std::string Refused(const char* program) {
  Schedule sch{Module(ParseOrDie(program))};
  const auto result = sch.Apply("decompose_accumulation", {*sch.GetBlock("A")});
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

TEST(DecomposeAccumulation, SumsAndAddsTheSum) {
  Schedule sch{Module(ParseOrDie(R"(
@T.prim_func
def main(X: T.Buffer((5, 8), "float32"), Y: T.Buffer((5, 6), "float32"), A: T.Buffer((6, 8), "float32")):
    for k, i, j in T.grid(5, 8, 6):
        with T.block("A"):
            vk, vi, vj = T.axis.remap("RSS", [k, i, j])
            A[vj, vi] = A[vj, vi] + X[vk, vi] * Y[vk, vj]
)"))};
  const Module before = sch.module();
  const auto result = sch.Apply("decompose_accumulation", {*sch.GetBlock("A")});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(sch.GetLoops(BlockRv{(*result)[0]})->size(), 2u);
  // The sum is a reduction now.
  EXPECT_TRUE(sch.Rfactor(sch.GetLoops(*sch.GetBlock("A"))->at(0), 0).ok());
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
}

// Elements without terms keep their values.
TEST(DecomposeAccumulation, SumsOfTriangles) {
  constexpr char kTriangle[] = R"(
@T.prim_func
def main(X: T.Buffer((10, 10), "int32"), A: T.Buffer((10,), "int32")):
    for i in range(10):
        for k in range(i // 3):
            with T.block("A"):
                vi, vk = T.axis.remap("SR", [i, k])
                A[vi] = A[vi] + X[vi, vk]
)";
  Schedule sch{Module(ParseOrDie(kTriangle))};
  const Module before = sch.module();
  ASSERT_TRUE(sch.Apply("decompose_accumulation", {*sch.GetBlock("A")}).ok());
  EXPECT_TRUE(FindViolations(sch.module().Main()).empty());
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((10, 10), "int32"), A: T.Buffer((10,), "int32")):
    for i, k in T.grid(10, 10):
        for l in range(k // 3):
            with T.block("A"):
                vi, vk, vl = T.axis.remap("SRR", [i, k, l])
                A[vi] = A[vi] + X[vk, vl]
)"),
            "decompose_accumulation: whether block A adds anything to an element depends on iterator vk");
}

TEST(DecomposeAccumulation, Refuses) {
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), A: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                A[vi] = T.float32(0)
            A[vi] = A[vi] + X[vi, vk]
)"),
            "decompose_accumulation: block A has an init");
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), A: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            A[vi] = A[vi] * X[vi, vk]
)"),
            "decompose_accumulation: block A does not add something to what it stores to");
  // What is added depends on what was added before.
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), A: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            A[vi] = A[vi] + X[vi, vk] * A[vi]
)"),
            "decompose_accumulation: block A does not add something to what it stores to");
  const char* const at_iterators =
      "decompose_accumulation: block A does not store at its spatial iterators, each one index and from 0, and add up "
      "along others";
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4,), "float32"), A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = A[vi] + X[vi]
)"),
            at_iterators);
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), A: T.Buffer((8,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            A[vi * 2] = A[vi * 2] + X[vi, vk]
)"),
            at_iterators);
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), A: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(k < 2)
            A[vi] = A[vi] + X[vi, vk]
)"),
            "decompose_accumulation: block A has the predicate k < 2");
}

// A sum of no terms is never set, and is not added.
TEST(DecomposeAccumulation, SumsThatMayHaveNoTerms) {
  Schedule sch{Module(ParseOrDie(R"(
@T.prim_func
def main(x: T.handle, A: T.Buffer((8,), "float32")):
    n = T.int32()
    X = T.match_buffer(x, (8, n), "float32")
    for i, k in T.grid(8, n):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            A[vi] = A[vi] + X[vi, vk]
)"))};
  const Function before = sch.module().Main();
  ASSERT_TRUE(sch.Apply("decompose_accumulation", {*sch.GetBlock("A")}).ok());
  const Function whole = sch.module().Main();
  const std::vector<LoopRv> loops = *sch.GetLoops(*sch.GetBlock("A"));
  const auto parts = sch.Split(loops[1], {Value(), Value(4)});
  ASSERT_TRUE(parts.ok());
  ASSERT_TRUE(sch.Rfactor((*parts)[1], 0).ok());
  for (const int64_t n : {0, 1, 3, 4, 9}) {
    testing::ExpectEquivalent(before, whole, {.dims = {{"n", n}}});
    testing::ExpectEquivalent(before, sch.module().Main(), {.dims = {{"n", n}}});
  }
}

}  // namespace
}  // namespace tilewright

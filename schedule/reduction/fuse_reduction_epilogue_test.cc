#include "schedule/reduction/fuse_reduction_epilogue.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ReasonOf;

Function WithEpilogue(std::string_view value, std::string_view update = "C[vi, vj] + A[vi, vk] * B[vk, vj]",
                      std::string_view middle = "T.evaluate(0)", std::string_view type = "float32") {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 6), "float32"), bias: T.Buffer((6,), "float32"), D: T.Buffer((6, 6), "TYPE")):
    C = T.alloc_buffer((6, 6))
    for i, j, k in T.grid(6, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = UPDATE
    MIDDLE
    for i, j in T.grid(6, 6):
        with T.block("D"):
            vm, vn = T.axis.remap("SS", [i, j])
            D[vm, vn] = VALUE
)";
  for (auto [place, with] : {std::pair("TYPE", type), {"UPDATE", update}, {"MIDDLE", middle}, {"VALUE", value}}) {
    text.replace(text.find(place), std::string_view(place).size(), with);
  }
  return ParseFunctionOrDie(text);
}

Outcome<Function> Fuse(const Function& f) { return FuseReductionEpilogue(f, BlockNamed(f, "C"), BlockNamed(f, "D")); }

// The start of a sum of integers wraps, as its sums do.
TEST(FuseReductionEpilogue, StartsOfIntegersWrap) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), E: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int32")):
    C = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 2000000000
            C[vi] = C[vi] + (A[vi, vk] % 2 - 4) * 100000000
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] + (E[vi] % 2 + 1) * 500000000
)");
  const Outcome<Function> g = Fuse(f);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectEquivalent(f, *g);
}

TEST(FuseReductionEpilogue, StartsWithTheBias) {
  for (const char* value : {"C[vm, vn] + bias[vn]", "bias[vn] + C[vm, vn]"}) {
    const Function f = WithEpilogue(value);
    Outcome<Function> g = Fuse(f);
    ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
    testing::ExpectProgram(*g, R"(
        @T.prim_func
        def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 6), "float32"), bias: T.Buffer((6,), "float32"), D: T.Buffer((6, 6), "float32")):
            C = T.alloc_buffer((6, 6))
            for i, j, k in T.grid(6, 6, 8):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.reads(bias[vj], A[vi, vk], B[vk, vj])
                    T.writes(D[vi, vj])
                    with T.init():
                        D[vi, vj] = bias[vj]
                    D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj])");
    ExpectEquivalent(f, *g);
  }
}

TEST(FuseReductionEpilogue, TakesTheReductionsOwnOperation) {
  const Function f = WithEpilogue("T.max(C[vm, vn], T.float32(3))", "T.max(C[vi, vj], A[vi, vk] * B[vk, vj])");
  Outcome<Function> g = Fuse(f);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(*g, "D[vi, vj] = T.max(T.float32(0), T.float32(3))");
  ExpectEquivalent(f, *g);
  const Function transposed = WithEpilogue("C[vn, vm] + bias[vn]");
  g = Fuse(transposed);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, transposed);
  ExpectContains(*g, "D[vj, vi] = bias[vi]");
  ExpectEquivalent(transposed, *g);
}

TEST(FuseReductionEpilogue, WritesWhereTheEpilogueCopies) {
  const Function f = WithEpilogue("C[vm, vn]");
  Outcome<Function> g = Fuse(f);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(*g, "D[vi, vj] = T.float32(0)");
  ExpectContains(*g, "D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]");
  ExpectEquivalent(f, *g);
}

TEST(FuseReductionEpilogue, Refuses) {
  const auto reason = [](const Function& f) { return ReasonOf(Fuse(f), f); };
  EXPECT_EQ(reason(WithEpilogue("T.max(C[vm, vn] + bias[vn], T.float32(0))")),
            "T.max(C[vm, vn] + bias[vn], T.float32(0)) is not C combined by the operation of C's reduction");
  EXPECT_EQ(reason(WithEpilogue("C[vm, vn] * T.float32(2)")),
            "C[vm, vn] * T.float32(2) is not C combined by the operation of C's reduction");
  EXPECT_EQ(reason(WithEpilogue("C[vm, vn] + C[vm, vn]")),
            "C[vm, vn] + C[vm, vn] is not C combined by the operation of C's reduction");
  EXPECT_EQ(reason(WithEpilogue("C[vm, 5 - vn] + bias[vn]")), "C and D do not index C by iterators, one each");
  EXPECT_EQ(reason(WithEpilogue("C[vm, vm] + bias[vn]")), "C and D do not index C by iterators, one each");
  EXPECT_EQ(reason(WithEpilogue("T.Cast(\"float64\", C[vm, vn])", "C[vi, vj] + A[vi, vk]", "T.evaluate(0)", "float64")),
            "D stores float64, the reduction computes in float32");
  const auto block = [](std::string_view body) {
    return "for j in range(6):\n        with T.block(\"X\"):\n            vj = T.axis.spatial(6, j)\n            " +
           std::string(body);
  };
  EXPECT_EQ(reason(WithEpilogue("C[vm, vn] + bias[vn]", "C[vi, vj] + A[vi, vk]", block("bias[vj] = T.float32(1)"))),
            "D reads bias, which X does not write before C");
  EXPECT_EQ(reason(WithEpilogue("C[vm, vn] + bias[vn]", "C[vi, vj] + A[vi, vk]", block("bias[vj] = C[0, vj]"))),
            "X reads C too");
  EXPECT_EQ(reason(WithEpilogue("C[vm, vn] + bias[vn]", "C[vi, vj] + A[vi, vk]", block("A[0, vj] = D[0, vj]"))),
            "D is not a complete block: block X reads D before it is written");
  EXPECT_EQ(reason(WithEpilogue("C[vm, vn] + bias[vn]", "C[vi, vj] + D[vi, vj]")),
            "D is not a complete block: block C reads D before it is written");
  const Function f = WithEpilogue("C[vm, vn] + bias[vn]");
  EXPECT_EQ(ReasonOf(FuseReductionEpilogue(f, BlockNamed(f, "D"), BlockNamed(f, "C")), f),
            "D does not come before C in one scope");
  const Function chain = testing::ElementwiseChain(4, 6);
  EXPECT_EQ(ReasonOf(FuseReductionEpilogue(chain, BlockNamed(chain, "B"), BlockNamed(chain, "C")), chain),
            "B is not a reduction block: it has no init");
  const Function seen = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
          for i, k in T.grid(6, 8):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  with T.init():
                      C[vi] = T.float32(0)
                  C[vi] = C[vi] + A[vi, vk]
          for i in range(6):
              with T.block("D"):
                  vi = T.axis.spatial(6, i)
                  D[vi] = C[vi] + T.float32(1))");
  EXPECT_EQ(reason(seen), "C is seen outside of the scope of C");
}

}  // namespace
}  // namespace tilewright

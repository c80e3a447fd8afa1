#include "schedule/layout/set_layout.h"

#include <gtest/gtest.h>

#include "ir/named_layouts.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ReasonOf;

constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float16"), D: T.Buffer((8,), "float16")):
    B = T.alloc_buffer((8, 64), "float16", scope="shared")
    C = T.alloc_buffer((8,), "float16")
    for i, j in T.grid(8, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v, v]
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = C[v]
)";

TEST(SetLayout, TheLastLayoutCounts) {
  const Function function = ParseFunctionOrDie(kProgram);
  const Outcome<Function> first = SetLayout(function, BlockNamed(function, "B"), 0, "swizzle_64B");
  ASSERT_TRUE(first.ok());
  const Outcome<Function> second = SetLayout(*first, BlockNamed(*first, "B"), 0, "swizzle_128B");
  ASSERT_TRUE(second.ok());
  const std::string text = Print(*second);
  EXPECT_NE(text.find(R"(T.block_attr({"buffer_layout": [[0, "swizzle_128B"]]}))"), std::string::npos) << text;
}

TEST(SetLayout, Refuses) {
  const Function function = ParseFunctionOrDie(kProgram);
  EXPECT_EQ(ReasonOf(SetLayout(function, BlockNamed(function, "B"), 0, "tiled"), function),
            "there is no layout \"tiled\"");
  EXPECT_EQ(ReasonOf(SetLayout(function, BlockNamed(function, "C"), 0, "swizzle_32B"), function),
            "C, which C writes, does not have rows and columns");
}

// What elements places have is compared with the hardware in codegen/cuda/wgmma_test.cc.
TEST(NamedLayouts, HaveRowsOfTheirSpan) {
  const DataType half = DataType::Float(16);
  for (const auto& [name, span] : {std::pair("swizzle_32B", 32), {"swizzle_64B", 64}, {"swizzle_128B", 128}}) {
    const auto layout = LayoutNamed(name, {Expr(2), Expr(16), Expr(128)}, half);
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->shape.size(), 4);
    EXPECT_EQ(AsInt(layout->shape[3]), span / 2);
  }
  EXPECT_EQ(LayoutNamed("swizzle_64B", {Expr(16), Expr(16)}, half).status().message(),
            "swizzle_64B needs rows of a multiple of 64 bytes, and a multiple of 8 of them, not 16 rows of 32 bytes");
  EXPECT_EQ(LayoutNamed("swizzle_64B", {Expr(12), Expr(32)}, half).status().message(),
            "swizzle_64B needs rows of a multiple of 64 bytes, and a multiple of 8 of them, not 12 rows of 64 bytes");
  EXPECT_EQ(LayoutNamed("swizzle_64B", {Expr(32)}, half).status().message(),
            "swizzle_64B needs two last dimensions with constant extents");
  EXPECT_EQ(LayoutNamed("tiled", {Expr(32)}, half).status().message(), "there is no layout tiled");
}

}  // namespace
}  // namespace tilewright

#include "autoschedule/movement/cpu/packed_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Target kZen4 = *NamedTarget("x86-znver4");

// Weights of 8 bits with a scale for each 4 of the depth, iterators of their own.
Schedule Product(int columns, const char* index = "vj") {
  return Schedule{Module(ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), q: T.Buffer(($0, 8), "int8"), s: T.Buffer(($0, 2), "float32"), C: T.Buffer(($0,), "float32")):
    T.func_attr({"tilewright.constant_params": [1, 2]})
    W = T.alloc_buffer((8, $0))
    for b, k, j in T.grid(2, 4, $0):
        with T.block("W"):
            vb, vk, vj = T.axis.remap("SSS", [b, k, j])
            W[vb * 4 + vk, $1] = T.Cast("float32", q[vj, vb * 4 + vk]) * s[vj, vb]
    for j, k in T.grid($0, 8):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk] * W[vk, vj]
)",
                                                             columns, index)))};
}

TEST(PackedConstants, BecomePanelsOfWholeVectors) {
  for (const auto& [columns, panels] : {std::pair(64, 4), std::pair(37, 3)}) {
    Schedule sch = Product(columns);
    const BlockRv unpacker = *sch.GetBlock("W");
    const Outcome<std::monostate> packed = PackInPanels(sch, unpacker, kZen4);
    ASSERT_TRUE(packed.ok()) << Render(packed.refusal(), sch.module().Main());
    const std::string text = Print(sch.module().Find("main"));
    EXPECT_THAT(text, HasSubstr(absl::Substitute("q_reindex: T.Buffer(($0, 2, 4, 16), \"int8\")", panels)));
    EXPECT_THAT(text, HasSubstr(absl::Substitute("s_reindex: T.Buffer(($0, 2, 16), \"float32\")", panels)));
    EXPECT_THAT(DepthFactors(sch, unpacker, 8), ElementsAre(2, 4));
    EXPECT_THAT(DepthFactors(sch, unpacker, 10), ElementsAre(10));
    EXPECT_EQ(ElementsOfByte({2, 4}), 4);
    EXPECT_EQ(ElementsOfByte({2, 32}), 1);
    EXPECT_EQ(ElementsOfByte({4}), 1);
  }
}

TEST(PackedConstants, NeedColumnsAsTheLastDimension) {
  Schedule sch = Product(64, "63 - vj");
  EXPECT_FALSE(PackInPanels(sch, *sch.GetBlock("W"), kZen4).ok());
}

}  // namespace
}  // namespace tilewright

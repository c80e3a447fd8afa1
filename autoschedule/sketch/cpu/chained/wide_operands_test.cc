// Copies in float32 of what a sum reads, made in a loop around it.
#include "autoschedule/sketch/cpu/chained/wide_operands.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

Function Product(const std::string& type) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 24), "float32"), B: T.Buffer((24, 40), ")" +
                            type + R"("), C: T.Buffer((8, 40), "float32")):
    for i, j, k in T.grid(8, 40, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * )" +
                            (type == "float32" ? "B[vk, vj]" : "T.Cast(\"float32\", B[vk, vj])") + "\n");
}

Var IteratorOf(const Schedule& sch, BlockRv block, size_t i) { return RealizeOf(sch, block).block->iter_vars[i].var; }

TEST(StageWide, ConvertsWhatIsNarrow) {
  for (const char* type : {"float16", "bfloat16"}) {
    Schedule sch{Module(Product(type))};
    const BlockRv sum = *sch.GetBlock("C");
    const std::vector<LoopRv> loops = *sch.GetLoops(sum);
    const auto copy = StageWide(sch, sum, IteratorOf(sch, sum, 1));
    ASSERT_TRUE(copy.ok() && copy->has_value());
    EXPECT_EQ(RealizeOf(sch, **copy).block->writes[0].buffer->dtype, DataType::Float(32));
    ASSERT_TRUE(ConvertInLoop(sch, **copy, loops[0], 16).ok());
    const std::vector<LoopRv> inside = *sch.GetLoops(**copy);
    EXPECT_EQ(LoopOf(sch, inside.front()).id, LoopOf(sch, loops[0]).id);
    EXPECT_EQ(LoopOf(sch, inside.back()).kind, ForKind::kVectorized);
    EXPECT_EQ(ExtentOf(sch, inside.back()), 16);
    EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = Product(type), .tolerance = 1e-5}), "")
        << Print(sch.module());
  }
}

TEST(StageWide, WhatIsWideStays) {
  Schedule sch{Module(Product("float32"))};
  const BlockRv sum = *sch.GetBlock("C");
  const auto copy = StageWide(sch, sum, IteratorOf(sch, sum, 1));
  EXPECT_TRUE(copy.ok() && !copy->has_value());
  // The rows are wide in any case.
  Schedule narrow{Module(Product("float16"))};
  const BlockRv other = *narrow.GetBlock("C");
  const auto rows = StageWide(narrow, other, IteratorOf(narrow, other, 0));
  EXPECT_TRUE(rows.ok() && !rows->has_value());
}

}  // namespace
}  // namespace tilewright

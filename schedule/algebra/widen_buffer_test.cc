#include "schedule/algebra/widen_buffer.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

constexpr const char* kProgram = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float16"), C: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float16")):
    B = T.alloc_buffer((16,), "float16")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float16(3)
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = T.Cast("float32", B[vi]) * T.float32(0.5)
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = B[vi] + T.float16(1)
)";

std::string Refused(std::string_view block, std::string_view dtype) {
  const Function f = ParseFunctionOrDie(kProgram);
  return testing::ReasonOf(WidenBuffer(f, testing::BlockNamed(f, block), 0, dtype), f);
}

TEST(WidenBuffer, ConvertsWhereItIsWritten) {
  const Function before = ParseFunctionOrDie(kProgram);
  const Outcome<Function> after = WidenBuffer(before, testing::BlockNamed(before, "B"), 0, "float32");
  ASSERT_TRUE(after.ok());
  // The product is rounded to the narrow type as before.
  testing::ExpectContains(*after, "B[vi] = T.Cast(\"float32\", A[vi] * T.float16(3))");
  testing::ExpectContains(*after, "C[vi] = B[vi] * T.float32(0.5)");
  testing::ExpectContains(*after, "D[vi] = T.Cast(\"float16\", B[vi]) + T.float16(1)");
  testing::ExpectEquivalent(before, *after);
}

constexpr const char* kBytes = R"(
@T.prim_func
def main(A: T.Buffer((16,), "uint8"), C: T.Buffer((16,), "int32"), D: T.Buffer((16,), "uint8")):
    B = T.alloc_buffer((16,), "uint8")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.uint8(3)
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = T.Cast("int32", B[vi]) * 2
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = B[vi] + T.uint8(1)
)";

TEST(WidenBuffer, HoldsIntegers) {
  const Function before = ParseFunctionOrDie(kBytes);
  const uint32_t block = testing::BlockNamed(before, "B");
  const Outcome<Function> after = WidenBuffer(before, block, 0, "int16");
  ASSERT_TRUE(after.ok());
  // The sum wraps around in the narrow type as before.
  testing::ExpectContains(*after, "B[vi] = T.Cast(\"int16\", A[vi] + T.uint8(3))");
  testing::ExpectContains(*after, "C[vi] = T.Cast(\"int32\", B[vi]) * 2");
  testing::ExpectContains(*after, "D[vi] = T.Cast(\"uint8\", B[vi]) + T.uint8(1)");
  testing::ExpectEquivalent(before, *after);
  const auto refused = [&](std::string_view dtype) {
    return testing::ReasonOf(WidenBuffer(before, block, 0, dtype), before);
  };
  EXPECT_EQ(refused("int8"), "B, which B writes, does not hold integers of fewer bits, all of which \"int8\" holds");
  for (const char* type : {"uint8", "float32", "int"}) EXPECT_NE(refused(type), "") << type;
}

TEST(WidenBuffer, Refuses) {
  EXPECT_EQ(Refused("B", "float16"), "\"float16\" is not float32 or float64");
  EXPECT_EQ(Refused("C", "float32"), "C, which C writes, does not hold floating-point numbers narrower than float32");
  EXPECT_EQ(Refused("D", "float32"), "D, which D writes, is not allocated by a block");
}

}  // namespace
}  // namespace tilewright

#include "verify/memory/value_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What is found of a statement of a block whose iterator vi goes from 0 to 15.
std::vector<std::string> Findings(const std::string& statement, const std::string& type = "int32") {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16,), ")" + type + R"("), B: T.Buffer((16,), ")" +
                                               type + R"(")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.reads(A[0:16])
            T.writes(B[0:16])
)" + ("            " + statement + "\n"));
  std::vector<std::string> findings;
  for (const Diagnostic& d : CheckValueErrors(function)) findings.push_back(d.reason);
  return findings;
}

TEST(ValueErrors, Sums) {
  EXPECT_THAT(Findings("B[vi] = vi * 200000000"),
              ElementsAre("in block B vi * 200000000, 0 to 3000000000, does not fit into int32"));
  EXPECT_THAT(Findings("B[vi] = vi * 100000000"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 10, vi * 200000000, 0)"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = A[vi] * 200000000"), IsEmpty());  // elements are the caller's
}

TEST(ValueErrors, SumsOf64Bits) {
  const std::string large = "(T.Cast(\"int64\", vi) + T.int64(1)) * T.int64(4611686018427387904)";
  EXPECT_THAT(Findings("B[vi] = " + large, "int64").size(), 1u);
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 1, " + large + ", T.int64(0))", "int64"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = A[vi] + T.int64(9223372036854775807)", "int64"), IsEmpty());
}

TEST(ValueErrors, TheLeastNumberHasNoMagnitude) {
  EXPECT_THAT(Findings("B[vi] = T.truncdiv(vi * -134217728 - 134217728, -1)").size(), 1u);
  EXPECT_THAT(Findings("B[vi] = T.truncdiv(vi * -134217728, -1)"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.abs(vi * -134217728 - 134217728)").size(), 1u);
  EXPECT_THAT(Findings("B[vi] = T.abs(vi * -134217728)"), IsEmpty());
}

TEST(ValueErrors, Shifts) {
  EXPECT_THAT(Findings("B[vi] = 1 << (vi * 3)"), ElementsAre("in block B int32 is shifted by vi * 3, 0 to 45"));
  EXPECT_THAT(Findings("B[vi] = 1 << (vi * 2)"), IsEmpty());
}

// Conditions count in whatever type they compare.
TEST(ValueErrors, ConditionsGuard) {
  const std::string amount = "T.Cast(\"uint32\", vi * 3)";
  EXPECT_THAT(Findings("B[vi] = T.uint32(1) << " + amount, "uint32").size(), 1u);
  EXPECT_THAT(
      Findings("B[vi] = T.if_then_else(" + amount + " < T.uint32(32), T.uint32(1) << " + amount + ", T.uint32(0))",
               "uint32"),
      IsEmpty());
  EXPECT_THAT(
      Findings("B[vi] = T.if_then_else(" + amount + " < T.uint32(40), T.uint32(1) << " + amount + ", T.uint32(0))",
               "uint32")
          .size(),
      1u);
  const std::string number = "T.Cast(\"int8\", T.Cast(\"float32\", vi) * T.float32(10))";
  EXPECT_THAT(Findings("B[vi] = " + number, "int8").size(), 1u);
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 12, " + number + ", T.int8(0))", "int8"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 14, " + number + ", T.int8(0))", "int8").size(), 1u);
}

// Parts of a chain count although others read memory.
TEST(ValueErrors, ChainsGuard) {
  EXPECT_THAT(Findings("if vi * 4 < 32 and A[vi] > 0:\n                B[vi] = 1 << (vi * 4)"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(A[vi] > 0 and vi < 4, vi * 500000000, 0)"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(A[vi] > 0 or vi >= 4, 0, vi * 500000000)"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(A[vi] > 0 or vi < 4, vi * 500000000, 0)").size(), 1u);
}

TEST(ValueErrors, Lanes) {
  EXPECT_THAT(Findings("B[0:16] = T.shift_left(T.Broadcast(1, 16), T.Ramp(20, 1, 16))").size(), 1u);
  EXPECT_THAT(Findings("B[0:16] = T.shift_left(T.Broadcast(1, 16), T.Ramp(10, 1, 16))"), IsEmpty());
  EXPECT_THAT(Findings("B[0:16] = T.Ramp(2147483640, 1, 16)").size(), 1u);
  EXPECT_THAT(Findings("B[0:16] = T.Broadcast(2147483647, 16) + T.Broadcast(vi, 16)").size(), 1u);
  EXPECT_THAT(Findings("B[0:16] = T.Cast(\"int8x16\", T.Broadcast(T.float32(300), 16))", "int8").size(), 1u);
}

TEST(ValueErrors, Conversions) {
  EXPECT_THAT(Findings("B[vi] = T.Cast(\"int8\", T.Cast(\"float32\", vi + 1) / T.float32(0.001))", "int8").size(), 1u);
  EXPECT_THAT(Findings("B[vi] = T.Cast(\"int8\", T.Cast(\"float32\", vi) / T.float32(2))", "int8"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.Cast(\"int32\", T.exp(T.float32(100)))").size(), 1u);
  EXPECT_THAT(Findings("B[vi] = T.Cast(\"int32\", T.exp(T.float32(10)))"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.Cast(\"int32\", T.float32(\"nan\"))").size(), 1u);
}

// Functions at the ends of what they are defined for.
TEST(ValueErrors, InfiniteValuesAndNan) {
  const auto findings = [](const std::string& value) {
    return Findings("B[vi] = T.Cast(\"int32\", " + value + ")").size();
  };
  const std::string v = "T.Cast(\"float32\", vi)";
  const std::string less = "(" + v + " - T.float32(4))", one = "(" + v + " + T.float32(1))";
  for (const char* name : {"log", "log2", "log10", "rsqrt"}) {
    EXPECT_EQ(findings(std::string("T.") + name + "(" + v + ")"), 1u) << name;
    EXPECT_EQ(findings(std::string("T.") + name + "(" + one + ")"), 0u) << name;
  }
  for (const char* name : {"sqrt", "log1p", "asin", "acos", "atanh", "acosh"}) {
    EXPECT_EQ(findings(std::string("T.") + name + "(" + less + ")"), 1u) << name;
  }
  for (const char* name : {"asin", "acos"}) {
    EXPECT_EQ(findings(std::string("T.") + name + "(" + v + " / T.float32(15))"), 0u) << name;
  }
  EXPECT_EQ(findings("T.atanh(" + v + " / T.float32(15))"), 1u);
  EXPECT_EQ(findings("T.float32(1) / " + v), 1u);
  EXPECT_EQ(findings("T.float32(1) / " + less), 1u);
  EXPECT_EQ(findings("T.float32(1) / (" + v + " - T.float32(0.5))"), 0u);
  EXPECT_EQ(findings(v + " / " + v), 1u);
  EXPECT_EQ(findings(less + " / " + one), 0u);
  EXPECT_EQ(findings("T.fmod(" + v + ", " + v + ")"), 1u);
  EXPECT_EQ(findings("T.pow(" + less + ", T.float32(0.5))"), 1u);
  EXPECT_EQ(findings("T.pow(" + less + ", T.float32(-1))"), 1u);
  EXPECT_EQ(findings("T.pow(" + less + ", T.float32(3))"), 0u);
  // The greatest float16 is 65504.
  EXPECT_EQ(findings("T.Cast(\"float16\", " + v + " * T.float32(5000))"), 1u);
  EXPECT_EQ(findings("T.Cast(\"float16\", " + v + " * T.float32(4000))"), 0u);
}

TEST(ValueErrors, GuardedFunctions) {
  const std::string v = "T.Cast(\"float32\", vi)", log = "T.log(" + v + ")";
  const auto findings = [](const std::string& value) {
    return Findings("B[vi] = T.Cast(\"int32\", " + value + ")").size();
  };
  EXPECT_EQ(findings("T.if_then_else(vi > 0, " + log + ", T.float32(0))"), 0u);
  EXPECT_EQ(findings("T.if_then_else(vi > 3, T.float32(0), " + log + ")"), 1u);
  EXPECT_EQ(findings("T.max(" + log + ", T.float32(-9))"), 0u);
  // The second operand is taken where the first is NaN.
  EXPECT_EQ(findings("T.max(T.sqrt(" + v + " - T.float32(4)), T.float32(-9))"), 0u);
  EXPECT_EQ(findings("T.max(T.float32(-9), T.sqrt(" + v + " - T.float32(4)))"), 1u);
  EXPECT_THAT(Findings("if vi > 0:\n                B[vi] = T.Cast(\"int32\", " + log + ")"), IsEmpty());
}

}  // namespace
}  // namespace tilewright

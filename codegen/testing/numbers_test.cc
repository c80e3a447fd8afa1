// Numbers at the ends of their types: compiled code gives what the interpreter gives, and what docs/numerics.md says.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// B[v] = VALUE for 64 values of v, in this kind of loop.
std::string Program(const std::string& type, const std::string& value, const char* loop = "serial") {
  return absl::Substitute(R"(
@T.prim_func
def main(B: T.Buffer((64,), "$0")):
    for i in T.$2(64):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            B[v] = $1
)",
                          type, value, loop);
}

void ExpectSame(const std::string& type, const std::string& value) {
  for (const char* loop : {"serial", "vectorized"}) {
    const std::string text = Program(type, value, loop);
    EXPECT_EQ(testing::CompareWithInterpreter(ParseOrDie(text), {.tolerance = 0}), "") << text;
  }
}

TEST(Numbers, AreRoundedOnce) {
  // Just above, at and below the middle of two neighbours, over many powers of two.
  const std::string doubles =
      "(T.float64(1.00390625) + T.Cast(\"float64\", v % 3 - 1) * T.float64(9.094947017729282e-13)) * "
      "T.exp2(T.Cast(\"float64\", v - 32))";
  const std::string halves =
      "(T.float64(1.00048828125) + T.Cast(\"float64\", v % 3 - 1) * T.float64(9.094947017729282e-13)) * "
      "T.exp2(T.Cast(\"float64\", v // 2 - 24))";
  for (const char* type : {"bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"}) {
    for (const std::string& value : {doubles, halves}) {
      ExpectSame(type, absl::Substitute("T.Cast(\"$0\", $1)", type, value));
    }
    for (const char* whole : {"int64", "uint64", "int32", "uint32"}) {
      // 2^k + 2^(k - 8) + 1, and its neighbours.
      const std::string value =
          absl::Substitute("T.shift_left(T.Cast(\"$0\", 257), T.Cast(\"$0\", v % 23)) + T.Cast(\"$0\", v % 3)", whole);
      ExpectSame(type, absl::Substitute("T.Cast(\"$0\", $1)", type, value));
    }
    ExpectSame(type, absl::Substitute("T.Cast(\"$0\", T.shift_left(T.int64(257), T.Cast(\"int64\", v % 54)) + "
                                      "T.Cast(\"int64\", v % 3 - 1))",
                                      type));
  }
}

// Around the greatest whole number that each type holds, where rounding begins.
TEST(Numbers, WholeOnesOfNarrowTypesAreRoundedWhereTheyAreNotHeld) {
  for (const char* type : {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}) {
    const auto number = [&](int value) { return absl::Substitute("T.Cast(\"$0\", $1)", type, value); };
    for (const int mask : {7, 15, 255, 2047, 4095}) {
      const std::string whole = absl::Substitute("T.Cast(\"$0\", T.bitwise_and(v * 67, $1))", type, mask);
      const std::string byte = absl::Substitute("T.Cast(\"$0\", T.Cast(\"int8\", v * 4 - 128))", type);
      ExpectSame(type, absl::StrCat("(", whole, " - ", number(7), ") * ", number(3)));
      ExpectSame(type, absl::StrCat("(", whole, " - ", number(8), ") * (", number(1), " / ", number(3), ")"));
      ExpectSame(type, absl::StrCat("(", whole, " + ", byte, ") * ", byte));
      ExpectSame(type,
                 absl::StrCat(number(1), " / ", number(3), " + T.max(", whole, " - ", number(5), ", ", byte, ")"));
      ExpectSame("float32", absl::StrCat("T.Cast(\"float32\", ", whole, " * ", byte, ") / T.float32(3)"));
      if (mask > 255) continue;  // infinities and NaN are not integers
      ExpectSame("int32", absl::StrCat("T.Cast(\"int32\", ", whole, " - ", number(7), ")"));
    }
  }
}

TEST(Numbers, OfUnsignedTypesAreConvertedByTheirValue) {
  for (const char* type : {"float32", "float64", "bfloat16"}) {
    ExpectSame(type, absl::Substitute("T.Cast(\"$0\", T.Select(v < 32, T.uint64(18446744073709551615), "
                                      "T.uint64(9223372036854775809)))",
                                      type));
  }
}

TEST(Numbers, LeastDividedByMinusOneWraps) {
  for (const char* type : {"int8", "int16"}) {
    for (const char* quotient : {"$1 // $2", "$1 % $2", "T.truncdiv($1, $2)", "T.truncmod($1, $2)"}) {
      const std::string least =
          absl::Substitute("T.Cast(\"$0\", v * -4 - $1)", type, std::string_view(type) == "int8" ? 0 : 32640);
      ExpectSame(type, absl::Substitute(quotient, type, least, absl::Substitute("T.Cast(\"$0\", -1)", type)));
    }
    ExpectSame(type, absl::Substitute("T.abs(T.Cast(\"$0\", v * 512))", type));
  }
}

TEST(Numbers, NamedFunctionsAreExact) {
  const std::string x = "T.Cast(\"float32\", v - 32) * T.float32(0.25)";
  for (const char* function : {"T.round($0)", "T.round_away($0)", "T.nearbyint($0)", "T.copysign($0, T.float32(-1))",
                               "T.nextafter($0, T.float32(9))", "T.nextafter($0, T.float32(-9))", "T.ldexp($0, 3)",
                               "T.ldexp($0, -140)", "T.ldexp($0, 200)"}) {
    ExpectSame("float32", absl::Substitute(function, x));
  }
  for (const char* type : {"float16", "bfloat16", "float64"}) {
    const std::string narrow = absl::Substitute("T.Cast(\"$0\", $1)", type, x);
    ExpectSame(type, absl::Substitute("T.nextafter($1, T.Cast(\"$0\", 9))", type, narrow));
    ExpectSame(type, absl::Substitute("T.copysign($1, T.Cast(\"$0\", -1))", type, narrow));
    ExpectSame(type, absl::Substitute("T.ldexp($0, v - 40)", narrow));
  }
}

TEST(Numbers, FixedPointProducts) {
  ExpectSame("int32", "T.q_multiply_shift((v - 32) * 1000003, 1395864371, 31, v % 5 - 4)");
  ExpectSame("int32", "T.q_multiply_shift_per_axis((v - 32) * 1003, 1395864371, 2, v % 5, 31, True, True)");
}

TEST(Numbers, CallsThatSayWhatAnExpressionIs) {
  ExpectSame("int32", "T.tvm_thread_invariant(v % 7) + T.ignore_loop_partition(v // 3) + T.likely(v)");
}

TEST(Numbers, IndicesOfEveryTypeCountInFull) {
  for (const char* type : {"int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"}) {
    const std::string text = absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((120, 700), "float32"), B: T.Buffer((4, 16), "float32")):
    J = T.alloc_buffer((4,), "$0")
    for i in range(4):
        with T.block("J"):
            v = T.axis.spatial(4, i)
            J[v] = T.Cast("$0", v * 30 + 25)
    for i in range(4):
        for j in T.vectorized(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[J[vi], vj * 43]
)",
                                              type);
    EXPECT_EQ(testing::CompareWithInterpreter(ParseOrDie(text), {.tolerance = 0}), "") << text;
  }
}

TEST(Numbers, BytesIndexTables) {
  const std::string text = R"(
@T.prim_func
def main(L: T.Buffer((256,), "int32"), Y: T.Buffer((64,), "int32")):
    X = T.alloc_buffer((64,), "uint8")
    for i in range(64):
        with T.block("X"):
            v = T.axis.spatial(64, i)
            X[v] = T.Cast("uint8", v * 4)
    for i in T.vectorized(64):
        with T.block("Y"):
            v = T.axis.spatial(64, i)
            Y[v] = L[X[v]]
)";
  EXPECT_EQ(testing::CompareWithInterpreter(ParseOrDie(text), {.tolerance = 0}), "");
}

TEST(Names, OfFunctionsMayBeThoseOfC) {
  for (const char* name : {"sin", "expf", "pow", "main", "tw_required_features", "free", "int", "aligned_alloc"}) {
    const std::string text = absl::Substitute(R"(
@T.prim_func
def $0(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            B[v] = T.sin(A[v]) + T.pow(A[v], T.float32(2.5)) * T.float32(0) + T.exp2(A[v])
)",
                                              name);
    EXPECT_EQ(testing::CompareWithInterpreter(ParseOrDie(text)), "") << name;
  }
}

// Rounded numbers between limits, as requantization computes them, in both orders of the limits: numbers in the middle
// of two integers, beyond the limits and of the types that conversions pass through, infinite ones and NaN.
TEST(Numbers, AreRoundedBetweenLimits) {
  const std::string middles = "T.Cast(\"float32\", v - 32) * T.float32(0.5)";
  const std::string large = "T.Cast(\"float32\", v - 32) * T.float32(2e8)";
  const std::string infinite = "T.float32(3) / T.Cast(\"float32\", v % 3 - 1)";
  const std::string not_numbers = "T.sqrt(T.Cast(\"float32\", v - 32)) * T.float32(40)";
  std::vector<testing::Compared> all;
  for (const std::string& value : {middles, "(" + middles + ") * T.float32(20)", large, infinite, not_numbers}) {
    for (const auto& [type, low, high] : {std::tuple("int8", -128, 127),
                                          {"int8", 0, 127},
                                          {"int8", -5, 5},
                                          {"uint8", 0, 255},
                                          {"uint8", 3, 200},
                                          {"int16", -32768, 32767}}) {
      for (const char* limited : {"T.min(T.max(T.nearbyint($1), T.float32($2)), T.float32($3))",
                                  "T.max(T.min(T.nearbyint($1), T.float32($3)), T.float32($2))"}) {
        const std::string number =
            absl::Substitute(absl::StrCat("T.Cast(\"$0\", ", limited, ")"), type, value, low, high);
        for (const char* loop : {"serial", "vectorized"}) {
          all.push_back({ParseOrDie(Program(type, number, loop)).Main(), {.tolerance = 0}});
        }
      }
    }
  }
  const std::vector<std::string> wrong = testing::CompareAllWithInterpreter(all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(wrong[i], "") << Print(all[i].function);
}

// Minima and maxima of zeros of both signs are the second operand; the sign is what is compared.
TEST(Numbers, OfTwoZerosTheSecondIsChosen) {
  const std::string zeros = "T.copysign(T.float32(0), T.Cast(\"float32\", v % 2) - T.float32(0.5))";
  const std::string nan_or_zeros = "T.Select(v % 5 == 0, T.sqrt(T.float32(-1) - T.fabs(" + zeros + ")), " + zeros + ")";
  std::vector<testing::Compared> all;
  for (const std::string& value : {zeros, nan_or_zeros}) {
    for (const char* number : {"T.float32(0.0)", "T.float32(-0.0)"}) {
      for (const char* chosen :
           {"T.min($0, $1)", "T.max($0, $1)", "T.min($1, $0)", "T.max($1, $0)", "T.min(T.max($0, T.float32(-2)), $1)",
            "T.max(T.min($0, T.float32(6)), $1)", "T.min(T.max($0, $1), T.float32(6))", "T.max(T.max($1, $0), $1)",
            "T.min(T.min($1, $0), $1)", "T.max($1, T.min($0, T.float32(6)))"}) {
        // The sign of a NaN is not defined.
        const std::string sign = absl::Substitute("T.Select($0 == $0, T.copysign(T.float32(1), $0), T.float32(2))",
                                                  absl::Substitute(chosen, value, number));
        for (const char* loop : {"serial", "vectorized"}) {
          all.push_back({ParseOrDie(Program("float32", sign, loop)).Main(), {.tolerance = 0}});
        }
      }
    }
  }
  const std::vector<std::string> wrong = testing::CompareAllWithInterpreter(all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(wrong[i], "") << Print(all[i].function);
}

// A condition on large numbers is evaluated as it stands: b + c of `a - b < c` overflows here, a - b does not.
TEST(Numbers, OfMemoryAreComparedWithoutOverflow) {
  for (const char* condition : {"a - b < c", "c <= a - b", "v < 2147483647 - a", "a - b - 1 < c - v"}) {
    for (const char* loop : {"serial", "vectorized", "parallel"}) {
      const std::string text = absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64, 3), "int32"), B: T.Buffer((64,), "int32")):
    for i in T.$1(64):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            a: T.int32 = T.max(A[v, 0], 0)
            b: T.int32 = T.max(A[v, 1], 0)
            c: T.int32 = T.max(A[v, 2], -1)
            B[v] = 0
            if $0:
                B[v] = 1
)",
                                                condition, loop);
      EXPECT_EQ(testing::CompareWithInterpreter(ParseOrDie(text), {.integers = 2147483000}), "") << text;
    }
  }
}

}  // namespace
}  // namespace tilewright

#include "codegen/lower/cpu/tabulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/lower/common/pass_testing.h"

namespace tilewright {
namespace {

using testing::Body;
using testing::ExpectSameAtAllSizes;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Opaque;

constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((32,), "uint8"), S: T.Buffer((16,), "{TYPE}"), X: T.Buffer((16,), "{TYPE}"), L: T.Buffer((64,), "float32"), C: T.Buffer((16,), "{TYPE}")):
    with T.block("root"):
        C[0:16] = {VALUE}
)";

Function Program(const std::string& value, const std::string& type = "float32") {
  return Opaque(absl::StrReplaceAll(kProgram, {{"{VALUE}", value}, {"{TYPE}", type}}));
}

Function Tabulated(const Function& function, const char* target = "x86-znver4") {
  return Tabulate(function, *NamedTarget(target));
}

constexpr char kDigit[] = "T.bitwise_and(A[0:16], T.Broadcast(T.uint8(15), 16))";

// The value of C with `{D}` for a digit of four bits.
Function OfDigit(const std::string& value, const std::string& type = "float32") {
  return Program(absl::StrReplaceAll(value, {{"{D}", kDigit}}), type);
}

TEST(Tabulate, WhatIsComputedOfANumberOfFewBits) {
  const Function before =
      OfDigit(R"((T.Cast("float32x16", {D}) - T.Broadcast(T.float32(8), 16)) * T.Broadcast(S[3], 16) * X[0:16])");
  const Function after = Tabulated(before);
  EXPECT_THAT(
      Body(after),
      HasSubstr(
          R"(C[0:16] = T.lookup("float32x16", (T.Cast("float32x16", T.Cast("uint8x16", T.Ramp(0, 1, 16))) - T.Broadcast(T.float32(8), 16)) * T.Broadcast(S[3], 16), T.Cast("int32x16", A[0:16])) * X[0:16])"));
  ExpectSameAtAllSizes(before, after);
  // A register of eight floats has no place for sixteen.
  EXPECT_EQ(Body(Tabulated(before, "x86-haswell")), Body(before));
  EXPECT_EQ(Body(Tabulated(before, "arm-neoverse-n1")), Body(before));
}

TEST(Tabulate, KindsOfDigits) {
  for (const char* digit :
       {"T.bitwise_and(T.Broadcast(T.uint8(7), 16), A[0:16])", "A[0:16] % T.Broadcast(T.uint8(11), 16)",
        "T.shift_right(A[0:16], T.Broadcast(T.uint8(4), 16))", kDigit}) {
    const Function before = Program("T.exp2(T.Cast(\"float32x16\", " + std::string(digit) + "))");
    const Function after = Tabulated(before);
    EXPECT_THAT(Body(after), HasSubstr("T.lookup(")) << digit;
    ExpectSameAtAllSizes(before, after);
  }
  for (const char* other :
       {"T.bitwise_and(A[0:16], T.Broadcast(T.uint8(31), 16))", "A[0:16] % T.Broadcast(T.uint8(17), 16)",
        "T.shift_right(A[0:16], T.Broadcast(T.uint8(3), 16))",
        "T.bitwise_and(T.Cast(\"uint8x16\", T.Ramp(0, 1, 16)), T.Broadcast(T.uint8(15), 16))"}) {
    const Function before = Program("T.Cast(\"float32x16\", " + std::string(other) + ")");
    EXPECT_EQ(Body(Tabulated(before)), Body(before)) << other;
  }
}

TEST(Tabulate, OnlyWhatDependsOnOneDigit) {
  for (const char* value : {R"(T.Cast("float32x16", A[0:16]))", R"(T.Cast("float32x16", T.bitwise_or({D}, A[16:32])))",
                            // A quotient of integers may trap in lanes that no number names.
                            R"(T.Cast("float32x16", T.Broadcast(T.uint8(60), 16) // {D}))"}) {
    const Function before = OfDigit(value);
    EXPECT_EQ(Body(Tabulated(before)), Body(before));
  }
  const Function two = OfDigit(
      R"(T.Cast("float32x16", {D}) * T.Cast("float32x16", T.bitwise_and(A[16:32], T.Broadcast(T.uint8(15), 16))))");
  const Function after = Tabulated(two);
  EXPECT_THAT(Body(after), HasSubstr(R"(T.Cast("int32x16", A[0:16])) * T.lookup()"));
  ExpectSameAtAllSizes(two, after);
}

TEST(Tabulate, ChoicesAndComparisons) {
  const Function before =
      OfDigit(R"(T.Select({D} < T.Broadcast(T.uint8(8), 16), T.Cast("float32x16", {D}), T.Broadcast(S[2], 16)))");
  const Function after = Tabulated(before);
  EXPECT_THAT(Body(after), HasSubstr("C[0:16] = T.lookup("));
  ExpectSameAtAllSizes(before, after);
}

// float16 has no table of sixteen entries, bfloat16 lies in registers as floats.
TEST(Tabulate, NarrowTypes) {
  const Function half = OfDigit(R"(T.Cast("float16x16", {D}) * T.Broadcast(S[1], 16) + X[0:16])", "float16");
  EXPECT_THAT(Body(Tabulated(half)),
              HasSubstr(R"(T.Cast("float16x16", T.lookup("float32x16", T.Cast("float32x16", T.Cast("float16x16", T.)"));
  ExpectSameAtAllSizes(half, Tabulated(half));
  const Function bfloat = OfDigit(R"(T.Cast("bfloat16x16", {D}) * T.Broadcast(S[1], 16) + X[0:16])", "bfloat16");
  EXPECT_THAT(Body(Tabulated(bfloat)), HasSubstr(R"(C[0:16] = T.lookup("bfloat16x16", )"));
  ExpectSameAtAllSizes(bfloat, Tabulated(bfloat));
  const Function wide = OfDigit(R"(T.Cast("float64x16", {D}) + X[0:16])", "float64");
  EXPECT_EQ(Body(Tabulated(wide)), Body(wide));
}

TEST(Tabulate, Codebooks) {
  for (const char* first : {"", " + T.Broadcast(16 * (2 + 1), 16)"}) {
    const Function before = OfDigit(R"(L[T.Cast("int32x16", {D}))" + std::string(first) + "] * X[0:16]");
    const Function after = Tabulated(before);
    EXPECT_THAT(Body(after), HasSubstr("T.lookup(\"float32x16\", L[")) << first;
    ExpectSameAtAllSizes(before, after);
  }
  // 48 + 208 is 0 in a byte.
  const Function wraps =
      OfDigit(R"(L[T.Cast("int32x16", {D} + T.Broadcast(T.uint8(48), 16) + T.Broadcast(T.uint8(208), 16))] * X[0:16])");
  ExpectSameAtAllSizes(wraps, Tabulated(wraps));
  // Entries that a digit does not name may lie outside of the buffer.
  const Function odd = OfDigit(R"(L[T.Cast("int32x16", {D}) + T.Broadcast(40, 16)] * X[0:16])");
  EXPECT_EQ(Body(Tabulated(odd)), Body(odd));
}

// Tables of all bytes, whatever is in them; shorter and longer ones, and vectors of few lanes, stay in memory.
TEST(Tabulate, TablesOfBytes) {
  constexpr char kLookup[] = R"(
@T.prim_func
def main(A: T.Buffer((64,), "{NUMBER}"), L: T.Buffer(({ENTRIES},), "{TYPE}"), C: T.Buffer((64,), "{TYPE}")):
    with T.block("root"):
        C[0:{LANES}] = L[T.Cast("int32x{LANES}", T.Cast("uint8x{LANES}", A[0:{LANES}]))]
)";
  const auto program = [&](const char* number, const char* type, int entries, int lanes) {
    return Opaque(absl::StrReplaceAll(kLookup, {{"{NUMBER}", number},
                                                {"{TYPE}", type},
                                                {"{ENTRIES}", std::to_string(entries)},
                                                {"{LANES}", std::to_string(lanes)}}));
  };
  for (const char* target : {"x86-znver4", "x86-haswell"}) {
    for (const char* type : {"uint8", "int8"}) {
      for (const int lanes : {8, 32, 64}) {
        const Function before = program(type, type, 256, lanes);
        const Function after = Tabulated(before, target);
        EXPECT_THAT(Body(after), HasSubstr(absl::StrCat("T.lookup(\"", type, "x", lanes, "\", L[0:256], ")));
        ExpectSameAtAllSizes(before, after);
      }
    }
    for (const Function& other : {program("uint8", "uint8", 255, 64), program("uint8", "float32", 256, 64),
                                  program("uint8", "int16", 256, 64), program("uint8", "uint8", 256, 4)}) {
      EXPECT_EQ(Body(Tabulated(other, target)), Body(other));
    }
  }
  const Function before = program("uint8", "uint8", 256, 64);
  EXPECT_EQ(Body(Tabulated(before, "arm-neoverse-n1")), Body(before));
}

}  // namespace
}  // namespace tilewright

#include "codegen/lower/cpu/tabulate_bytes.h"

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
using testing::Opaque;

constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((4096,), "{TYPE}"), B: T.Buffer((4096,), "{TYPE}"), S: T.Buffer((4,), "float32"), C: T.Buffer((4096,), "{TYPE}")):
    with T.block("root"):
        for c in range(4):
            for i in range(16):
                for v in T.vectorized(64):
                    C[c * 1024 + i * 64 + v] = {VALUE}
)";

// A function of a byte that takes long enough.
constexpr char kFunction[] =
    R"(T.Cast("{TYPE}", T.max(T.min(T.sqrt(T.fabs(T.Cast("float32", {BYTE}) - T.float32(9)) / {SCALE}) / T.float32(3) / (T.Cast("float32", {BYTE}) + T.float32(300)), T.float32(100)), T.float32(0))))";

std::string Of(const std::string& byte, const std::string& scale = "S[1]") {
  return absl::StrReplaceAll(kFunction, {{"{BYTE}", byte}, {"{SCALE}", scale}});
}

Function OfType(const std::string& text, const std::string& type = "uint8") {
  return Opaque(absl::StrReplaceAll(text, {{"{TYPE}", type}}));
}

Function Program(const std::string& value, const std::string& type = "uint8") {
  return OfType(absl::StrReplaceAll(kProgram, {{"{VALUE}", value}}), type);
}

Function Tabulated(const Function& function, const char* target = "x86-znver4") {
  return TabulateBytes(function, *NamedTarget(target));
}

void ExpectUnchanged(const Function& before, const char* target = "x86-znver4") {
  EXPECT_EQ(Body(Tabulated(before, target)), Body(before));
}

int CountOf(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

constexpr char kElement[] = "A[c * 1024 + i * 64 + v]";

TEST(TabulateBytes, AFunctionOfOneByte) {
  for (const char* type : {"uint8", "int8"}) {
    for (const char* target : {"x86-znver4", "x86-skylake-avx512", "x86-haswell"}) {
      const Function before = Program(Of(kElement), type);
      const Function after = Tabulated(before, target);
      // Filled in front of all loops.
      EXPECT_EQ(Body(after).find("for c in"), Body(after).rfind("for c in"));
      EXPECT_LT(Body(after).find("for part in"), Body(after).find("for c in")) << Body(after);
      EXPECT_THAT(Body(after), HasSubstr("C[c * 1024 + i * 64 + v] = values[T.Cast(\"int32\", ")) << type;
      ExpectSameAtAllSizes(before, after);
    }
    // No register is such a table.
    ExpectUnchanged(Program(Of(kElement), type), "arm-neoverse-n1");
  }
}

TEST(TabulateBytes, OnlyFunctionsOfOneByte) {
  const std::string a = absl::StrCat("T.Cast(\"float32\", ", kElement, ")");
  ExpectUnchanged(Program(Of(a + " + T.Cast(\"float32\", B[c * 1024 + i * 64 + v])")));
  ExpectUnchanged(Program(Of(a + " + T.Cast(\"float32\", v)")));
  // A place that is not known to be in the buffer.
  ExpectUnchanged(Program(Of(kElement, "S[c]")));
  // A quotient by a byte that may be 0.
  ExpectUnchanged(Program(Of("77 // T.Cast(\"int32\", A[c * 1024 + i * 64 + v])")));
  // What is the same everywhere.
  ExpectUnchanged(Program(Of("A[3]")));
}

// Two bytes become one before most is computed of them.
TEST(TabulateBytes, BytesThatAreComputed) {
  const Function before = Program(Of("T.max(A[c * 1024 + i * 64 + v], B[c * 1024 + i * 64 + v])"));
  const Function after = Tabulated(before);
  EXPECT_THAT(Body(after), HasSubstr("= values[T.Cast(\"int32\", T.max(A[")) << Body(after);
  ExpectSameAtAllSizes(before, after);
}

TEST(TabulateBytes, ShortFunctionsAndFewElementsStay) {
  ExpectUnchanged(Program("T.max(A[c * 1024 + i * 64 + v], T.Cast(\"{TYPE}\", 9))"));
  constexpr char kFew[] = R"(
@T.prim_func
def main(A: T.Buffer((128,), "uint8"), S: T.Buffer((4,), "float32"), C: T.Buffer((128,), "uint8")):
    with T.block("root"):
        for i in range(2):
            for v in T.vectorized(64):
                C[i * 64 + v] = {F}
)";
  ExpectUnchanged(OfType(absl::StrReplaceAll(kFew, {{"{F}", Of("A[i * 64 + v]")}})));
}

// Calls that compute integers are of few instructions.
TEST(TabulateBytes, CallsOnBitsStay) {
  for (const char* op : {"T.flip_sign_bit", "T.popcount", "T.bitwise_not"}) {
    for (const char* target : {"x86-haswell", "x86-skylake-avx512", "x86-znver4"}) {
      ExpectUnchanged(Program(absl::StrCat(op, "(", kElement, ")"), "int8"), target);
    }
  }
}

TEST(TabulateBytes, EqualFunctionsShareATable) {
  constexpr char kTwo[] = R"(
@T.prim_func
def main(A: T.Buffer((4096,), "uint8"), S: T.Buffer((4,), "float32"), B: T.Buffer((4096,), "uint8"), C: T.Buffer((8192,), "uint8")):
    with T.block("root"):
        for i in range(64):
            for v in T.vectorized(64):
                C[i * 64 + v] = {FIRST}
                C[i * 64 + v + 4096] = {SECOND}
)";
  const auto program = [&](const std::string& second) {
    return OfType(absl::StrReplaceAll(kTwo, {{"{FIRST}", Of("A[i * 64 + v]")}, {"{SECOND}", second}}));
  };
  const Function same = program(Of("B[i * 64 + v]")), others = program(Of("B[i * 64 + v]", "S[2]"));
  EXPECT_EQ(CountOf(Body(Tabulated(same)), "for part in"), 1);
  EXPECT_EQ(CountOf(Body(Tabulated(others)), "for part"), 2) << Body(Tabulated(others));
  ExpectSameAtAllSizes(same, Tabulated(same));
  ExpectSameAtAllSizes(others, Tabulated(others));
}

// What an outer loop changes fills a table for each of its iterations.
TEST(TabulateBytes, TablesStandWhereTheirValuesAreKnown) {
  constexpr char kChanging[] = R"(
@T.prim_func
def main(A: T.Buffer((4096,), "uint8"), S: T.Buffer((4,), "float32"), C: T.Buffer((4096,), "uint8")):
    with T.block("root"):
        for c in range(2):
            S[1] = S[1] + T.float32(1)
            for i in range(32):
                for v in T.vectorized(64):
                    C[c * 2048 + i * 64 + v] = {F}
)";
  const Function before = OfType(absl::StrReplaceAll(kChanging, {{"{F}", Of("A[c * 2048 + i * 64 + v]")}}));
  const Function after = Tabulated(before);
  const std::string body = Body(after);
  EXPECT_LT(body.find("for c in"), body.find("for part in")) << body;
  EXPECT_LT(body.find("S[1] ="), body.find("for part in")) << body;
  EXPECT_LT(body.find("for part in"), body.find("for i in")) << body;
  ExpectSameAtAllSizes(before, after);
}

}  // namespace
}  // namespace tilewright

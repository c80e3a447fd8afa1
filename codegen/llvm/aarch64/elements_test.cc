// Instructions multiply by one element of a register where a group of bytes is the factor of a whole vector.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "codegen/llvm/object.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDots[] = R"(
@T.prim_func
def main(A: T.Buffer((64,), "{A}"), B: T.Buffer((256,), "{B}"), C: T.Buffer((4,), "int32")):
    for k in range(16):
        C[T.Ramp(0, 1, 4)] = T.dot_add(C[T.Ramp(0, 1, 4)], {GROUP}, B[T.Ramp(k * 16, 1, 16)])
)";

// The loop's assembly; in `group`, what is multiplied of A.
std::string Dots(const char* a, const char* b, const char* group) {
  const Module module = ParseOrDie(absl::StrReplaceAll(kDots, {{"{A}", a}, {"{B}", b}, {"{GROUP}", group}}));
  const auto assembly = EmitAssembly(module, *NamedTarget("arm-neoverse-v1"));
  EXPECT_TRUE(assembly.ok()) << assembly.status();
  return assembly.ok() ? *assembly : "";
}

TEST(Elements, OfBytesAreFactorsOfDotProducts) {
  for (const auto& [types, instruction] : {std::pair(std::pair("int8", "int8"), "sdot"),
                                           {std::pair("uint8", "uint8"), "udot"},
                                           {std::pair("uint8", "int8"), "sudot"}}) {
    const std::string assembly = Dots(types.first, types.second, "T.Broadcast(A[T.Ramp(k * 4, 1, 4)], 4)");
    EXPECT_THAT(assembly, HasSubstr(std::string("\t") + instruction + "\t"));
    EXPECT_THAT(assembly, HasSubstr(".4b[0]")) << instruction;
    EXPECT_THAT(assembly, Not(HasSubstr("ld1r"))) << instruction;
  }
}

// A row that fills a register is loaded once: each group of it is an element of that register.
TEST(Elements, OfRowsThatFillRegistersAreFactors) {
  constexpr char kRow[] = R"(
@T.prim_func
def main(A: T.Buffer((256,), "int8"), B: T.Buffer((1024,), "int8"), C: T.Buffer((4,), "int32")):
    for k in range(16):
        R = T.decl_buffer((16,), "int8", scope="register")
        R[T.Ramp(0, 1, 16)] = A[T.Ramp(k * 16, 1, 16)]
        C[T.Ramp(0, 1, 4)] = T.dot_add(C[T.Ramp(0, 1, 4)], T.Broadcast(R[T.Ramp(0, 1, 4)], 4), B[T.Ramp(k * 64, 1, 16)])
        C[T.Ramp(0, 1, 4)] = T.dot_add(C[T.Ramp(0, 1, 4)], T.Broadcast(R[T.Ramp(12, 1, 4)], 4), B[T.Ramp(k * 64 + 48, 1, 16)])
)";
  const auto assembly = EmitAssembly(ParseOrDie(kRow), *NamedTarget("arm-neoverse-n1"));
  ASSERT_TRUE(assembly.ok()) << assembly.status();
  EXPECT_THAT(*assembly, HasSubstr(".4b[0]"));
  EXPECT_THAT(*assembly, HasSubstr(".4b[3]"));
  EXPECT_THAT(*assembly, Not(HasSubstr("\tdup\t")));
}

// Rounded numbers between the limits of bytes: what narrows also saturates.
TEST(Rounding, OfRequantizedNumbersSaturates) {
  constexpr char kRequantized[] = R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "{TYPE}")):
    for k in range(4):
        B[T.Ramp(k * 16, 1, 16)] = T.Cast("{TYPE}x16", T.min(T.max(T.nearbyint(T.Cast("float32x16", A[T.Ramp(k * 16, 1, 16)]) * T.Broadcast(T.float32(0.3), 16)), T.Broadcast(T.float32({LOW}), 16)), T.Broadcast(T.float32({HIGH}), 16)))
)";
  const auto assembly = [&](const char* type, const char* low, const char* high) {
    return *EmitAssembly(
        ParseOrDie(absl::StrReplaceAll(kRequantized, {{"{TYPE}", type}, {"{LOW}", low}, {"{HIGH}", high}})),
        *NamedTarget("arm-neoverse-n1"));
  };
  const std::string bytes = assembly("uint8", "0", "255");
  EXPECT_THAT(bytes, HasSubstr("\tsqxtun2\t"));
  EXPECT_THAT(bytes, HasSubstr("\tfcvtns\t"));
  EXPECT_THAT(bytes, Not(HasSubstr("\tfmax")));
  EXPECT_THAT(bytes, Not(HasSubstr("\tfmin")));
  // A limit of its own stays.
  EXPECT_THAT(assembly("int8", "-100", "127"), HasSubstr("\tfmax"));
}

}  // namespace
}  // namespace tilewright

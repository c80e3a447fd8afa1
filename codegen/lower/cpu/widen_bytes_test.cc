#include "codegen/lower/cpu/widen_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "codegen/lower/common/pass_testing.h"

namespace tilewright {
namespace {

using testing::Body;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Opaque;

constexpr char kFactors[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "uint8"), W: T.Buffer((8,), "int8"), C: T.Buffer((8,), "int32")):
    with T.block("root"):
        R = T.alloc_buffer((8,), "uint8", scope="register")
        R[0:8] = A[0:8]
        C[0:4] = T.Cast("int32x4", R[0:4]) * T.Cast("int32x4", W[0:4])
        C[4:8] = {SECOND} * T.Cast("int32x4", W[4:8])
)";

Function Factors(const std::string& second) { return Opaque(absl::StrReplaceAll(kFactors, {{"{SECOND}", second}})); }

TEST(WidenBytes, ThatAreConverted) {
  const Function before = Factors(R"(T.Cast("int32x4", R[4:8]))");
  const std::string after = Body(WidenBytes(before, *NamedTarget("arm-neoverse-n1")));
  EXPECT_THAT(after, HasSubstr(R"(T.decl_buffer((8,), "int16", scope="register"))"));
  EXPECT_THAT(after, HasSubstr(R"(R[0:8] = T.Cast("int16x8", A[0:8]))"));
  EXPECT_THAT(after, HasSubstr(R"(C[4:8] = T.Cast("int32x4", R[4:8]) * T.Cast("int32x4", W[4:8]))"));
  // No instruction of the target multiplies half a register of 16-bit factors.
  EXPECT_EQ(Body(WidenBytes(before, *NamedTarget("x86-znver4"))), Body(before));
}

TEST(WidenBytes, OnlyWhereAllAreConverted) {
  const Function before = Factors(R"(T.Cast("int32x4", R[4:8] + T.Broadcast(T.uint8(1), 4)))");
  const std::string after = Body(WidenBytes(before, *NamedTarget("arm-neoverse-n1")));
  EXPECT_THAT(after, Not(HasSubstr("int16")));
}

}  // namespace
}  // namespace tilewright

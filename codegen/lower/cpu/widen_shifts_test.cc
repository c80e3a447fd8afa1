#include "codegen/lower/cpu/widen_shifts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "codegen/lower/common/pass_testing.h"

namespace tilewright {
namespace {

using testing::Body;
using testing::ExpectSameAtAllSizes;
using ::testing::HasSubstr;
using testing::Opaque;

// {S}: 0, 4, 0, 4, ...
Function Program(const std::string& value, const std::string& type) {
  const std::string shifted =
      absl::StrReplaceAll(value, {{"{S}", "T.Ramp(0, 1, 16) % T.Broadcast(2, 16) * T.Broadcast(4, 16)"}});
  return Opaque(absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((16,), "{T}"), C: T.Buffer((16,), "float32")):
    with T.block("root"):
        C[0:16] = {VALUE}
)",
                                    {{"{VALUE}", shifted}, {"{T}", type}}));
}

Function Widened(const Function& function, const char* target = "x86-znver4") {
  return WidenShifts(function, *NamedTarget(target));
}

TEST(WidenShifts, OfBytesByAmountsOfTheirOwn) {
  const Function before = Program(
      R"(T.Cast("float32x16", T.bitwise_and(T.shift_right(A[0:16], T.Cast("uint8x16", {S})), T.Broadcast(T.uint8(15), 16))))",
      "uint8");
  const Function after = Widened(before);
  EXPECT_THAT(Body(after), HasSubstr(R"(T.Cast("float32x16", T.Cast("int32x16", A[0:16]) >> T.Cast("int32x16", )"));
  ExpectSameAtAllSizes(before, after);
  EXPECT_EQ(Body(Widened(before, "arm-neoverse-n1")), Body(before));
}

TEST(WidenShifts, KeepsTheSign) {
  const Function before = Program(
      R"(T.Cast("float32x16", T.bitwise_xor(T.shift_right(A[0:16], T.Cast("int8x16", {S})), T.Broadcast(T.int8(-3), 16))))",
      "int8");
  const Function after = Widened(before);
  EXPECT_THAT(Body(after), HasSubstr(R"(T.Cast("int32x16", A[0:16]) >> )"));
  ExpectSameAtAllSizes(before, after);
}

TEST(WidenShifts, NotByOneAmount) {
  const Function before =
      Program(R"(T.Cast("float32x16", T.shift_right(A[0:16], T.Broadcast(T.uint8(4), 16))))", "uint8");
  EXPECT_EQ(Body(Widened(before)), Body(before));
}

}  // namespace
}  // namespace tilewright

// The passes that prepare groups of narrow elements for dot product instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/lower/common/pass_testing.h"
#include "codegen/lower/cpu/mask_bytes.h"
#include "codegen/lower/cpu/mask_late.h"
#include "codegen/lower/cpu/signed_dots.h"

namespace tilewright {
namespace {

using testing::Body;
using ::testing::HasSubstr;
using testing::Opaque;

constexpr char kSignedDots[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int8"), B: T.Buffer((128,), "int8"), C: T.Buffer((48,), "int32")):
    with T.block("root"):
        R = T.alloc_buffer((48,), "int32", scope="register")
        R[0:16] = T.dot_add(R[0:16], T.Broadcast(A[0:4], 16), B[0:64])
        R[16:32] = T.dot_add(R[16:32], T.Broadcast(A[4:8], 16), B[0:64])
        R[32:48] = T.dot_add(R[32:48], T.Broadcast(A[4:8], 16), B[64:128])
        C[0:48] = R[0:48]
)";

TEST(LowerSignedDots, SumsThatMeetTheSameShareWhatIsTakenOff) {
  EXPECT_THAT(Body(LowerSignedDots(Opaque(kSignedDots), *NamedTarget("x86-znver4"))), HasSubstr(R"(
    with T.decl_buffer((32,), "int32", scope="register") as added:
        added[0:16] = T.Broadcast(0, 16)
        added[16:32] = T.Broadcast(0, 16)
        added[0:16] = T.dot_add(added[0:16], T.Broadcast(T.uint8(128), 64), B[0:64])
        R[0:16] = T.dot_add(R[0:16], T.Broadcast(T.flip_sign_bit(T.reinterpret("uint8x4", A[0:4])), 16), B[0:64])
        R[16:32] = T.dot_add(R[16:32], T.Broadcast(T.flip_sign_bit(T.reinterpret("uint8x4", A[4:8])), 16), B[0:64])
        added[16:32] = T.dot_add(added[16:32], T.Broadcast(T.uint8(128), 64), B[64:128])
        R[32:48] = T.dot_add(R[32:48], T.Broadcast(T.flip_sign_bit(T.reinterpret("uint8x4", A[4:8])), 16), B[64:128])
        R[0:16] = R[0:16] - added[0:16]
        R[16:32] = R[16:32] - added[0:16]
        R[32:48] = R[32:48] - added[16:32]
    C[0:48] = R[0:48])"));
}

TEST(LowerSignedDots, TakesOffAfterTheLoop) {
  const std::string body = Body(LowerSignedDots(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((32,), "int8"), B: T.Buffer((512,), "int8"), C: T.Buffer((16,), "int32")):
    with T.block("root"):
        R = T.alloc_buffer((16,), "int32", scope="register")
        R[0:16] = T.Broadcast(0, 16)
        for i, k in T.grid(2, 4):
            R[0:16] = T.dot_add(R[0:16], T.Broadcast(A[i * 16 + k * 4:i * 16 + k * 4 + 4], 16), B[i * 256 + k * 64:i * 256 + k * 64 + 64])
        C[0:16] = R[0:16]
)"),
                                                *NamedTarget("x86-znver4")));
  EXPECT_THAT(body, HasSubstr(R"(
        added[0:16] = T.Broadcast(0, 16)
        for i, k in T.grid(2, 4):
            added[0:16] = T.dot_add()"));
  EXPECT_THAT(body, HasSubstr(R"(
        R[0:16] = R[0:16] - added[0:16]
    C[0:16] = R[0:16])"));
}

// The sums are something else in each iteration of i.
TEST(LowerSignedDots, TakesOffInTheLoopThatUsesTheSums) {
  const std::string body = Body(LowerSignedDots(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((32,), "int8"), B: T.Buffer((512,), "int8"), C: T.Buffer((32,), "int32")):
    with T.block("root"):
        R = T.alloc_buffer((16,), "int32", scope="register")
        for i in range(2):
            for k in range(4):
                R[0:16] = T.dot_add(R[0:16], T.Broadcast(A[i * 16 + k * 4:i * 16 + k * 4 + 4], 16), B[i * 256 + k * 64:i * 256 + k * 64 + 64])
            C[i * 16:i * 16 + 16] = R[0:16]
)"),
                                                *NamedTarget("x86-znver4")));
  EXPECT_THAT(body, HasSubstr(R"(
            R[0:16] = R[0:16] - added[0:16]
        C[i * 16:i * 16 + 16] = R[0:16])"));
}

// Groups of which lanes are left out; `size` is that of what they are read from.
Function MaskedGroups(const std::string& size) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((SIZE,), "uint8"), B: T.Buffer((64,), "int8"), C: T.Buffer((16,), "int32")):
    with T.block("root"):
        for i in range(4):
            R = T.decl_buffer((4,), "uint8", scope="register")
            R[0:4] = T.Select(T.Ramp(0, 1, 4) < T.Broadcast(3, 4), A.vload([T.Ramp(i * 3, 1, 4)], predicate=T.Ramp(0, 1, 4) < T.Broadcast(3, 4)), T.Broadcast(T.uint8(0), 4))
            C[0:16] = T.dot_add(C[0:16], T.Broadcast(R[0:4], 16), B[0:64])
)";
  const size_t at = text.find("SIZE");
  return Opaque((text.substr(0, at) + size + text.substr(at + 4)).c_str());
}

TEST(MaskLate, MasksWhereGroupsAreUsed) {
  EXPECT_THAT(Body(MaskLate(MaskedGroups("13"))), HasSubstr(R"(
        R[0:4] = A[i * 3:i * 3 + 4]
        C[0:16] = T.dot_add(C[0:16], T.Broadcast(T.Select(T.Ramp(0, 1, 4) < T.Broadcast(3, 4), R[0:4], T.Broadcast(T.uint8(0), 4)), 16), B[0:64]))"));
}

TEST(MaskLate, LeavesGroupsThatMayEndOutside) {
  const Function function = MaskedGroups("12");
  EXPECT_TRUE(MaskLate(function)->body.same_as(function->body));
}

// One group is set to `value` in each iteration, and at last to `last`.
Function FlippedGroup(const std::string& value, const std::string& last) {
  return Opaque((R"(
@T.prim_func
def main(A: T.Buffer((16,), "int8"), B: T.Buffer((64,), "int8"), C: T.Buffer((16,), "int32")):
    with T.block("root"):
        R = T.alloc_buffer((4,), "uint8", scope="register")
        for i in range(4):
            R[0:4] = )" +
                 value +
                 R"(
            C[0:16] = T.dot_add(C[0:16], T.Broadcast(R[0:4], 16), B[0:64])
        R[0:4] = )" +
                 last +
                 R"(
        C[0:16] = T.dot_add(C[0:16], T.Broadcast(R[0:4], 16), B[0:64])
)")
                    .c_str());
}
constexpr char kFlipped[] = "T.flip_sign_bit(T.reinterpret(\"uint8x4\", A.vload([T.Ramp(i * 4, 1, 4)])))";

TEST(MaskLate, FlipsWhereGroupsAreUsed) {
  EXPECT_THAT(Body(MaskLate(FlippedGroup(kFlipped, "T.Broadcast(T.uint8(130), 4)"))), HasSubstr(R"(
        R[0:4] = T.reinterpret("uint8x4", A[i * 4:i * 4 + 4])
        C[0:16] = T.dot_add(C[0:16], T.Broadcast(T.flip_sign_bit(R[0:4]), 16), B[0:64])
    R[0:4] = T.Broadcast(T.uint8(2), 4)
    C[0:16] = T.dot_add(C[0:16], T.Broadcast(T.flip_sign_bit(R[0:4]), 16), B[0:64])"));
  const std::string masked =
      "T.Select(T.Ramp(0, 1, 4) < T.Broadcast(3, 4), " + std::string(kFlipped) + ", T.Broadcast(T.uint8(0), 4))";
  EXPECT_THAT(Body(MaskLate(FlippedGroup(masked, "T.Broadcast(T.uint8(0), 4)"))), HasSubstr(R"(
        R[0:4] = T.reinterpret("uint8x4", A[i * 4:i * 4 + 4])
        C[0:16] = T.dot_add(C[0:16], T.Broadcast(T.Select(T.Ramp(0, 1, 4) < T.Broadcast(3, 4), T.flip_sign_bit(R[0:4]), T.Broadcast(T.uint8(0), 4)), 16), B[0:64])
    R[0:4] = T.Broadcast(T.uint8(128), 4))"));
  // A mask would change the number.
  const Function number = FlippedGroup(masked, "T.Broadcast(T.uint8(3), 4)");
  EXPECT_TRUE(MaskLate(number)->body.same_as(number->body));
  // Flipped once, and not the other time.
  const Function mixed = FlippedGroup(kFlipped, "T.reinterpret(\"uint8x4\", A[0:4])");
  EXPECT_TRUE(MaskLate(mixed)->body.same_as(mixed->body));
}

constexpr char kUnpacked[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int8"), Q: T.Buffer((32,), "uint8"), C: T.Buffer((16,), "int32")):
    with T.block("root"):
        W = T.alloc_buffer((64,), "uint8", scope="register")
        V = T.alloc_buffer((32,), "uint8", scope="register")
        W[0:32] = Q[0:32] & T.Broadcast(T.uint8(15), 32)
        W[32:64] = Q[0:32] >> T.Broadcast(T.uint8(4), 32)
        V[0:32] = Q[0:32]
        C[0:8] = T.dot_add(C[0:8], T.Broadcast(A[0:4], 8), W[32:64])
        C[8:16] = T.dot_add(C[8:16], T.Broadcast(A[0:4], 8), V[0:32])
)";

TEST(MaskBytes, ThatAreKnownToBeBelow128) {
  const std::string body = Body(MaskBytes(Opaque(kUnpacked), *NamedTarget("x86-haswell")));
  EXPECT_THAT(body, HasSubstr("W[32:64] & T.Broadcast(T.uint8(127), 32))"));
  EXPECT_THAT(body, HasSubstr("V[0:32])"));
}

TEST(MaskBytes, NotWhereAnInstructionAddsFourProducts) {
  const Function function = Opaque(kUnpacked);
  EXPECT_EQ(Body(MaskBytes(function, *NamedTarget("x86-znver4"))), Body(function));
}

TEST(LowerSignedDots, LeavesOtherTargetsAlone) {
  const Function function = Opaque(kSignedDots);
  EXPECT_TRUE(LowerSignedDots(function, *NamedTarget("x86-haswell"))->body.same_as(function->body));
}

}  // namespace
}  // namespace tilewright

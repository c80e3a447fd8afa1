// The passes that prepare groups of narrow elements for dot product instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codegen/lower/common/pass_testing.h"
#include "codegen/lower/cpu/mask_bytes.h"
#include "codegen/lower/cpu/mask_late.h"
#include "codegen/lower/cpu/narrow_sums.h"
#include "codegen/lower/cpu/signed_dots.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"

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
  EXPECT_THAT(body, HasSubstr("W[32:64] & T.Broadcast(T.uint8(15), 32))"));
  EXPECT_THAT(body, HasSubstr("V[0:32])"));
}

TEST(MaskBytes, NotWhereAnInstructionAddsFourProducts) {
  const Function function = Opaque(kUnpacked);
  EXPECT_EQ(Body(MaskBytes(function, *NamedTarget("x86-znver4"))), Body(function));
}

// Two sums of products of signed bytes by bytes up to `most`, then `between`, then one more of each.
Function SmallProducts(int most, const std::string& between) {
  const std::string mask = " & T.Broadcast(T.uint8(" + std::to_string(most) + "), 32))\n";
  const auto add = [&](const std::string& sum, const std::string& first) {
    return "        " + sum + " = T.dot_add(" + sum + ", T.Broadcast(A[" + first + ":" + first + " + 4], 8), W[0:32]" +
           mask;
  };
  return Opaque((R"(
@T.prim_func
def main(A: T.Buffer((16,), "int8"), Q: T.Buffer((32,), "uint8"), C: T.Buffer((16,), "int32"), D: T.Buffer((8,), "int32")):
    with T.block("root"):
        W = T.alloc_buffer((32,), "uint8", scope="register")
        S = T.alloc_buffer((16,), "int32", scope="register")
        W[0:32] = Q[0:32]
        S[0:16] = T.Broadcast(0, 16)
)" + add("S[0:8]", "0") +
                 add("S[8:16]", "4") + between + add("S[0:8]", "8") + add("S[8:16]", "12") +
                 "        C[0:16] = S[0:16]\n")
                    .c_str());
}

TEST(NarrowSums, SumsWaitInSixteenBits) {
  EXPECT_THAT(Body(NarrowSums(SmallProducts(63, ""), *NamedTarget("x86-haswell"))), HasSubstr(R"(
    S[0:16] = T.Broadcast(0, 16)
    pairs_1[0:16] = T.dot_add(T.Broadcast(T.int16(0), 16), T.Broadcast(A[0:4], 8), W[0:32] & T.Broadcast(T.uint8(63), 32))
    pairs[0:16] = T.dot_add(T.Broadcast(T.int16(0), 16), T.Broadcast(A[4:8], 8), W[0:32] & T.Broadcast(T.uint8(63), 32))
    pairs_1[0:16] = T.dot_add(pairs_1[0:16], T.Broadcast(A[8:12], 8), W[0:32] & T.Broadcast(T.uint8(63), 32))
    pairs[0:16] = T.dot_add(pairs[0:16], T.Broadcast(A[12:16], 8), W[0:32] & T.Broadcast(T.uint8(63), 32))
    S[0:8] = T.dot_add(S[0:8], pairs_1[0:16], T.Broadcast(T.int16(1), 16))
    S[8:16] = T.dot_add(S[8:16], pairs[0:16], T.Broadcast(T.int16(1), 16))
    C[0:16] = S[0:16])"));
}

// 2 * 2 * 128 * 64 is more than 16 bits hold.
TEST(NarrowSums, AreWidenedBeforeTheyOverflow) {
  const std::string body = Body(NarrowSums(SmallProducts(64, ""), *NamedTarget("x86-haswell")));
  EXPECT_THAT(body, HasSubstr(R"(
    S[0:8] = T.dot_add(S[0:8], pairs_1[0:16], T.Broadcast(T.int16(1), 16))
    pairs_1[0:16] = T.dot_add(T.Broadcast(T.int16(0), 16), T.Broadcast(A[8:12], 8),)"));
}

TEST(NarrowSums, AreWidenedBeforeTheyAreReadOrWritten) {
  for (const char* between : {"D[0:8] = S[0:8]\n", "S[0:8] = D[0:8]\n", "for i in range(2):\n            S[i] = 1\n"}) {
    const Function program = SmallProducts(15, std::string(8, ' ') + between);
    const std::string body = Body(NarrowSums(program, *NamedTarget("x86-haswell")));
    const size_t widened = body.find("S[0:8] = T.dot_add(S[0:8], pairs_1[0:16]");
    EXPECT_LT(widened, body.find(std::string(between, 10))) << body;
  }
}

TEST(NarrowSums, NotOfBytesWhosePairsDoNotFit) {
  for (const int most : {128, 255, 0}) {
    const Function function = SmallProducts(most, "");
    EXPECT_TRUE(NarrowSums(function, *NamedTarget("x86-haswell"))->body.same_as(function->body)) << most;
  }
  const Function function = SmallProducts(15, "");
  EXPECT_TRUE(NarrowSums(function, *NamedTarget("x86-znver4"))->body.same_as(function->body));
}

// A loop of so many iterations over products of signed bytes by bytes up to 15.
Function LoopOfProducts(int iterations, const std::string& last = "") {
  return Opaque((R"(
@T.prim_func
def main(A: T.Buffer((16,), "int8"), Q: T.Buffer((32,), "uint8"), C: T.Buffer((16,), "int32"), D: T.Buffer((8,), "int32")):
    with T.block("root"):
        S = T.alloc_buffer((8,), "int32", scope="register")
        S[0:8] = T.Broadcast(0, 8)
        for k in range()" +
                 std::to_string(iterations) + R"():
            W = T.decl_buffer((32,), "uint8", scope="register")
            W[0:32] = Q[0:32]
            S[0:8] = T.dot_add(S[0:8], T.Broadcast(A[k % 4 * 4:k % 4 * 4 + 4], 8), W[0:32] & T.Broadcast(T.uint8(15), 32))
)" + last + "        C[0:8] = S[0:8]\n")
                    .c_str());
}

TEST(NarrowSums, WaitThroughoutShortLoops) {
  EXPECT_THAT(Body(NarrowSums(LoopOfProducts(8), *NamedTarget("x86-haswell"))), HasSubstr(R"(
    pairs[0:16] = T.Broadcast(T.int16(0), 16)
    for k in range(8):
        W = T.decl_buffer((32,), "uint8", scope="register")
        W[0:32] = Q[0:32]
        pairs[0:16] = T.dot_add(pairs[0:16], T.Broadcast(A[k % 4 * 4:k % 4 * 4 + 4], 8), W[0:32] & T.Broadcast(T.uint8(15), 32))
    S[0:8] = T.dot_add(S[0:8], pairs[0:16], T.Broadcast(T.int16(1), 16)))"));
}

TEST(NarrowSums, LongLoopsAreTwo) {
  EXPECT_THAT(Body(NarrowSums(LoopOfProducts(24), *NamedTarget("x86-haswell"))), HasSubstr(R"(
    for k in range(3):
        pairs = T.decl_buffer((16,), "int16", scope="register")
        pairs[0:16] = T.Broadcast(T.int16(0), 16)
        for k_1 in range(8):)"));
}

TEST(NarrowSums, DoNotWaitThroughoutLoopsThatReadThem) {
  const Function program = LoopOfProducts(8, "            D[k] = S[k]\n");
  EXPECT_THAT(Body(NarrowSums(program, *NamedTarget("x86-haswell"))), HasSubstr(R"(
        S[0:8] = T.dot_add(S[0:8], pairs[0:16], T.Broadcast(T.int16(1), 16))
        D[k] = S[k])"));
}

// What a function with the parameters of SmallProducts writes.
std::vector<int64_t> Interpreted(const Function& function) {
  const NDArray a(DataType::Int(8), {16}), q(DataType::UInt(8), {32}), c(DataType::Int(32), {16}),
      d(DataType::Int(32), {8});
  for (int64_t i = 0; i < a.size(); ++i) a.SetInt(i, i % 5 == 4 ? 127 : -128);
  for (int64_t i = 0; i < q.size(); ++i) q.SetInt(i, i % 7 == 6 ? 1 : 255);
  const auto program = interp::Compile(function);
  EXPECT_TRUE(program.ok() && program->Run({a, q, c, d}).ok()) << program.status();
  std::vector<int64_t> written;
  for (int64_t i = 0; i < c.size(); ++i) written.push_back(c.GetInt(i));
  for (int64_t i = 0; i < d.size(); ++i) written.push_back(d.GetInt(i));
  return written;
}

// The extremes that bytes and masks allow, interpreted: nothing overflows.
TEST(NarrowSums, AreTheSameNumbers) {
  for (const int most : {1, 15, 63, 127}) {
    const Function program = SmallProducts(most, "        D[0:8] = S[0:8]\n");
    EXPECT_EQ(Interpreted(program), Interpreted(NarrowSums(program, *NamedTarget("x86-haswell")))) << most;
  }
  for (const int iterations : {1, 7, 8, 9, 11, 24, 400}) {
    for (const char* last : {"", "            D[k % 8] = S[k % 8]\n"}) {
      const Function program = LoopOfProducts(iterations, last);
      const Function narrow = NarrowSums(program, *NamedTarget("x86-haswell"));
      EXPECT_FALSE(narrow->body.same_as(program->body));
      EXPECT_EQ(Interpreted(program), Interpreted(narrow)) << iterations << last;
    }
  }
}

TEST(LowerSignedDots, LeavesOtherTargetsAlone) {
  const Function function = Opaque(kSignedDots);
  EXPECT_TRUE(LowerSignedDots(function, *NamedTarget("x86-haswell"))->body.same_as(function->body));
}

}  // namespace
}  // namespace tilewright

#include "codegen/lower/common/vectorize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "codegen/lower/common/flatten_buffers.h"
#include "codegen/lower/common/pass_testing.h"

namespace tilewright {
namespace {

using testing::Body;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Opaque;

Function Vectorized(const char* text, int bits = 512) {
  return VectorizeLoops(FlattenBuffers(Opaque(text)).value(), bits);
}

TEST(Vectorize, SplitsByTheWidthOfRegisters) {
  constexpr char kCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((28,), "float32"), B: T.Buffer((28,), "float32")):
    for i in T.vectorized(28):
        B[i] = A[i]
)";
  const std::string wide = Body(Vectorized(kCopy));
  EXPECT_THAT(wide, HasSubstr("B_1[0:16] = A_1[0:16]"));
  EXPECT_THAT(wide, HasSubstr("B_1.vstore([T.Ramp(16, 1, 16)], A_1.vload([T.Ramp(16, 1, 16)], "
                              "predicate=T.Ramp(16, 1, 16) < T.Broadcast(28, 16))"));
  // Narrower registers have no masks for all elements.
  const std::string narrow = Body(Vectorized(kCopy, 256));
  EXPECT_THAT(narrow, HasSubstr("B_1[16:24] = A_1[16:24]"));
  EXPECT_THAT(narrow, HasSubstr("B_1[24:28] = A_1[24:28]"));
  EXPECT_THAT(Body(Vectorized(kCopy, 128)), HasSubstr("B_1[0:4] = A_1[0:4]"));
}

// Vectors that are a long chain of operations each are one statement, where they are runs of f32 in memory.
TEST(Vectorize, LongChainsTakeTheirStepsTogether) {
  const auto program = [](const std::string& value, int64_t vector_bits = 256, const std::string& type = "float32") {
    return Body(Vectorized(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((128,), "$1"), B: T.Buffer((44,), "float32")):
    for i in T.vectorized(44):
        B[i] = $0
)",
                                            value, type)
                               .c_str(),
                           vector_bits));
  };
  const std::string chains = program("T.tanh(A[i] * T.float32(2))");
  EXPECT_THAT(chains, HasSubstr("B_1[0:32] = T.tanh(A_1[0:32] * T.Broadcast(T.float32(2), 32))"));
  EXPECT_THAT(chains, HasSubstr("B_1[32:40] = "));
  EXPECT_THAT(chains, HasSubstr("B_1[40:44] = "));
  EXPECT_THAT(program("T.sqrt(A[i])"), HasSubstr("B_1[0:8] = "));
  EXPECT_THAT(program("T.tanh(A[i * 2])"), HasSubstr("B_1[0:8] = "));
  EXPECT_THAT(program("T.if_then_else(i < 20, T.tanh(A[i]), T.float32(1))"), HasSubstr("B_1[0:8] = "));
  EXPECT_THAT(program("T.tanh(T.Cast(\"float32\", A[i]))", 256, "float16"), HasSubstr("B_1[0:8] = "));
  EXPECT_THAT(program("T.tanh(A[i])", 128), HasSubstr("B_1[0:4] = "));
}

// Buffers in registers keep the lanes without work instead of being accessed under a mask.
TEST(Vectorize, RegistersAreWholeVectors) {
  const std::string body = Body(Vectorized(R"(
@T.prim_func
def main(A: T.Buffer((61,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("root"):
        R = T.alloc_buffer((16,), "float32", scope="register")
        for i in T.vectorized(16):
            R[i] = T.float32(0)
        for k in range(4):
            for i in T.vectorized(16):
                if k * 16 + i < 61:
                    R[i] = R[i] + A[k * 16 + i]
        for i in T.vectorized(16):
            B[i] = R[i]
)"));
  EXPECT_THAT(body, HasSubstr("R[0:16] = T.Select("));
  EXPECT_THAT(body, HasSubstr("R[0:16] + A_1.vload("));
  EXPECT_THAT(body, Not(HasSubstr("R.vstore")));
  EXPECT_THAT(body, Not(HasSubstr("R.vload")));
}

// What is loaded outside of conditions has no masks inside of them either.
TEST(Vectorize, CertainLoadsHaveNoMasks) {
  const std::string body = Body(Vectorized(R"(
@T.prim_func
def main(P: T.Buffer((32,), "int32"), Q: T.Buffer((32,), "int32"), A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.vectorized(16):
        B[i] = T.if_then_else(0 <= P[i * 2] and P[i * 2] < 16 and Q[i * 2] < 3, A[P[i * 2]] + P[i * 2] + Q[i * 2], 0) + P[i * 2]
)"));
  EXPECT_THAT(body, HasSubstr("P_1[T.Ramp(0, 2, 16)] < T.Broadcast(16, 16)"));
  EXPECT_THAT(body, Not(HasSubstr("P_1.vload")));
  EXPECT_THAT(body, HasSubstr("Q_1.vload"));
  EXPECT_THAT(body, HasSubstr("A_1.vload"));
}

// What a store loads is not certain in the conditions and statements behind it, which have other masks.
TEST(Vectorize, LoadsOfAStoreBeforeAreNotCertain) {
  const std::string body = Body(Vectorized(R"(
@T.prim_func
def main(P: T.Buffer((16,), "int32"), N: T.Buffer((32,), "int32"), L: T.Buffer((16,), "int32")):
    for i in T.vectorized(16):
        if P[i] > 1:
            L[i] = N[i * 2] + 1
        if N[i * 2] == 0:
            L[i] = P[i]
)"));
  EXPECT_THAT(body, HasSubstr("predicate=N_1[T.Ramp(0, 2, 16)] == T.Broadcast(0, 16))"));
  EXPECT_THAT(body, HasSubstr("N_1.vload([T.Ramp(0, 2, 16)], predicate=P_1[0:16] > T.Broadcast(1, 16))"));
}

// A vector whose lanes are all in the buffer needs no mask, which not all machines have for narrow elements.
TEST(Vectorize, WholeVectorsInsideHaveNoMasks) {
  const auto program = [](const std::string& place) {
    return Body(Vectorized((R"(
@T.prim_func
def main(P: T.Buffer((64,), "bool"), Q: T.Buffer((64,), "bool"), B: T.Buffer((64,), "bool")):
    for o in range(4):
        for i in T.vectorized(16):
            B[o * 16 + i] = P[o * 16 + i] and Q[)" +
                            place + R"(]
)")
                               .c_str()));
  };
  EXPECT_THAT(program("o * 16 + i"), HasSubstr("P_1[o * 16:o * 16 + 16] and Q_1[o * 16:o * 16 + 16]"));
  EXPECT_THAT(program("o * 16 + i + 1"), HasSubstr("Q_1.vload"));
  EXPECT_THAT(program("o * 16 + i - 1"), HasSubstr("Q_1.vload"));
}

// What is the same for all lanes, and known to be there, may be loaded where no lane asks for it.
TEST(Vectorize, LoadsForAllLanesUnderConditionsOfLanes) {
  const auto program = [](const std::string& place) {
    return Body(Vectorized((R"(
@T.prim_func
def main(P: T.Buffer((4,), "int32"), A: T.Buffer((64,), "float32"), B: T.Buffer((4, 16), "float32")):
    for c in range(4):
        for i in T.vectorized(16):
            B[c, i] = T.if_then_else(c + i < 17, A[i + P[)" +
                            place + R"(]], T.float32(0))
)")
                               .c_str()));
  };
  EXPECT_THAT(program("c"), HasSubstr("P_1[c]"));
  EXPECT_THAT(program("c"), HasSubstr("A_1.vload"));
  // Whether P[c * 2] is there follows from a condition.
  EXPECT_THAT(program("c * 2"), Not(HasSubstr("A_1.vload")));
}

// Lanes that a condition leaves out of every access hold what they like.
TEST(Vectorize, IdleLanesAreWrittenToo) {
  const std::string program = R"(
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((24,), "float32")):
    for c_0 in range(2):
        with T.block("root"):
            R = T.alloc_buffer((16,), "float32", scope="register")
            for i in T.vectorized(16):
                if c_0 * 16 + i < 24:
                    R[i] = T.float32(0)
            for i in T.vectorized(16):
                if c_0 * 16 + i < 24:
                    R[i] = R[i] + A[c_0 * 16 + i]
            for i in T.vectorized(16):
                if c_0 * 16 + i < 24:
                    B[c_0 * 16 + i] = R[i]
)";
  const std::string body = Body(Vectorized(program.c_str()));
  EXPECT_THAT(body, HasSubstr("R[0:16] = T.Broadcast(T.float32(0), 16)"));
  EXPECT_THAT(body, HasSubstr("R[0:16] = R[0:16] + A_1.vload("));
  EXPECT_THAT(body, Not(HasSubstr("T.Select")));
  // Not where one access has another condition.
  std::string other = program;
  other.replace(other.find("if c_0 * 16 + i < 24"), 20, "if c_0 * 16 + i < 23");
  EXPECT_THAT(Body(Vectorized(other.c_str())), HasSubstr("R[0:16] = T.Select("));
}

// Lanes that a condition on what they hold leaves out keep that: the condition may have a name.
TEST(Vectorize, LanesThatHoldSomethingAreNotIdle) {
  EXPECT_THAT(Body(Vectorized(R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    R = T.alloc_buffer((16,), "int32", scope="register")
    for i in T.vectorized(16):
        if i < 12:
            R[i] = B[i]
    for i in T.vectorized(16):
        if i < 12:
            larger: T.bool = A[i] > R[i]
            if larger:
                R[i] = A[i]
    for i in T.vectorized(16):
        if i < 12:
            B[i] = R[i]
)")),
              HasSubstr("R[0:16] = T.Select("));
}

TEST(Vectorize, OneLaneIsNoVector) {
  EXPECT_THAT(Body(Vectorized(R"(
@T.prim_func
def main(A: T.Buffer((33,), "float32"), B: T.Buffer((33,), "float32")):
    for i in T.vectorized(16):
        if i < 1:
            B[32] = A[32]
)")),
              Not(HasSubstr("for ")));
}

// A masked vector could divide by what its lanes without work hold.
TEST(Vectorize, DivisionsAreNotMasked) {
  EXPECT_THAT(Body(Vectorized(R"(
@T.prim_func
def main(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
    for i in T.vectorized(12):
        B[i] = T.truncdiv(100, A[i])
)")),
              Not(HasSubstr("predicate")));
}

TEST(Vectorize, ManyVectorsAreALoop) {
  EXPECT_THAT(Body(Vectorized(R"(
@T.prim_func
def main(B: T.Buffer((1000,), "float32")):
    for i in T.vectorized(1000):
        B[i] = T.float32(1)
)")),
              HasSubstr("for i in range(62):\n        B_1[i * 16:i * 16 + 16] = T.Broadcast(T.float32(1), 16)"));
}

TEST(Vectorize, AccumulationIntoOneElementStaysSerial) {
  EXPECT_THAT(Body(Vectorized(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    for i in T.vectorized(16):
        B[0] = B[0] + A[i]
)")),
              HasSubstr("for i in range(16):"));
}

TEST(Vectorize, GroupsOfNeighboursBecomeOneVector) {
  constexpr char kDots[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")):
    for i in T.vectorized(16):
        C[i] = T.dot_add(C[i], A[0:4], B[i, T.Ramp(0, 1, 4)])
)";
  EXPECT_THAT(Body(Vectorized(kDots)),
              HasSubstr("C_1[0:16] = T.dot_add(C_1[0:16], T.Broadcast(A_1[0:4], 16), B_1[0:64])"));
  EXPECT_THAT(Body(Vectorized(kDots, 256)),
              HasSubstr("C_1[8:16] = T.dot_add(C_1[8:16], T.Broadcast(A_1[0:4], 8), B_1[32:64])"));
}

TEST(Vectorize, GroupsThatDoNotFollowEachOtherStaySerial) {
  EXPECT_THAT(Body(Vectorized(R"(
@T.prim_func
def main(A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 5), "int8"), C: T.Buffer((16,), "int32")):
    for i in T.vectorized(16):
        C[i] = T.dot_add(C[i], A[0:4], B[i, T.Ramp(0, 1, 4)])
)")),
              HasSubstr("for i in range(16):"));
}

TEST(Vectorize, LeavesLoopsOverVectorsThatLieApart) {
  const std::string body = Body(VectorizeLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(4):
        for j in T.vectorized(4):
            B[i * 8 + j] = A[i * 4 + j]
)"),
                                               512));
  EXPECT_THAT(body, HasSubstr("for i in range(4):"));
  EXPECT_THAT(body, HasSubstr("B[i * 8:i * 8 + 4] = A[i * 4:i * 4 + 4]"));
}

}  // namespace
}  // namespace tilewright

// The passes that free the inside of images and of tiled loops of the conditions at their borders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/loop_partition.h"
#include "codegen/lower/common/pass_testing.h"
#include "codegen/lower/cpu/hoist_conditions.h"
#include "codegen/lower/cpu/skip_padding.h"
#include "codegen/lower/cpu/trim_windows.h"

namespace tilewright {
namespace {

using testing::Body;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Opaque;

TEST(LoopPartition, CutsWhereConditionsChange) {
  EXPECT_EQ(Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        B[i] = T.if_then_else(1 <= i and i < 63, A[i - 1] + A[i + 1], T.float32(0))
)"))),
            R"(    B[0] = T.float32(0)
    for i in range(1, 63):
        B[i] = A[i - 1] + A[i + 1]
    B[63] = T.float32(0)
)");
}

TEST(LoopPartition, BranchesInParallelLoops) {
  const std::string body = Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((60,), "float32")):
    for i in T.parallel(4):
        for j in range(16):
            if i * 16 + j < 60:
                A[i * 16 + j] = T.float32(0)
)")));
  EXPECT_THAT(body, HasSubstr("for i in T.parallel(4):\n        if i < 3:\n            for j in range(16):\n"));
  EXPECT_THAT(body, Not(HasSubstr("< 60")));
}

// A batch of any size, of 4 rows each.
TEST(LoopPartition, BranchesOverPartsOfLoopsOfAnyLength) {
  const std::string body = Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((16,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n * T.int64(4), T.int64(16)), "float32")
    for i in T.parallel(n * T.int64(4)):
        for j in range(T.int64(16)):
            A[i, j] = T.if_then_else(i % T.int64(4) < T.int64(3), B[j], T.float32(0))
)")));
  EXPECT_THAT(body, HasSubstr("if i % T.int64(4) < T.int64(3):\n            for j in range(T.int64(16)):\n")) << body;
}

// Phases of a stride: their windows are not linear in them.
TEST(LoopPartition, CutsFewIterationsOneByOne) {
  const std::string body = Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for p in range(3):
        for i in T.unroll(10):
            B[i * 3 + p] = T.if_then_else(p * 2 % 3 + i < 10, A[p * 2 % 3 + i], T.float32(0))
)")));
  EXPECT_THAT(body, HasSubstr("B[i * 3 + 1] = T.if_then_else(i < 8, A[i + 2], T.float32(0))"));
  EXPECT_THAT(body, HasSubstr("B[i * 3 + 2] = T.if_then_else(i < 9, A[i + 1], T.float32(0))"));
}

// A fused loop's conditions are linear in the iterators that it was made of.
TEST(LoopPartition, BranchesOverPartsOfFusedLoops) {
  const std::string body = Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((3, 60), "float32")):
    for f in T.parallel(12):
        for j in range(16):
            if f % 4 * 16 + j < 60:
                A[f // 4, f % 4 * 16 + j] = T.float32(0)
)")));
  EXPECT_THAT(body, HasSubstr("for f in T.parallel(12):\n        if f % 4 < 3:\n            for j in range(16):\n"));
  EXPECT_THAT(body, HasSubstr("A[f // 4, f % 4 * 16 + j] = T.float32(0)"));
  EXPECT_THAT(body, HasSubstr("for j in range(12):\n                A[f // 4, j + 48] = T.float32(0)"));
}

// What one stage meets at a border is not a reason to repeat the others; those that registers connect stay together.
TEST(LoopPartition, BranchesOverStagesOneByOne) {
  const auto partition = [](const std::string& scope) {
    return Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((60,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.parallel(4):
        with T.block(""):
            R = T.alloc_buffer((16,), "float32", scope=")" +
                                      scope + R"(")
            for j in range(16):
                R[j] = T.if_then_else(i * 16 + j < 60, A[i * 16 + j], T.float32(0))
            for k in range(16):
                B[i * 16 + k] = R[k] * R[k]
)")));
  };
  const auto squares = [](const std::string& body) {
    int count = 0;
    for (size_t at = body.find("for k"); at != body.npos; at = body.find("for k", at + 1)) ++count;
    return count;
  };
  const std::string apart = partition("global"), together = partition("register");
  EXPECT_EQ(squares(apart), 1) << apart;
  EXPECT_EQ(squares(together), 2) << together;
  for (const std::string& body : {apart, together}) {
    EXPECT_THAT(body, HasSubstr("if i < 3:"));
    EXPECT_THAT(body, Not(HasSubstr("< 60")));
  }
}

// Each copy of an unrolled loop meets the border at another iteration.
TEST(LoopPartition, CutsForCopiesOfUnrolledLoops) {
  const std::string body = Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((5, 4), "float32")):
    for k in range(5):
        for i in T.unroll(4):
            B[k, i] = T.if_then_else(i * 2 + k < 8, A[i * 2 + k], T.float32(0))
)")));
  EXPECT_THAT(body, HasSubstr("for k in range(2):"));
  EXPECT_THAT(body, HasSubstr("for k in range(2, 4):"));
  EXPECT_THAT(body, HasSubstr("B[4, i]"));
  EXPECT_THAT(body, Not(HasSubstr("+ k < 8")));
}

// What code may grow by goes to the part that runs most often.
TEST(LoopPartition, CutsTheLongestPartFirst) {
  const std::string body = Body(PartitionLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((64, 8, 700), "float32")):
    for i in range(64):
        for j in range(8):
            for k in T.unroll(700):
                if 2 <= i + k and j * 100 + k < 1300:
                    A[i, j, k] = T.float32(0)
)")));
  const size_t inside = body.find("for i in range(2, 64):");
  ASSERT_NE(inside, body.npos);
  EXPECT_THAT(body.substr(inside), HasSubstr("for j in range(7):"));
  EXPECT_THAT(body.substr(0, inside), HasSubstr("for j in range(8):"));
}

TEST(LoopPartition, LeavesConditionsOnData) {
  const Function function = Opaque(R"(
@T.prim_func
def main(A: T.Buffer((60,), "int32")):
    for i in range(60):
        if A[i] < 3:
            A[i] = 3
)");
  EXPECT_TRUE(PartitionLoops(function)->body.same_as(function->body));
}

TEST(SkipPadding, LeavesOutTermsWithAZero) {
  const std::string body = Body(SkipPadding(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    with T.block("root"):
        R = T.alloc_buffer((2,), "float32", scope="register")
        R[0] = T.float32(0)
        R[1] = A[1]
        C[0] = C[0] + R[0] * A[2]
        C[1] = C[1] + R[1] * A[2]
        R[0] = A[0]
        C[2] = C[2] + R[0] * A[2]
)")));
  EXPECT_THAT(body, Not(HasSubstr("C[0] = ")));
  EXPECT_THAT(body, HasSubstr("C[1] = C[1] + R[1] * A[2]"));
  EXPECT_THAT(body, HasSubstr("C[2] = C[2] + R[0] * A[2]"));
}

TEST(SkipPadding, LeavesOutGroupsOfZeros) {
  const std::string body = Body(SkipPadding(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((4,), "int8"), C: T.Buffer((3,), "int32")):
    with T.block("root"):
        R = T.alloc_buffer((12,), "uint8", scope="register")
        R[0:4] = T.Broadcast(T.uint8(0), 4)
        R[4:8] = T.Broadcast(T.uint8(0), 4)
        R[5] = T.uint8(1)
        C[0] = T.dot_add(C[0], R[0:4], A[0:4])
        C[1] = T.dot_add(C[1], R[4:8], A[0:4])
        C[2] = T.dot_add(C[2], R[8:12], A[0:4])
)")));
  EXPECT_THAT(body, Not(HasSubstr("C[0] = ")));
  EXPECT_THAT(body, HasSubstr("C[1] = T.dot_add(C[1], R[4:8], A[0:4])"));
  EXPECT_THAT(body, HasSubstr("C[2] = T.dot_add(C[2], R[8:12], A[0:4])"));
}

// A convolution's window along rows of an image of 10, moved by `step`; `value` is what a row reads.
std::string Window(const std::string& value, const std::string& more = "") {
  return R"(
@T.prim_func
def main(A: T.Buffer((10, 4), "float32"), W: T.Buffer((3, 4), "float32"), C: T.Buffer((10, 4), "float32")):
    with T.block("root"):
        for h in range(10):
            for k in range(3):
                R = T.decl_buffer((4,), "float32", scope="register")
                for c in T.unroll(4):
                    R[c] = )" +
         value + R"(
                for c in T.unroll(4):
                    C[h, c] = C[h, c] + R[c] * W[k, c])" +
         more + "\n";
}

TEST(TrimWindows, EndsLoopsAtTheImage) {
  const std::string body =
      Body(TrimWindows(Opaque(Window("T.if_then_else(1 <= h + k and h + k < 11, A[h + k - 1, c], T.float32(0))"))));
  EXPECT_THAT(body, HasSubstr("for k in range(T.max(0, 1 - h), "));
  EXPECT_THAT(body, HasSubstr("T.min(3, 11 - h)"));
  EXPECT_THAT(body, HasSubstr("R[c] = A[h + k - 1, c]"));
}

TEST(TrimWindows, RoundsInwards) {
  const std::string body = Body(TrimWindows(
      Opaque(Window("T.if_then_else(4 <= h + k * 3, T.if_then_else(h + k * 3 < 14, A[h + k * 3 - 4, c], T.float32(0)), "
                    "T.float32(0))"))));
  EXPECT_THAT(body, HasSubstr("for k in range(T.max(0, h * -1 // 3 + 2), "));
  EXPECT_THAT(body, HasSubstr("T.min(3, (1 - h) // 3 + 5)"));
  EXPECT_THAT(body, HasSubstr("R[c] = A[k * 3 + h - 4, c]"));
}

TEST(TrimWindows, LeavesOtherLoops) {
  const std::string inside = "T.if_then_else(1 <= h + k, A[h + k - 1, c], ";
  for (const std::string& program :
       {// The value outside counts.
        Window(inside + "T.float32(1))"),
        // Rows decide for themselves.
        Window("T.if_then_else(1 <= h + k + c, A[h + k + c - 1, c], T.float32(0))"),
        // Not linear.
        Window("T.if_then_else(1 <= h + k % 2, A[h + k % 2 - 1, c], T.float32(0))"),
        // Something else is stored.
        Window(inside + "T.float32(0))", "\n                C[h, 0] = T.float32(1)"),
        Window(inside + "T.float32(0))", "\n                C[h, 0] = C[h, 0] + W[k, 0] * W[k, 1]")}) {
    const Function function = Opaque(program);
    EXPECT_TRUE(TrimWindows(function)->body.same_as(function->body)) << program;
  }
}

TEST(HoistConditions, DecidesOnce) {
  const std::string body = Body(HoistConditions(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("root"):
            R = T.alloc_buffer((3,), "float32", scope="register")
            R[0] = T.if_then_else(i // 2 == 0, A[i], T.float32(0))
            R[1] = T.if_then_else(i // 2 == 0 and i % 2 == 0, A[i + 1], T.float32(0))
            R[2] = T.if_then_else(A[0] < A[1], A[i + 1], T.float32(0))
            C[i] = C[i] + R[0] + R[1] + R[2]
)")));
  EXPECT_THAT(body, HasSubstr(R"(if i // 2 == 0:
            R[0] = A[i]
            R[1] = T.if_then_else(i % 2 == 0, A[i + 1], T.float32(0))
            R[2] = T.if_then_else(A[0] < A[1], A[i + 1], T.float32(0))
            C[i] = C[i] + R[0] + R[1] + R[2]
        else:
            R[0] = T.float32(0)
            R[1] = T.float32(0))"));
}

// What is left of a condition of three terms has two.
TEST(HoistConditions, KeepsTheOtherTerms) {
  const std::string body = Body(HoistConditions(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("root"):
            R = T.alloc_buffer((4,), "float32", scope="register")
            R[0] = T.if_then_else(i // 8 == 0 and i % 8 < 5 and i % 4 == 2, A[i], T.float32(0))
            R[1] = T.if_then_else(i // 8 == 0, A[i], T.float32(0))
            R[2] = T.if_then_else(i // 8 == 0, A[i], T.float32(0))
            C[i] = R[0] + R[1] + R[2]
)")));
  EXPECT_THAT(body, HasSubstr("R[0] = T.if_then_else(i % 8 < 5 and i % 4 == 2, A[i], T.float32(0))"));
}

// Two cuts at most, but for what all values share.
TEST(HoistConditions, DecidesAllThatIsShared) {
  const std::string body = Body(HoistConditions(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("root"):
            R = T.alloc_buffer((2,), "float32", scope="register")
            R[0] = T.if_then_else(i // 8 < 5 and i % 8 < 5 and i % 4 == 2 and i // 16 < 3, A[i], T.float32(0))
            R[1] = T.if_then_else(i // 8 < 5 and i % 8 < 5 and i % 4 == 2 and i // 16 < 3, A[i], T.float32(0))
            C[i] = R[0] + R[1]
)")));
  EXPECT_THAT(body, HasSubstr("R[1] = A[i]"));
  EXPECT_THAT(body, Not(HasSubstr("if_then_else")));
}

// A chain of choices (the operands of a concatenation) is cut twice at most, so that its text grows fourfold at most.
TEST(HoistConditions, ChainsOfChoicesDoNotMultiply) {
  constexpr int kOperands = 24;
  std::string choice = "T.float32(0)";
  for (int k = kOperands; k > 0; --k) {
    choice = absl::StrCat("T.if_then_else(i * i % 32 < ", k, ", A[i + ", k, "], ", choice, ")");
  }
  const Function function = Opaque(absl::StrCat(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(32):
        with T.block("root"):
            C[i] = )",
                                                choice, R"(
            C[i + 32] = )",
                                                choice, "\n"));
  const auto count = [](const std::string& text) {
    int found = 0;
    for (size_t at = text.find("if_then_else"); at != std::string::npos; at = text.find("if_then_else", at + 1))
      ++found;
    return found;
  };
  EXPECT_LE(count(Body(HoistConditions(function))), 4 * count(Body(function)));
}

TEST(HoistConditions, LeavesSingleOnes) {
  const Function function = Opaque(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("root"):
            C[i] = T.if_then_else(i // 2 == 0, A[i], T.float32(0))
            C[i + 4] = T.if_then_else(i % 2 == 0, A[i], T.float32(0))
)");
  EXPECT_TRUE(HoistConditions(function)->body.same_as(function->body));
}

}  // namespace
}  // namespace tilewright

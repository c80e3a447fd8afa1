#include "codegen/lower/cpu/shuffle_overlaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

// Registers of four elements, as wide as a line.
Target NarrowTarget() {
  Target target;
  target.mutable_cpu_part().vector_bits = 128;
  target.levels = {{.bytes = 32 << 10, .line_bytes = 16}};
  return target;
}

std::string After(const std::string& statements) {
  const std::string program = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), H: T.Buffer((64,), "float16"), n: T.int32):
    for i in range(4):
)";
  return Print(ShuffleOverlaps(ParseFunctionOrDie(program + statements), NarrowTarget()));
}

TEST(ShuffleOverlaps, PutsVectorsTogetherFromTheirNeighbours) {
  const std::string after = After(R"(
        B[i * 8:i * 8 + 4] = A[i * 8:i * 8 + 4] + A[i * 8 + 1:i * 8 + 5]
        B[i * 8 + 4:i * 8 + 8] = A[i * 8 + 4:i * 8 + 8] + A[i * 8 + 5:i * 8 + 9]
)");
  EXPECT_THAT(after, HasSubstr("T.Shuffle([A[i * 8:i * 8 + 4], A[i * 8 + 4:i * 8 + 4 + 4]], [1, 2, 3, 4])"));
  // Its upper neighbour is not loaded.
  EXPECT_THAT(after, HasSubstr("A[i * 8 + 4:i * 8 + 4 + 4] + A[i * 8 + 5:i * 8 + 5 + 4]"));
}

TEST(ShuffleOverlaps, UsesWhatStaysALoadOnly) {
  // The lowest vectors stay: 0, 4 and 8. Those at 1 and 5 are made of them, not of each other.
  const std::string after = After(R"(
        B[0:4] = A[i:i + 4] + A[i + 1:i + 5] + A[i + 2:i + 6]
        B[4:8] = A[i + 4:i + 8] + A[i + 5:i + 9] + A[i + 6:i + 10]
        B[8:12] = A[i + 8:i + 12]
)");
  EXPECT_THAT(after, HasSubstr("T.Shuffle([A[i:i + 4], A[i + 4:i + 4 + 4]], [1, 2, 3, 4])"));
  EXPECT_THAT(after, HasSubstr("T.Shuffle([A[i:i + 4], A[i + 4:i + 4 + 4]], [2, 3, 4, 5])"));
  EXPECT_THAT(after, HasSubstr("T.Shuffle([A[i + 4:i + 4 + 4], A[i + 8:i + 8 + 4]], [1, 2, 3, 4])"));
  EXPECT_THAT(after, HasSubstr("T.Shuffle([A[i + 4:i + 4 + 4], A[i + 8:i + 8 + 4]], [2, 3, 4, 5])"));
}

TEST(ShuffleOverlaps, LoadsVectorsThatFillLines) {
  const std::string after = After(R"(
        B[0:4] = A[i * 8 + 3:i * 8 + 7] + A[i * 8 + 4:i * 8 + 8] + A[i * 8 + 5:i * 8 + 9]
        B[4:8] = A[i * 8 + 7:i * 8 + 11] + A[i * 8 + 8:i * 8 + 12] + A[i * 8 + 9:i * 8 + 13]
)");
  // The lowest one is not made of others, nor is the highest.
  EXPECT_THAT(after, HasSubstr("A[i * 8 + 3:i * 8 + 3 + 4] + A[i * 8 + 4:i * 8 + 4 + 4] + "
                               "T.Shuffle([A[i * 8 + 4:i * 8 + 4 + 4], A[i * 8 + 8:i * 8 + 8 + 4]], [1, 2, 3, 4])"));
  EXPECT_THAT(after, HasSubstr("T.Shuffle([A[i * 8 + 4:i * 8 + 4 + 4], A[i * 8 + 8:i * 8 + 8 + 4]], [3, 4, 5, 6]) + "
                               "A[i * 8 + 8:i * 8 + 8 + 4] + A[i * 8 + 9:i * 8 + 9 + 4]"));
}

TEST(ShuffleOverlaps, LeavesWideWindows) {
  EXPECT_THAT(After(R"(
        B[0:4] = A[i:i + 4] + A[i + 1:i + 5] + A[i + 2:i + 6] + A[i + 3:i + 7]
        B[4:8] = A[i + 4:i + 8] + A[i + 5:i + 9] + A[i + 6:i + 10] + A[i + 7:i + 11]
)"),
              Not(HasSubstr("T.Shuffle")));
}

// As far as that is the same: loads wait for stores to equal addresses, whatever the buffer.
TEST(ShuffleOverlaps, StoresFewVectorsOnceAllAreLoaded) {
  const std::string row = R"(
        B[0:4] = A[i * 8:i * 8 + 4] + A[i * 8 + 1:i * 8 + 5]
        B[4:8] = A[i * 8 + 4:i * 8 + 8] + A[i * 8 + 5:i * 8 + 9])";
  const std::string few = After(row);
  EXPECT_THAT(few, HasSubstr("        B[0:4] = value\n        B[4:8] = value_1\n"));
  std::string many = row;
  for (int i = 2; i < 9; ++i) absl::StrAppend(&many, "\n        B[", 4 * i, ":", 4 * i + 4, "] = A[0:4]");
  EXPECT_THAT(After(many), Not(HasSubstr("= value")));
  EXPECT_THAT(After(row + "\n        B[8:12] = B[0:4]"), Not(HasSubstr("= value")));
  EXPECT_THAT(After(row + "\n        H[0:4] = H[4:8]"), Not(HasSubstr("= value")));
}

TEST(ShuffleOverlaps, LeavesBuffersThatAreWritten) {
  EXPECT_THAT(After(R"(
        A[i * 8:i * 8 + 4] = A[i * 8:i * 8 + 4] + A[i * 8 + 1:i * 8 + 5]
        A[i * 8 + 4:i * 8 + 8] = A[i * 8 + 4:i * 8 + 8] + A[i * 8 + 5:i * 8 + 9]
)"),
              Not(HasSubstr("T.Shuffle")));
}

TEST(ShuffleOverlaps, LoadsNothingThatAConditionGuards) {
  EXPECT_THAT(After(R"(
        B[0:4] = A[i:i + 4] + A[i + 1:i + 5]
        B[4:8] = T.if_then_else(n < i, A[i + 4:i + 8], T.Broadcast(T.float32(0), 4))
)"),
              Not(HasSubstr("T.Shuffle")));
}

TEST(ShuffleOverlaps, StopsAtOtherStatements) {
  EXPECT_THAT(After(R"(
        B[0:4] = A[i:i + 4] + A[i + 1:i + 5]
        for k in range(2):
            B[k] = T.float32(0)
        B[4:8] = A[i + 4:i + 8]
)"),
              Not(HasSubstr("T.Shuffle")));
}

TEST(ShuffleOverlaps, LeavesNarrowElementsAndPartsOfVectors) {
  EXPECT_THAT(After(R"(
        H[0:8] = H[8:16] + H[9:17]
        H[0:8] = H[16:24]
        B[0:2] = A[i:i + 2] + A[i + 1:i + 3]
        B[2:4] = A[i + 2:i + 4]
)"),
              Not(HasSubstr("T.Shuffle")));
}

TEST(ShuffleOverlaps, NeedsRegistersAsWideAsALine) {
  Target target = NarrowTarget();
  target.levels[0].line_bytes = 64;
  const Function program = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    B[0:4] = A[0:4] + A[1:5]
    B[4:8] = A[4:8] + A[5:9]
)");
  EXPECT_TRUE(ShuffleOverlaps(program, target)->body.same_as(program->body));
  EXPECT_FALSE(ShuffleOverlaps(program, NarrowTarget())->body.same_as(program->body));
}

}  // namespace
}  // namespace tilewright

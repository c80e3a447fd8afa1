// Recurrences: what is kept in registers, and that they compute the same.
#include "codegen/lower/cpu/carry_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "codegen/lower/common/flatten_buffers.h"
#include "codegen/lower/common/pass_testing.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// With these statements in its inner loop.
Function Program(const std::string& loop, const std::string& statements) {
  const std::string indented = absl::StrReplaceAll(statements, {{"\n", "\n            "}});
  const std::string text = absl::StrReplaceAll(R"(
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (3, n), "int32")
    B = T.match_buffer(b, (3, n), "int32")
    C = T.match_buffer(c, (3, n), "int32")
    for i in range(3):
        for j in LOOP:
            STATEMENTS
)",
                                               {{"LOOP", loop}, {"STATEMENTS", indented}});
  return FlattenBuffers(testing::Opaque(text)).value();
}

TEST(CarryElements, RunningSum) {
  const Function before = Program("range(n - 1)", "C[i, j + 1] = C[i, j] + A[i, j + 1]");
  const Function after = CarryElements(before);
  EXPECT_THAT(testing::Body(after), HasSubstr("C_carried[0] = C_carried[0] + A_1["));
  EXPECT_THAT(testing::Body(after), HasSubstr("if 1 < n:"));
  testing::ExpectSameAtAllSizes(before, after);
}

TEST(CarryElements, OtherRecurrences) {
  for (const auto& [loop, statements] : {
           std::pair<const char*, const char*>("range(2, n - 1)", "C[i, j + 1] = C[i, j] * 3 - C[i, j - 1]"),
           // Backwards, as the loop counts on.
           {"range(1, n)", "C[i, n - 1 - j] = C[i, n - j] + A[i, j]"},
           // An element for each of two arrays, one of which reads the other's.
           {"range(n - 1)", "C[i, j + 1] = C[i, j] + B[i, j]\nB[i, j + 1] = B[i, j] + C[i, j]"},
           {"range(n - 1)", "C[i, j + 1] = T.if_then_else(0 < j, C[i, j], A[i, j]) + C[i, j]"},
       }) {
    const Function before = Program(loop, statements), after = CarryElements(before);
    EXPECT_THAT(testing::Body(after), HasSubstr("carried"));
    testing::ExpectSameAtAllSizes(before, after);
  }
}

// Nothing is kept of an element that is stored twice, elsewhere or only sometimes.
TEST(CarryElements, LeavesOthersAlone) {
  for (const char* statements : {
           "C[i, j + 1] = A[i, j]",
           "C[i, j + 1] = C[i, j + 2] + A[i, j]",
           "C[i, j] = C[i, j] + A[i, j]",
           "C[i, 0] = C[i, 0] + A[i, j]",
           "C[i, j + 1] = C[i, j // 2] + A[i, j]",
           "C[i, j + 1] = C[i, j] + A[i, j]\nC[i, 0] = A[i, j]",
           "if A[i, j] < 3:\n    C[i, j + 1] = C[i, j] + 1",
       }) {
    const Function before = Program("range(n - 1)", statements);
    EXPECT_THAT(testing::Body(CarryElements(before)), Not(HasSubstr("carried"))) << statements;
  }
}

}  // namespace
}  // namespace tilewright

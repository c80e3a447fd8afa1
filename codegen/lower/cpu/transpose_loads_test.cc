#include "codegen/lower/cpu/transpose_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/lower/common/pass_testing.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// `columns` columns of so many rows, in an array that ends with the last of them.
Function ColumnsOf(const std::string& type, int rows, int columns) {
  std::string program = absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0,), "$1"), B: T.Buffer(($2,), "$1")):
)",
                                         rows * columns, type, rows * columns);
  for (int c = 0; c < columns; ++c) {
    absl::StrAppend(&program, absl::Substitute("    B[$0:$1] = A[T.Ramp($2, $3, $4)]\n", c * rows, (c + 1) * rows, c,
                                               columns, rows));
  }
  return ParseFunctionOrDie(program);
}

TEST(TransposeLoads, LoadsRows) {
  const std::string after = Print(TransposeLoads(ColumnsOf("float32", 4, 4)));
  EXPECT_THAT(after, HasSubstr("A[4:8]"));
  EXPECT_THAT(after, HasSubstr("[0, 4, 1, 5]"));
  EXPECT_THAT(after, HasSubstr("[2, 6, 3, 7]"));
  EXPECT_THAT(after, Not(HasSubstr("A[T.Ramp(")));
}

// Numbers of columns that parts divide or not, and types of all widths; nothing outside of the array is loaded.
TEST(TransposeLoads, KeepsWhatColumnsHold) {
  for (const char* type : {"float64", "float32", "bfloat16", "float16", "int64", "int16", "uint8"}) {
    for (const int rows : {2, 4, 8, 16, 32, 64}) {
      for (const int columns : {2, 3, 4, 5, 6, 7, 8, 16, 19}) {
        SCOPED_TRACE(absl::StrCat(type, " ", rows, " ", columns));
        const Function before = ColumnsOf(type, rows, columns);
        testing::ExpectSameAtAllSizes(before, TransposeLoads(before));
      }
    }
  }
}

TEST(TransposeLoads, MasksRows) {
  std::string program = R"(
@T.prim_func
def main(A: T.Buffer((65,), "float32"), B: T.Buffer((80,), "float32")):
)";
  for (int c = 0; c < 5; ++c) {
    absl::StrAppend(&program, absl::Substitute(R"(
    B.vstore([T.Ramp($0, 1, 16)], A.vload([T.Ramp($1, 5, 16)], predicate=T.Ramp(32, 1, 16) < T.Broadcast(45, 16)), predicate=T.Ramp(32, 1, 16) < T.Broadcast(45, 16)))",
                                               c * 16, c));
  }
  const Function before = ParseFunctionOrDie(program + "\n");
  const Function after = TransposeLoads(before);
  EXPECT_THAT(Print(after), HasSubstr("T.Shuffle"));
  testing::ExpectSameAtAllSizes(before, after);
}

// Windows of three columns with steps of two: two of them share their vectors.
TEST(TransposeLoads, TakesRowsApart) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((33,), "float32"), B: T.Buffer((16,), "float32")):
    B[0:16] = A[T.Ramp(0, 2, 16)]
    B[0:16] = B[0:16] + A[T.Ramp(1, 2, 16)]
    B[0:16] = B[0:16] + A[T.Ramp(2, 2, 16)]
)");
  const Function after = TransposeLoads(before);
  EXPECT_THAT(Print(after), HasSubstr("A[16:32]"));
  EXPECT_THAT(Print(after), HasSubstr("A[T.Ramp(2, 2, 16)]"));
  testing::ExpectSameAtAllSizes(before, after);
}

std::string After(const std::string& body) {
  return Print(TransposeLoads(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((256,), "float32"), J: T.Buffer((1,), "int32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
)" + body)));
}

TEST(TransposeLoads, LeavesOtherLoads) {
  // Columns apart, and such as the code writes between them.
  EXPECT_THAT(After(R"(
        B[0:4] = A[T.Ramp(i, 16, 4)]
        B[4:8] = A[T.Ramp(i + 2, 16, 4)]
)"),
              Not(HasSubstr("T.Shuffle")));
  EXPECT_THAT(After(R"(
        A[0:4] = A[T.Ramp(i, 16, 4)]
        A[4:8] = A[T.Ramp(i + 1, 16, 4)]
)"),
              Not(HasSubstr("T.Shuffle")));
  EXPECT_THAT(After(R"(
        B[0:4] = A[T.Ramp(i, 16, 4)]
        J[0] = 5
        B[4:8] = A[T.Ramp(J[0] + 1, 16, 4)]
)"),
              Not(HasSubstr("T.Shuffle")));
  // Two of them are neighbours of 64 bits.
  EXPECT_THAT(After(R"(
        B[0:4] = A[T.Ramp(i, 16, 4)] + A[T.Ramp(i + 1, 16, 4)]
        B[4:8] = A[T.Ramp(i + 1, 16, 4)]
)"),
              HasSubstr("T.Shuffle"));
}

}  // namespace
}  // namespace tilewright

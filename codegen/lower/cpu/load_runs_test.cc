#include "codegen/lower/cpu/load_runs.h"

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

std::string After(const std::string& statement) {
  const std::string program = R"(
@T.prim_func
def main(A: T.Buffer((1024,), "int8"), B: T.Buffer((1024,), "int8"), c: T.handle, n: T.int32):
    C = T.match_buffer(c, (n,), "int8")
    for i in range(4):
        )";
  return Print(LoadRuns(ParseFunctionOrDie(program + statement)));
}

TEST(LoadRuns, InterleavesTwoRows) {
  const std::string after = After(
      "B[i * 8:i * 8 + 8] = A[(i * 2 + T.Ramp(0, 1, 8) % T.Broadcast(2, 8)) * T.Broadcast(64, 8) + "
      "T.Ramp(0, 1, 8) // T.Broadcast(2, 8)]");
  EXPECT_THAT(after, HasSubstr("T.Shuffle([A[i * 128:i * 128 + 4], A[i * 128 + 64:i * 128 + 64 + 4]], "
                               "[0, 4, 1, 5, 2, 6, 3, 7])"));
}

TEST(LoadRuns, InterleavesFourRowsByPairs) {
  const std::string after = After(
      "B[0:16] = A[T.Ramp(0, 1, 16) % T.Broadcast(4, 16) * T.Broadcast(32, 16) + T.Ramp(i, 1, 16) // T.Broadcast(4, "
      "16)]");
  // i is not known to be a multiple of 4.
  EXPECT_THAT(after, Not(HasSubstr("T.Shuffle")));
  EXPECT_THAT(After("B[0:16] = A[T.Ramp(0, 1, 16) % T.Broadcast(4, 16) * T.Broadcast(32, 16) + "
                    "T.Ramp(0, 1, 16) // T.Broadcast(4, 16)]"),
              HasSubstr("T.Shuffle([T.Shuffle([A[0:4], A[32:36]], [0, 1, 2, 3, 4, 5, 6, 7]), "
                        "T.Shuffle([A[64:68], A[96:100]], [0, 1, 2, 3, 4, 5, 6, 7])], "
                        "[0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15])"));
}

TEST(LoadRuns, PicksLanesFromOneVector) {
  EXPECT_THAT(After("B[0:8] = A[(T.Broadcast(i * 8, 8) + T.Ramp(0, 1, 8)) // T.Broadcast(4, 8) * T.Broadcast(4, 8) + "
                    "T.Broadcast(1, 8)]"),
              HasSubstr("T.Shuffle([A[i * 8:i * 8 + 8]], [1, 1, 1, 1, 5, 5, 5, 5])"));
  // The shortest aligned vector is the half of one.
  EXPECT_THAT(After("B[0:8] = A[T.Ramp(0, 1, 8) // T.Broadcast(4, 8) * T.Broadcast(2, 8) + T.Broadcast(i * 4 + 1, 8)]"),
              HasSubstr("T.Shuffle([A[i * 4:i * 4 + 4]], [1, 1, 1, 1, 3, 3, 3, 3])"));
}

TEST(LoadRuns, FindsLanesOfWiderPositions) {
  EXPECT_THAT(After("B[0:8] = A[T.Cast(\"int32x8\", T.Broadcast(T.Cast(\"int64\", i) * T.int64(8), 8) + "
                    "T.Ramp(T.int64(0), T.int64(1), 8) // T.Broadcast(T.int64(2), 8))]"),
              HasSubstr("T.Shuffle([A[T.Cast(\"int32\", T.Cast(\"int64\", i) * T.int64(8)):"));
}

TEST(LoadRuns, PicksEachSecondElement) {
  EXPECT_THAT(After("B[0:8] = A[T.Ramp(i, 2, 8)]"),
              HasSubstr("T.Shuffle([A[i:i + 8], A[i + 7:i + 7 + 8]], [0, 2, 4, 6, 9, 11, 13, 15])"));
  // Neighbours that are loaded apart, and others.
  EXPECT_THAT(After("B[0:8] = T.Shuffle([A[i:i + 4], A[i + 4:i + 8]], [0, 4, 1, 5, 2, 6, 3, 7])"),
              HasSubstr("T.Shuffle([A[i:i + 8]], [0, 4, 1, 5, 2, 6, 3, 7])"));
  EXPECT_THAT(After("B[0:8] = T.Shuffle([A[i:i + 4], A[i + 5:i + 9]], [0, 4, 1, 5, 2, 6, 3, 7])"),
              HasSubstr("T.Shuffle([A[i:i + 4], A[i + 5:i + 5 + 4]], [0, 4, 1, 5, 2, 6, 3, 7])"));
  EXPECT_THAT(After("B[0:8] = A[T.Ramp(i, 5, 8)]"), Not(HasSubstr("T.Shuffle")));
}

// Nothing outside of the buffer is loaded.
// What a mask and a place are made of is loaded whatever the mask is.
TEST(LoadRuns, PicksWhatMasksAndPlacesAreMadeOf) {
  const std::string after = After(
      "B[0:8] = A.vload([T.Cast(\"int32x8\", A[T.Ramp(i * 16, 2, 8)])], "
      "predicate=A[T.Ramp(i * 16 + 1, 2, 8)] < T.Broadcast(T.int8(9), 8))");
  EXPECT_THAT(after, HasSubstr("T.Cast(\"int32x8\", T.Shuffle([A[i * 16:i * 16 + 8], A[i * 16 + 7:"));
  EXPECT_THAT(after, HasSubstr("predicate=T.Shuffle([A[i * 16 + 1:i * 16 + 1 + 8], A[i * 16 + 8:"));
}

TEST(LoadRuns, StridesEndWithTheBuffer) {
  for (const int stride : {2, 3, 4}) {
    const Function before = ParseFunctionOrDie(absl::StrCat(R"(
@T.prim_func
def main(A: T.Buffer((1 + 15 * )",
                                                            stride, R"(,), "int32"), B: T.Buffer((16,), "int32")):
    B[0:16] = A[T.Ramp(0, )",
                                                            stride, R"(, 16)] * T.Broadcast(2, 16)
)"));
    const Function after = LoadRuns(before);
    EXPECT_THAT(Print(after), HasSubstr("T.Shuffle"));
    testing::ExpectSameAtAllSizes(before, after);
  }
}

// Rows of windows at both borders of an image, of which some lanes are loaded; the image is the whole buffer.
TEST(LoadRuns, StridesWithinAnImage) {
  for (const int stride : {2, 3, 4}) {
    for (const int64_t row : {8, 15, 16, 23, 31}) {
      // Comparisons of both directions, of ramps that rise by the stride or by one.
      const std::string lanes = absl::StrCat("T.Ramp(n - 5, ", stride, ", 16)");
      const std::string conditions[] = {
          absl::StrCat("T.Broadcast(0, 16) <= ", lanes, " and ", lanes, " < T.Broadcast(", row, ", 16)"),
          absl::StrCat("T.Broadcast(-1, 16) < ", lanes, " and ", lanes, " <= T.Broadcast(", row - 1, ", 16)"),
          absl::StrCat("T.Broadcast(0 < n, 16) and T.Broadcast(4 // ", stride, ", 16) < T.Ramp(0, 1, 16) and ", lanes,
                       " < T.Broadcast(", row, ", 16)"),
      };
      for (const std::string& condition : conditions) {
        const Function before = ParseFunctionOrDie(absl::StrCat(
            "@T.prim_func\ndef main(A: T.Buffer((", row, R"(,), "float32"), c: T.handle, B: T.Buffer((16,), "float32")):
    n = T.int32()
    C = T.match_buffer(c, (n,), "float32")
    B[0:16] = T.Select()",
            condition, ", A.vload([", lanes, "], predicate=", condition, "), T.Broadcast(T.float32(-3), 16))\n"));
        const Function after = LoadRuns(before);
        EXPECT_THAT(Print(after), HasSubstr("T.Shuffle")) << condition;
        testing::ExpectSameAtAllSizes(before, after);
      }
    }
  }
  // Lanes that are not neighbours.
  EXPECT_THAT(After("B[0:8] = A.vload([T.Ramp(i, 2, 8)], predicate=T.Ramp(0, 1, 8) % T.Broadcast(2, 8) < "
                    "T.Broadcast(1, 8))"),
              Not(HasSubstr("T.Shuffle")));
}

// Neighbours of the result lie in as many vectors of registers as there are phases. Those in memory stay as they are.
TEST(LoadRuns, PicksLanesFromVectorsOfRegisters) {
  for (const char* scope : {"register", "global"}) {
    for (const int64_t phases : {3, 5, 6, 8}) {
      for (int64_t part = 0; part < phases; ++part) {
        const std::string lanes = absl::StrCat("T.Ramp(", part * 8, ", 1, 8)"),
                          all = absl::StrCat("T.Broadcast(", phases, ", 8)"), size = absl::StrCat(phases * 8);
        const Function before = ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0,), "float32"), B: T.Buffer((8,), "float32")):
    with T.decl_buffer(($0,), "float32", scope="$1") as C:
        for i in range($0):
            C[i] = A[i]
        B[0:8] = C[$2 % $3 * T.Broadcast(8, 8) + $2 // $3]
)",
                                                                    size, scope, lanes, all));
        const Function after = LoadRuns(before);
        const bool picks = std::string(scope) == "register";
        EXPECT_EQ(Print(after).find("T.Shuffle") != std::string::npos, picks) << Print(after);
        testing::ExpectSameAtAllSizes(before, after);
      }
    }
  }
}

TEST(LoadRuns, LeavesVectorsThatMayEndOutside) {
  // It is not known where in an aligned vector the lanes begin, nor where the buffer ends.
  for (const char* index : {"A[T.Ramp(0, 1, 8) // T.Broadcast(4, 8) * T.Broadcast(4, 8) + T.Broadcast(i, 8)]",
                            "C[T.Ramp(0, 1, 8) // T.Broadcast(4, 8) * T.Broadcast(4, 8) + T.Broadcast(1, 8)]"}) {
    EXPECT_THAT(After(std::string("B[0:8] = ") + index), Not(HasSubstr("T.Shuffle"))) << index;
  }
}

TEST(LoadRuns, LeavesWhatIsNoRuns) {
  // Runs of two elements; a distance that is not known; elements one by one.
  for (const char* index :
       {"T.Ramp(0, 1, 8) % T.Broadcast(4, 8) * T.Broadcast(64, 8) + T.Ramp(0, 1, 8) // T.Broadcast(4, 8)",
        "T.Ramp(0, 1, 8) % T.Broadcast(2, 8) * T.Broadcast(n, 8) + T.Ramp(0, 1, 8) // T.Broadcast(2, 8)",
        "T.Ramp(0, 1, 8) * T.Ramp(0, 1, 8)"}) {
    EXPECT_THAT(After(std::string("B[0:8] = A[") + index + "]"), Not(HasSubstr("T.Shuffle"))) << index;
  }
}

}  // namespace
}  // namespace tilewright

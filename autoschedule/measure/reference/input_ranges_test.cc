#include "autoschedule/measure/reference/input_ranges.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// The range of the first parameter of a program with this body.
std::optional<InputRange> Range(const std::string& params, const std::string& body) {
  const Module module = ParseOrDie("@T.prim_func\ndef main(" + params + "):\n" + body);
  return InputRanges(module.Main())[0];
}

constexpr char kGather[] = R"(    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = X[)";

std::optional<InputRange> OfGather(const std::string& type, const std::string& index) {
  return Range("P: T.Buffer((8,), \"" + type + "\"), X: T.Buffer((20,), \"float32\"), Y: T.Buffer((8,), \"float32\")",
               kGather + index + "]\n");
}

TEST(InputRanges, ArePositionsOfWhatTheyIndex) {
  EXPECT_EQ(OfGather("int32", "P[v]"), (InputRange{0, 19}));
  EXPECT_EQ(OfGather("uint8", "T.Cast(\"int32\", P[v])"), (InputRange{0, 19}));
  EXPECT_EQ(OfGather("int32", "P[v] * 4 + 3"), (InputRange{0, 4}));
  EXPECT_EQ(OfGather("int32", "P[v] - 2"), (InputRange{2, 21}));
  EXPECT_EQ(OfGather("int32", "P[v] + v"), (InputRange{0, 12}));
}

TEST(InputRanges, AreWideWhereTheProgramLimitsThem) {
  EXPECT_EQ(OfGather("int8", "T.Cast(\"int32\", P[v]) % 20"), (InputRange{-128, 127}));
  EXPECT_EQ(OfGather("int16", "T.max(T.min(T.Cast(\"int32\", P[v]), 19), 0)"), (InputRange{-32768, 32767}));
}

TEST(InputRanges, AreNoneWhereNothingDependsOnTheNumbers) {
  EXPECT_EQ(OfGather("int32", "v"), std::nullopt);
  EXPECT_EQ(Range("P: T.Buffer((8,), \"int32\"), Y: T.Buffer((8,), \"int32\")", R"(    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = P[v] + 1
)"),
            std::nullopt);
}

TEST(InputRanges, FollowNamesAndLoops) {
  EXPECT_EQ(Range("R: T.Buffer((9,), \"int32\"), A: T.Buffer((64,), \"float32\"), Y: T.Buffer((8,), \"float32\")",
                  R"(    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = T.float32(0)
            for t in range(R[v + 1] - R[v]):
                Y[v] = Y[v] + A[R[v] + t]
)"),
            (InputRange{0, 32, true}));
  EXPECT_EQ(Range("P: T.Buffer((8,), \"int32\"), A: T.Buffer((64,), \"float32\"), Y: T.Buffer((8,), \"float32\")",
                  R"(    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            p: T.int32 = P[v]
            Y[v] = A[p + 1]
)"),
            (InputRange{0, 62}));
}

TEST(FillRange, DrawsSortedNumbersFromEndToEnd) {
  const NDArray array(DataType::Int(32), {9});
  FillRange(array, {0, 32, true}, 1);
  EXPECT_EQ(array.GetInt(0), 0);
  EXPECT_EQ(array.GetInt(8), 32);
  for (int64_t i = 1; i < 9; ++i) EXPECT_LE(array.GetInt(i - 1), array.GetInt(i));
}

}  // namespace
}  // namespace tilewright

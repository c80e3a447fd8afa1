#include "autoschedule/program/computed_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A block over c, i and j that stores this value.
Function Storing(const std::string& value) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((4, 16, 16), "float32"), P: T.Buffer((8, 8), "float32"), N: T.Buffer((8, 8), "int32"), Y: T.Buffer((4, 8, 8), "float32")):
    for c, i, j in T.grid(4, 8, 8):
        with T.block("Y"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            Y[vc, vi, vj] = )" +
                            value);
}

std::vector<bool> Decide(const std::string& value, int along = -1) {
  const Function function = Storing(value);
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  return IteratorsOfPlaces(*scope.children()[0].realize->block, along);
}

bool Walks(const std::string& value) {
  const Function function = Storing(value);
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  return WalksByResult(*scope.children()[0].realize->block);
}

TEST(ComputedPlaces, AreThoseOfFloats) {
  const std::string column = "T.Cast(\"int32\", T.floor(P[vi, vj] * T.float32(4)))";
  EXPECT_THAT(Decide("X[vc, 3, " + column + "]"), ElementsAre(false, true, true));
  EXPECT_THAT(Decide("X[vc, vi, vj] + X[vc, vi, " + column + "] * P[vi, vj]"), ElementsAre(false, true, true));
  // Linear ones and ones that are loaded take nothing to compute.
  EXPECT_THAT(Decide("X[vc, vi * 2, vj + 1] * P[vi, vj]"), IsEmpty());
  EXPECT_THAT(Decide("X[vc, N[vi, vj], vj]"), IsEmpty());
}

TEST(ComputedPlaces, OfAVectorAxisAreThoseAlongIt) {
  const auto place = [](const std::string& at) {
    return "T.Cast(\"int32\", T.floor(T.Cast(\"float32\", " + at + ") * T.float32(1.5)))";
  };
  const std::string value = "X[vc, " + place("vi") + ", " + place("vj") + "]";
  EXPECT_THAT(Decide(value), ElementsAre(false, true, true));
  EXPECT_THAT(Decide(value, 2), ElementsAre(false, false, true));
  EXPECT_THAT(Decide(value, 0), IsEmpty());
}

// The iterator whose instances load the same lanes along the last one, in rows of n elements.
int SameLanes(const std::string& index, const std::vector<int64_t>& likely) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(x: T.handle, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (T.int64(4), T.int64(8), n))
    Y = T.match_buffer(y, (T.int64(4), T.int64(8), n * T.int64(2)))
    for c, i, j in T.grid(T.int64(4), T.int64(8), n * T.int64(2)):
        with T.block("Y"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            Y[vc, vi, vj] = X[vc, vi, )" + index +
                                               "]\n");
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  return IteratorOfSameLanes(*scope.children()[0].realize->block, 2, likely);
}

TEST(ComputedPlaces, OfLanesThatASizeDivides) {
  EXPECT_EQ(SameLanes("vj % n", {4, 8, 64}), 1);
  EXPECT_EQ(SameLanes("vj % n", {4, 1, 64}), 0);
  EXPECT_EQ(SameLanes("vj % n", {1, 1, 64}), -1);
  EXPECT_EQ(SameLanes("(vj + vi) % n", {4, 8, 64}), 0);
  EXPECT_EQ(SameLanes("T.min(vj % (n * T.int64(2)), n - T.int64(1))", {4, 8, 64}), 1);
  // Without a division, what lanes share is not worth another order of stores.
  EXPECT_EQ(SameLanes("T.min(vj, n - T.int64(1))", {4, 8, 64}), -1);
  // Numbers are not sizes, and neither are other iterators.
  EXPECT_EQ(SameLanes("vj // T.int64(2)", {4, 8, 64}), -1);
  EXPECT_EQ(SameLanes("vj % (vi + T.int64(1))", {4, 8, 64}), -1);
}

TEST(ComputedPlaces, MayFollowTheResult) {
  EXPECT_TRUE(Walks("X[0, 0, T.Cast(\"int32\", Y[vc, vi, vj])]"));
  EXPECT_TRUE(Walks("Y[vc, vi, vj] + X[0, N[vi, T.Cast(\"int32\", Y[vc, vi, vj])], 0]"));
  // Neighbours of the result, and places that do not depend on it.
  EXPECT_FALSE(Walks("X[0, 0, T.Cast(\"int32\", Y[vc, vi, 0])]"));
  EXPECT_FALSE(Walks("Y[vc, vi, vj] + X[vc, N[vi, vj], 0]"));
}

}  // namespace
}  // namespace tilewright

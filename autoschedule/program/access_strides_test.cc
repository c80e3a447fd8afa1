#include "autoschedule/program/access_strides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using testing::ElementsAre;

// The accesses of the only block of a function with buffers A, B and C.
std::vector<Access> Accesses(const std::string& extents, const std::string& iterators, const std::string& statement) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((16,), "float32")):
    for )" + iterators + " in T.grid(" + extents +
                                               R"():
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [)" + iterators +
                                               "])\n            " + statement);
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  return AccessesOf(*scope.children()[0].realize->block);
}

TEST(AccessStrides, AreDistancesInMemory) {
  const std::vector<Access> accesses = Accesses("16, 8", "i, j", "B[vi, vj] = A[vj, vi] + C[vi]");
  ASSERT_EQ(accesses.size(), 3u);
  for (const Access& access : accesses) {
    SCOPED_TRACE(access.buffer->name);
    if (access.buffer->name == "A") EXPECT_THAT(access.strides, ElementsAre(1, 16));
    if (access.buffer->name == "B") EXPECT_THAT(access.strides, ElementsAre(8, 1));
    if (access.buffer->name == "C") EXPECT_THAT(access.strides, ElementsAre(1, 0));
    EXPECT_EQ(access.store, access.buffer->name == "B");
  }
}

TEST(AccessStrides, OfDimensionsAreSteps) {
  for (const Access& access : Accesses("4, 8", "i, j", "B[vi * 3 + 1, vj] = A[vj, vi * 2 + vj]")) {
    if (access.store) EXPECT_THAT(access.steps, ElementsAre(ElementsAre(3, 0), ElementsAre(0, 1)));
    if (!access.store) EXPECT_THAT(access.steps, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 1)));
    if (!access.store) EXPECT_THAT(access.strides, ElementsAre(2, 17));
  }
}

// An iterator that runs through two dimensions as one moves by one; one that is divided otherwise by no constant.
TEST(AccessStrides, MayRunThroughSeveralDimensions) {
  for (const Access& access : Accesses("1, 128", "i, j", "B[vj // 8, vj % 8] = A[vj // 16, vj % 16] + C[vj // 8]")) {
    SCOPED_TRACE(access.buffer->name);
    EXPECT_EQ(access.strides[1], access.buffer->name == "C" ? std::nullopt : std::optional<int64_t>(1));
  }
}

}  // namespace
}  // namespace tilewright

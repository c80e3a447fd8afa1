#include "autoschedule/program/top_nests.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

int NestsOf(const char* text) { return CountTopNests(ParseOrDie(text).functions()[0]); }

TEST(TopNests, NestsOfBlocksAreCountedOnce) {
  EXPECT_EQ(NestsOf(R"(
@T.prim_func
def main(a: T.Buffer((8, 4), "float32"), c: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((8,), "float32")
    for i, j in T.grid(8, 4):
        with T.block("t"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                t[vi] = T.float32(0)
            t[vi] = t[vi] + a[vi, vj]
    for i in range(8):
        with T.block("c"):
            vi = T.axis.spatial(8, i)
            c[vi] = t[vi]
)"),
            2);
}

TEST(TopNests, AStatementWithoutALoopIsANest) {
  EXPECT_EQ(NestsOf(R"(
@T.prim_func
def main(a: T.Buffer((1,), "float32"), c: T.Buffer((1,), "float32")):
    with T.block("c"):
        c[0] = a[0]
)"),
            1);
}

TEST(TopNests, LoopsInsideOfALoopAreOneNest) {
  EXPECT_EQ(NestsOf(R"(
@T.prim_func
def main(c: T.Buffer((4, 8), "float32")):
    for i in T.parallel(4):
        for j in range(8):
            c[i, j] = T.float32(0)
        for j in range(8):
            c[i, j] = c[i, j] + T.float32(1)
)"),
            1);
}

}  // namespace
}  // namespace tilewright

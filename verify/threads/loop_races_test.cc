// Places from memory: what is proven whatever it holds, what is taken to be apart, and what is refused.
#include "verify/threads/loop_races.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "verify/threads/races_testing.h"

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Races;
using testing::Replaced;

// Whatever the table holds, threads of one block touch elements of their own.
constexpr char kTile[] = R"(
@T.prim_func
def main(A: T.Buffer((n, 32), "float32"), P: T.Buffer((m,), "int32"), C: T.Buffer((k, 32), "float32"), n: T.int32, m: T.int32, k: T.int32):
    for b in T.thread_binding(m, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("C"):
                vb, vt = T.axis.remap("SS", [b, t])
                T.reads(P[0:m], A[vb, vt])
                T.writes(C[PLACE])
                C[PLACE] = A[vb, vt]
)";
std::string TileAt(const std::string& place) { return Replaced(Replaced(kTile, "PLACE", place), "PLACE", place); }

TEST(LoopRaces, PlacesFromMemory) {
  EXPECT_THAT(Races(TileAt("P[vb], vt")), IsEmpty());  // by the signature, which says what is assumed
  EXPECT_THAT(Races(TileAt("P[vb] + vt, 0")), IsEmpty());
  // Both threads of a pair write an element, whatever the table says.
  EXPECT_THAT(Races(TileAt("P[vb], vt // 2")), ElementsAre(HasSubstr("threadIdx.x loop t may touch")));
  EXPECT_THAT(Races(TileAt("P[vb] + vt // 2, 0")), ElementsAre(HasSubstr("threadIdx.x loop t may touch")));
  // Each thread looks up a place of its own.
  EXPECT_THAT(Races(TileAt("P[vb * 32 + vt], 0")),
              ElementsAre(HasSubstr("taken to differ between iterations of loop t")));
  EXPECT_THAT(Races(TileAt("P[vb * 32 + vt // 2], 0")), ElementsAre(HasSubstr("threadIdx.x loop t may touch")));
}

// Nothing in the program says that the iterations are independent.
TEST(LoopRaces, PlacesFromMemoryOfOpaqueBlocks) {
  const std::string opaque = Replaced(TileAt("P[vb * 32 + vt], 0"), "\"SS\"", "\"OO\"");
  EXPECT_THAT(Races(opaque), ElementsAre(HasSubstr("blockIdx.x loop b"), HasSubstr("threadIdx.x loop t")));
}

// Threads that a person starts around bare statements: each copies what a table of its own says.
TEST(LoopRaces, PlacesFromMemoryOfBareStatements) {
  const std::string copies = R"(
@T.prim_func
def main(X: T.Buffer((n, 64), "float32"), P: T.Buffer((2, m), "int32"), n: T.int32, m: T.int32):
    for b in T.thread_binding(m, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            X[P[1, b], t] = X[P[0, b], t]
)";
  EXPECT_THAT(Races(copies), ElementsAre(HasSubstr("taken to differ between iterations of loop b")));
  EXPECT_THAT(Races(Replaced(copies, "X[P[1, b], t] =", "X[P[1, b], t // 2] =")),
              Contains(HasSubstr("threadIdx.x loop t may touch the same element")));
  EXPECT_THAT(Races(Replaced(copies, "X[P[1, b], t] =", "X[P[1, b // 2], t] =")),
              Contains(HasSubstr("blockIdx.x loop b may touch the same element")));
  EXPECT_THAT(Races(Replaced(copies, "= X[P[0, b], t]", "= X[0, t]")),
              Contains(HasSubstr("blockIdx.x loop b may touch the same element")));
}

// A kernel that looks for its tile keeps the number of it in memory of each thread.
constexpr char kSearch[] = R"(
@T.prim_func
def main(A: T.Buffer((k, 32), "float32"), P: T.Buffer((m,), "int32"), C: T.Buffer((k, 32), "float32"), m: T.int32, k: T.int32):
    for b in T.thread_binding(16, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("tiles"):
                vb, vt = T.axis.remap("SS", [b, t])
                T.reads()
                T.writes()
                tile = T.alloc_buffer((1,), "int32", scope="local")
                S = T.alloc_buffer((32,), "float32", scope="shared")
                tile[0] = vb
                while tile[0] < m:
                    S[vt] = A[P[tile[0]], vt]
                    T.tvm_storage_sync("shared")
                    C[P[tile[0]], vt] = S[31 - vt]
                    T.tvm_storage_sync("shared")
                    tile[0] = tile[0] + P[tile[0]]
)";

TEST(LoopRaces, TilesThatAKernelLooksFor) {
  const std::string search = kSearch;
  EXPECT_THAT(Races(search), ElementsAre(HasSubstr("taken to differ between iterations of loop b")));
  // The next tile is copied while threads read this one.
  EXPECT_THAT(
      Races(Replaced(search, "                    T.tvm_storage_sync(\"shared\")\n                    tile[0] = tile",
                     "                    tile[0] = tile")),
      Contains(HasSubstr("threadIdx.x loop t may touch the same element")));
  // Each thread has a tile of its own, so that some are done before others: they do not meet.
  EXPECT_THAT(Races(Replaced(search, "tile[0] = vb\n", "tile[0] = vb + vt\n")),
              Contains(HasSubstr("a barrier is reached by those threads only")));
  // What blocks do not look up, they compute: two of them have each tile.
  EXPECT_THAT(Races(Replaced(Replaced(search, "tile[0] = vb\n", "tile[0] = vb // 2\n"), "+ P[tile[0]]\n", "+ P[0]\n")),
              Contains(HasSubstr("blockIdx.x loop b may touch the same element")));
  // All blocks write the tiles of the first one.
  EXPECT_THAT(Races(Replaced(search, "tile[0] = vb\n", "tile[0] = 0\n")),
              Contains(HasSubstr("blockIdx.x loop b may touch the same element")));
}

// A thread that has changed its counter is elsewhere than those that have not.
TEST(LoopRaces, ValuesThatThreadsChangeWithoutMeeting) {
  const std::string counts = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), P: T.Buffer((1,), "int32"), C: T.Buffer((64,), "float32")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("count"):
            vt = T.axis.spatial(32, t)
            T.reads()
            T.writes()
            n = T.alloc_buffer((1,), "int32", scope="local")
            n[0] = P[0]
            T.tvm_storage_sync("shared")
            for k in range(P[0]):
                C[n[0] + vt] = A[vt]
                n[0] = n[0] + 1
)";
  EXPECT_THAT(Races(counts), ElementsAre(HasSubstr("threadIdx.x loop t may touch the same element")));
  EXPECT_THAT(Races(Replaced(counts, "n[0] = n[0] + 1", "A[vt] = T.float32(0)")), IsEmpty());
  EXPECT_THAT(Races(Replaced(Replaced(counts, "n[0] = n[0] + 1", "A[vt] = T.float32(0)"), "n[0] = P[0]\n",
                             "n[0] = P[0] - vt\n")),
              ElementsAre(HasSubstr("threadIdx.x loop t may touch the same element")));
}

// Iterations that write elements of their own in each step, and those of others in the next one.
TEST(LoopRaces, ElementsThatStepsMove) {
  const auto races = [](const std::string& outer, const std::string& inner, const std::string& place) {
    return Races(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8, 8), "float32")):
    for )" + outer +
                 R"(:
        for )" + inner +
                 R"(:
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                )" +
                 place + " = " + place + " * T.float32(0.5) + A[vi, vk]\n");
  };
  const std::string step = "k in range(8)", at_once = "i in T.parallel(8)";
  EXPECT_THAT(races(step, at_once, "C[(vi + vk) % 8]"), IsEmpty());
  EXPECT_THAT(races(at_once, step, "C[(vi + vk) % 8]"), ElementsAre(HasSubstr("parallel loop i may touch the same")));
  EXPECT_THAT(races(at_once, step, "C[T.max(vi - vk, 0)]"),
              ElementsAre(HasSubstr("parallel loop i may touch the same")));
  EXPECT_THAT(races(at_once, step, "D[vi, (vi + vk) % 8]"), IsEmpty());
  EXPECT_THAT(races(at_once, step, "D[vk % 2, vi]"), IsEmpty());
}

// Pages of one buffer, which may be the same one.
TEST(LoopRaces, DimensionsInWhichThreadsAgree) {
  const std::string pages = R"(
@T.prim_func
def main(X: T.Buffer((n, 64), "float32"), p: T.int32, q: T.int32, n: T.int32):
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("X"):
            vt = T.axis.spatial(64, t)
            X[p, vt] = X[q, vt]
)";
  EXPECT_THAT(Races(pages), IsEmpty());
  EXPECT_THAT(Races(Replaced(pages, "= X[q, vt]", "= X[q, 63 - vt]")),
              ElementsAre(HasSubstr("threadIdx.x loop t may touch the same element")));
}

// Threads read of a row, in loops of other names, what they wrote themselves.
TEST(LoopRaces, OwnElementsInOtherLoops) {
  const std::string rows = R"(
@T.prim_func
def main(A: T.Buffer((n * 32,), "float32"), B: T.Buffer((n * 32,), "float32"), n: T.int32):
    X = T.alloc_buffer((n * 32,), scope="local")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in range(n):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                for u in T.unroll(4):
                    with T.block("X"):
                        vi, vu = T.axis.remap("SS", [i, u])
                        vt = T.axis.spatial(8, t)
                        X[vi * 32 + vt * 4 + vu] = A[vi * 32 + vt * 4 + vu]
            for t in T.thread_binding(8, thread="threadIdx.x"):
                for w in T.unroll(4):
                    with T.block("B"):
                        vi, vw = T.axis.remap("SS", [i, w])
                        vt = T.axis.spatial(8, t)
                        B[vi * 32 + vt * 4 + vw] = X[PLACE]
)";
  EXPECT_THAT(Races(Replaced(rows, "PLACE", "vi * 32 + vt * 4 + vw")), IsEmpty());
  for (const char* place : {"vi * 32 + vt * 4 + vw + 1", "vi * 32 + vw * 8 + vt", "vi * 32 + (7 - vt) * 4 + vw"}) {
    EXPECT_THAT(Races(Replaced(rows, "PLACE", place)), Contains(HasSubstr("has a copy of X"))) << place;
  }
}

}  // namespace
}  // namespace tilewright

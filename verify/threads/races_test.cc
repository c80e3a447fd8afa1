#include "verify/threads/races.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/threads/races_testing.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Races;
using testing::Replaced;

// Iterations have copies of registers that lie outside of their loop.
TEST(Races, ReadsOfWhatOtherIterationsWroteToTheirCopies) {
  const std::string sums = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 9), "float32")):
    S = T.alloc_buffer((4, 9), "float32", scope="local")
    for i, j in T.grid(4, 9):
        with T.block("S0"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = T.float32(0)
    for i in T.serial(4):
        for k in T.parallel(8):
            with T.block("S"):
                vi, vk = T.axis.remap("SS", [i, k])
                S[vi, vk + 1] = S[vi, vk] + A[vi, vk]
    for i, j in T.grid(4, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi, vj]
)";
  EXPECT_THAT(Races(sums), ElementsAre(HasSubstr("block S reads what other iterations write")));
  EXPECT_THAT(Races(Replaced(sums, "S[vi, vk + 1] = S[vi, vk]", "S[vi, vk] = S[vi, vk]")), IsEmpty());
}

// Rows of a matrix are digits that its tiles of 16 do not divide.
TEST(Races, DigitsOfTilesAreToldApart) {
  const std::string rows = R"(
@T.prim_func
def main(A: T.Buffer((60000, 16), "float32"), C: T.Buffer((30, 40, 50, 16), "float32")):
    for a in T.thread_binding(3750, thread="blockIdx.x"):
        for b in T.thread_binding(8, thread="threadIdx.y"):
            for d in T.thread_binding(16, thread="threadIdx.x"):
                for c in range(2):
                    with T.block("C"):
                        v = T.axis.spatial(60000, a * 16 + b * 2 + c)
                        w = T.axis.spatial(16, d)
                        C[v // 2000, v % 2000 // 50, v % 50, w] = A[v, w]
)";
  EXPECT_THAT(Races(rows), IsEmpty());
  EXPECT_THAT(Races(Replaced(rows, "C[v // 2000, v % 2000 // 50, v % 50, w]", "C[v // 2000, v % 2000 // 50, 0, w]")),
              Not(IsEmpty()));
  // Each element is one of two, by the loop over parts.
  const std::string parts = Replaced(Replaced(rows, "(30, 40, 50, 16)", "(30, 80, 50, 8)"), "v % 2000 // 50, v % 50, w",
                                     "v % 2000 // 50 * 2 + w // 8, v % 50, w % 8");
  EXPECT_THAT(Races(parts), IsEmpty());
}

// Threads that a serial loop starts meet at its end, so that an iteration and the next one are looked at together.
TEST(Races, IterationsThatStartThreadsAreToldApart) {
  const std::string rows = R"(
@T.prim_func
def main(A: T.Buffer((1600, 100), "float32"), C: T.Buffer((1600, 100), "float32")):
    for a in T.thread_binding(100, thread="blockIdx.x"):
        for b in range(25):
            for d in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("C"):
                    v = T.axis.spatial(1600, a * 16 + (b * 64 + d) // 100)
                    w = T.axis.spatial(100, (b * 64 + d) % 100)
                    C[v, w] = A[v, w]
)";
  EXPECT_THAT(Races(rows), IsEmpty());
  EXPECT_THAT(Races(Replaced(rows, "C[v, w]", "C[v, 0]")), Not(IsEmpty()));
}

TEST(Races, StoresOutsideOfBlocksInVirtualThreads) {
  constexpr std::string_view kStores = R"(
@T.prim_func
def main(C: T.Buffer((8,), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for v in T.thread_binding(2, thread="vthread.x"):
            C[b * 2 + v] = T.float32(1)
)";
  EXPECT_THAT(Races(kStores), IsEmpty());
  EXPECT_EQ(Races(Replaced(std::string(kStores), "b * 2 + v", "b")).size(), 1u);
}

// All virtual threads copy the same values: what the function takes is the same for them.
TEST(Races, VirtualThreadsCopyUnderASymbolicSize) {
  constexpr std::string_view kCopies = R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((64,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    S = T.alloc_buffer((64,), "float32", scope="shared")
    for v in T.thread_binding(2, thread="vthread.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for x in range(2):
                for u in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("S"):
                        w = T.axis.spatial(64, x * 32 + u)
                        S[w] = T.if_then_else(w < n, A[w], T.float32(0))
            with T.block("B"):
                w = T.axis.spatial(64, v * 32 + t)
                B[w] = S[63 - w]
)";
  EXPECT_THAT(Races(kCopies), IsEmpty());
}

// Neither can be enumerated. What B reads is what C writes in the next iteration.
TEST(Races, BlocksOfDifferentIterationsMeet) {
  const auto program = [](const std::string& loop, const std::string& index) {
    std::string text = R"(
@T.prim_func
def main(x: T.handle, y: T.handle, n: T.int32):
    X = T.match_buffer(x, (n + 1,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in LOOP:
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            Y[vi] = X[INDEX]
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            X[vi] = T.float32(0)
)";
    text = Replaced(Replaced(text, "LOOP", loop), "INDEX", index);
    if (loop.find("(n)") != std::string::npos) return Races(text);
    for (size_t at; (at = text.find("spatial(n")) != std::string::npos;) text.replace(at, 9, "spatial(1000000");
    text = Replaced(Replaced(text, "(n + 1,)", "(1000001,)"), "(n,)", "(1000000,)");
    return Races(text);
  };
  for (const std::string extent : {"(n)", "(1000000)"}) {
    for (const std::string kind : {"parallel", "vectorized"}) {
      EXPECT_THAT(program("T." + kind + extent, "vi"), IsEmpty());
      EXPECT_THAT(program("T." + kind + extent, "vi + 1"),
                  ElementsAre("iterations of the " + kind +
                              " loop i may touch the same element at the same time: a read of X[i + 1] in block B, a "
                              "write of X[i] in block C"));
    }
  }
}

// Iterations that run instances of others write the same elements, whatever the signature says.
TEST(Races, InstancesOfSeveralIterations) {
  const auto program = [](const std::string& tile) {
    return Races(Replaced(R"(
@T.prim_func
def main(A: T.Buffer((1000008,), "float32"), B: T.Buffer((1000008,), "float32")):
    for i in T.parallel(250000):
        for j in range(TILE):
            with T.block("B"):
                vi = T.axis.spatial(1000008, i * 4 + j)
                B[vi] = A[vi]
)",
                          "TILE", tile));
  };
  EXPECT_THAT(program("4"), IsEmpty());
  EXPECT_THAT(program("6"), ElementsAre("iterations of the parallel loop i may touch the same element at the same "
                                        "time: a write of B[i * 4 + j] in block B"));
}

// Tiles of a fused loop: the init and the update of one iteration touch the same tile.
TEST(Races, TilesOfAFusedLoop) {
  const auto program = [](const std::string& column) {
    return Races(Replaced(R"(
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
    for f in T.parallel(256):
        for i, j in T.grid(64, 64):
            with T.block("init"):
                vi = T.axis.spatial(1024, f // 16 * 64 + i)
                vj = T.axis.spatial(1024, COLUMN * 64 + j)
                C[vi, vj] = T.float32(0)
        for k, i, j in T.grid(1024, 64, 64):
            with T.block("update"):
                vi = T.axis.spatial(1024, f // 16 * 64 + i)
                vj = T.axis.spatial(1024, f % 16 * 64 + j)
                vk = T.axis.reduce(1024, k)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                          "COLUMN", column));
  };
  EXPECT_THAT(program("f % 16"), IsEmpty());
  EXPECT_THAT(program("(f + 1) % 16").size(), 1u);
}

// Threads write shared memory, meet or not, and read what others wrote. Extents are too large to enumerate.
constexpr char kReverse[] = R"(
@T.prim_func
def main(A: T.Buffer((65536, 64), "float32"), B: T.Buffer((65536, 64), "float32")):
    S = T.alloc_buffer((64,), "float32", scope="shared")
    for bx in T.thread_binding(65536, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                v, vi = T.axis.remap("SS", [bx, tx])
                S[vi] = A[v, vi]
            T.tvm_storage_sync("shared")
            with T.block("B"):
                v, vi = T.axis.remap("SS", [bx, tx])
                B[v, vi] = S[63 - vi]
)";

TEST(Races, BarriersOrderThreads) {
  EXPECT_THAT(Races(kReverse), IsEmpty());
  EXPECT_THAT(
      Races(Replaced(kReverse, "            T.tvm_storage_sync(\"shared\")\n", "")),
      ElementsAre("iterations of the threadIdx.x loop tx may touch the same element at the same time: a write of "
                  "S[tx] in block S, a read of S[63 - tx] in block B, with no barrier in between"));
}

TEST(Races, WhatAThreadWroteItselfNeedsNoBarrier) {
  EXPECT_THAT(Races(Replaced(Replaced(kReverse, "            T.tvm_storage_sync(\"shared\")\n", ""), "63 - vi", "vi")),
              IsEmpty());
}

// The next iteration of ko overwrites what threads may still read.
constexpr char kPipeline[] = R"(
@T.prim_func
def main(A: T.Buffer((65536, 64), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,), "float32", scope="shared")
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        for ko in range(65536):
            with T.block("S"):
                v, vi = T.axis.remap("SS", [ko, tx])
                S[vi] = A[v, vi]
            T.tvm_storage_sync("shared")
            with T.block("B"):
                v = T.axis.reduce(65536, ko)
                vi = T.axis.spatial(64, tx)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + S[63 - vi]
            T.tvm_storage_sync("shared")
)";

TEST(Races, TheNextIterationComesBehindTheLastBarrier) {
  EXPECT_THAT(Races(kPipeline), IsEmpty());
  std::string text = kPipeline;
  text = text.substr(0, text.rfind("            T.tvm_storage_sync"));
  EXPECT_THAT(Races(text), ElementsAre(HasSubstr("with no barrier in between")));
}

// A copy that all threads make together, in a loop bound to the same threads: barriers go without saying.
constexpr char kCooperative[] = R"(
@T.prim_func
def main(A: T.Buffer((65536, 256), "float32"), B: T.Buffer((65536, 64), "float32")):
    S = T.alloc_buffer((65536, 256), "float32", scope="shared")
    for bx in T.thread_binding(65536, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            for f0 in range(4):
                for f1 in T.thread_binding(64, thread="threadIdx.x"):
                    with T.block("S"):
                        v = T.axis.spatial(65536, bx)
                        vi = T.axis.spatial(256, f0 * 64 + f1)
                        S[v, vi] = A[v, vi]
            with T.block("B"):
                v, vi = T.axis.remap("SS", [bx, tx])
                B[v, vi] = S[v, vi * 4] + S[v, 255 - vi]
)";

TEST(Races, CooperativeCopies) {
  EXPECT_THAT(Races(kCooperative), IsEmpty());
  // Threads 0 and 32 copy the same elements.
  EXPECT_THAT(Races(Replaced(kCooperative, "f0 * 64 + f1", "f0 * 64 + f1 % 32")),
              ElementsAre(HasSubstr("a write of S[bx, f0 * 64 + tx % 32] in block S")));
  // Some threads do not come to the barrier.
  EXPECT_THAT(Races(Replaced(kCooperative, "            for f0 in range(4):", "            for f0 in range(tx):")),
              ::testing::Contains("a barrier is reached by those threads only for which tx holds"));
}

// Shared memory is one for the block of threads, wherever in them it is allocated.
TEST(Races, SharedMemoryInAParallelLoopOfThreads) {
  const auto in_threads = [](const std::string& scope) {
    return Races(Replaced(R"(
@T.prim_func
def main(A: T.Buffer((4, 65536, 8), "float32"), B: T.Buffer((4, 65536, 8), "float32")):
    for tx in T.thread_binding(1, thread="threadIdx.x"):
        for i in T.parallel(65536):
            with T.block("B"):
                v, vi = T.axis.remap("SS", [tx, i])
                T.reads(A[v, vi, 0:8])
                T.writes(B[v, vi, 0:8])
                S = T.alloc_buffer((8,), "float32", scope="SCOPE")
                for j in range(8):
                    with T.block("S"):
                        vj = T.axis.spatial(8, j)
                        S[vj] = A[v, vi, vj]
                for j in range(8):
                    with T.block("B_i"):
                        vj = T.axis.spatial(8, j)
                        B[v, vi, vj] = S[7 - vj]
)",
                          "SCOPE", scope));
  };
  EXPECT_THAT(in_threads("local"), IsEmpty());
  EXPECT_THAT(in_threads("shared"),
              ElementsAre(HasSubstr("iterations of the parallel loop i may touch the same element "
                                    "at the same time: a write of S[j] in block S")));
}

// All virtual threads run the copy to shared memory; it must write the same for each. Too large to be enumerated.
TEST(Races, CopiesInsideOfVirtualThreads) {
  const auto copy = [](const std::string& index, const std::string& value) {
    const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((999, 64), "float32"), B: T.Buffer((999, 2, 4, 64), "float32")):
    for b in T.thread_binding(999, thread="blockIdx.x"):
        with T.block("block"):
            vb = T.axis.spatial(999, b)
            T.reads(A[vb, 0:64])
            T.writes(B[vb, 0:2, 0:4, 0:64])
            S = T.alloc_buffer((64,), "float32", scope="shared")
            for v in T.thread_binding(2, thread="vthread.x"):
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    for k in range(16):
                        for t1 in T.thread_binding(4, thread="threadIdx.x"):
                            with T.block("S"):
                                vv = T.axis.spatial(2, v)
                                vj = T.axis.spatial(64, INDEX)
                                S[vj] = VALUE
                    for j in range(64):
                        with T.block("B"):
                            vv, vt, vj = T.axis.remap("SSS", [v, t, j])
                            B[vb, vv, vt, vj] = S[vj]
)";
    return Races(Replaced(Replaced(text, "VALUE", value), "INDEX", index));
  };
  EXPECT_THAT(copy("k * 4 + t1", "A[vb, vj]"), IsEmpty());
  EXPECT_THAT(copy("k * 4 + t1", "A[vb, vj] * T.Cast(\"float32\", vv)"),
              ElementsAre("iterations of the vthread.x loop v may touch the same element at the same time: a write of "
                          "S[k * 4 + t] in block S, with no barrier in between"));
  // Thread 1 of one and, an iteration later, thread 0 of the other write the same element.
  EXPECT_THAT(copy("k + t1", "A[vb, vj]"),
              ::testing::Contains(HasSubstr("iterations of the vthread.x loop v may touch the same element")));
  // Thread t of one and thread t + 1 of the other write the same element.
  EXPECT_THAT(copy("k * 4 + (t1 + v) % 4", "A[vb, vj]"),
              ElementsAre(HasSubstr("iterations of the vthread.x loop v may touch the same element"),
                          HasSubstr("iterations of the threadIdx.x loop t may touch the same element")));
}

// Each serial loop with a barrier in it is walked twice: twelve in each other, the innermost 4096 times.
TEST(Races, TooManyPlacesToCompare) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 999999), "float32"), B: T.Buffer((4, 999999), "float32")):
    S = T.alloc_buffer((4,), scope="shared")
    for t in T.thread_binding(4, thread="threadIdx.x"):
)";
  std::string indent = "        ";
  for (int depth = 0; depth < 12; ++depth) {
    text += indent + "for k" + std::to_string(depth) + " in range(3):\n";
    indent += "    ";
  }
  for (const char* line : {"for u in T.thread_binding(4, thread=\"threadIdx.x\"):", "    with T.block(\"S\"):",
                           "        vu = T.axis.spatial(4, u)", "        S[vu] = A[vu, 0]",
                           "with T.block(\"B\"):", "    vt = T.axis.spatial(4, t)", "    B[vt, 0] = S[3 - vt]"}) {
    text += indent + line + "\n";
  }
  EXPECT_THAT(Races(text), ElementsAre("memory is touched in more than 2000 places, too many to compare"));
}

// The copy stands in a block whose iterator tells virtual threads apart.
TEST(Races, CopiesInsideOfBlocksOfVirtualThreads) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((999, 4), "float32"), B: T.Buffer((999, 4), "float32")):
    for v in T.thread_binding(999, thread="vthread.x"):
        with T.block("tile"):
            vv = T.axis.spatial(999, v)
            T.reads(A[vv, 0:4])
            T.writes(B[vv, 0:4])
            S = T.alloc_buffer((4,), "float32", scope="shared")
            for t in T.thread_binding(4, thread="threadIdx.x"):
                for t1 in T.thread_binding(4, thread="threadIdx.x"):
                    with T.block("S"):
                        vj = T.axis.spatial(4, t1)
                        S[vj] = A[vv, vj]
                with T.block("B"):
                    vj = T.axis.spatial(4, t)
                    B[vv, vj] = S[3 - vj]
)";
  const auto races = ElementsAre(HasSubstr("iterations of the vthread.x loop v may touch the same element"));
  EXPECT_THAT(Races(Replaced(text, "thread_binding(999", "thread_binding(3")), races);  // few enough to enumerate
  EXPECT_THAT(Races(text), races);
}

// Each virtual thread starts threads, waits for them, and uses what they wrote: the others' may still be writing.
TEST(Races, ThreadsThatAVirtualThreadStarts) {
  EXPECT_THAT(Races(R"(
@T.prim_func
def main(A: T.Buffer((999999,), "float32"), B: T.Buffer((2, 999999), "float32")):
    S = T.alloc_buffer((999999,), "float32", scope="shared")
    for v in T.thread_binding(2, thread="vthread.x"):
        for k in range(999):
            for t in T.thread_binding(1001, thread="threadIdx.x"):
                with T.block("S"):
                    vj = T.axis.spatial(999999, k * 1001 + t)
                    S[vj] = A[vj]
        for k in range(999999):
            with T.block("B"):
                vv, vj = T.axis.remap("SS", [v, k])
                B[vv, vj] = S[vj]
)"),
              ElementsAre("iterations of the vthread.x loop v may touch the same element at the same time: a write of "
                          "S[k * 1001 + t] in block S, a read of S[k] in block B, with no barrier in between"));
}

TEST(Races, ThreadsThatReduceIntoSharedMemory) {
  constexpr char kSum[] = R"(
      @T.prim_func
      def main(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64,), "float32")):
          for bx in T.thread_binding(64, thread="blockIdx.x"):
              for tx in T.thread_binding(256, thread="threadIdx.x"):
                  with T.block("B"):
                      v = T.axis.spatial(64, bx)
                      vk = T.axis.reduce(256, tx)
                      with T.init():
                          B[v] = T.float32(0)
                      B[v] = B[v] + A[v, vk])";
  EXPECT_THAT(Races(kSum), IsEmpty());
}

constexpr char kHalo[] = R"(
@T.prim_func
def main(A: T.Buffer((66,), "float32"), B: T.Buffer((66,), "float32")):
    for i in T.parallel(16):
        for j in range(6):
            with T.block("B"):
                vi = T.axis.spatial(66, i * 4 + j)
                B[vi] = A[vi]
)";

// Small enough to enumerate: neighbours write the same halo.
TEST(Races, ParallelTilesThatOverlap) {
  EXPECT_THAT(Races(kHalo),
              ElementsAre("iterations of the parallel loop i may touch the same element at the same time: "
                          "a write of B[i * 4 + j] in block B"));
  EXPECT_THAT(Races(Replaced(kHalo, "i * 4 + j", "i * 4 + j % 4")), IsEmpty());
}

// What is touched of a matched part is touched in the buffer it is a part of, no more.
TEST(Races, IterationsOfAMatchedPart) {
  constexpr char kCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((65536, 2, 16), "float32"), B: T.Buffer((65536, 2, 16), "float32")):
    for i in T.parallel(65536):
        with T.block("B"):
            vi = T.axis.spatial(65536, i)
            T.reads(A[vi, 0:2, 0:16])
            T.writes(B[vi, 0:2, 0:16])
            P = T.match_buffer(B[vi, 0:2, 0:16], (2, 16), offset_factor=1)
            for k in range(2):
                for l in T.vectorized(16):
                    P[k, l] = A[vi, k, l]
)";
  EXPECT_THAT(Races(kCopy), IsEmpty());
  EXPECT_THAT(Races(Replaced(kCopy, "P[k, l]", "P[k, 0]")),
              ElementsAre(HasSubstr("iterations of the vectorized loop l may touch the same element")));
}

TEST(Races, BuffersOfOneIterationAreItsOwn) {
  EXPECT_THAT(Races(R"(
@T.prim_func
def main(A: T.Buffer((66,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((66,), "float32")
    for i in T.parallel(16):
        for j in range(6):
            with T.block("B"):
                vi = T.axis.spatial(66, i * 4 + j)
                B[vi] = A[vi]
        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(64, i * 4 + j)
                C[vi] = B[vi] + B[vi + 2]
)"),
              IsEmpty());
}

// The extents are not known, so nothing is enumerated.
TEST(Races, WhatAllIterationsWrite) {
  EXPECT_THAT(
      Races(R"(
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    C = T.match_buffer(c, (n, 6), "float32")
    S = T.alloc_buffer((n,), "float32")
    for i in range(n):
        for j in T.vectorized(6):
            with T.block("S"):
                vi = T.axis.spatial(n, i)
                S[vi] = A[vi]
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = S[vi]
)"),
      ElementsAre(HasSubstr("iterations of the vectorized loop j may touch the same element at the same time: a "
                            "write of S[i] in block S")));
}

TEST(Races, ReadingWhatAnotherIterationWrites) {
  EXPECT_THAT(Races(R"(
@T.prim_func
def main(A: T.Buffer((17,), "float32")):
    for i in T.parallel(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = A[vi + 1]
)"),
              ElementsAre("iterations of the parallel loop i may touch the same element at the same time: a read of "
                          "A[i + 1] in block A, a write of A[i] in block A"));
}

// Somebody declared that each iteration reads all rows.
TEST(Races, DeclaredWiderThanRead) {
  const std::string wide = R"(
@T.prim_func
def main(A: T.Buffer((n,), "float32"), C: T.Buffer((n,), "float32"), n: T.int32):
    for i in T.parallel(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            T.reads(C[0:n], A[vi])
            T.writes(C[vi])
            T.block_attr({"explicit_read_region": [0]})
            C[vi] = C[vi] + A[vi]
)";
  EXPECT_THAT(Races(wide), IsEmpty());
  EXPECT_THAT(Races(Replaced(wide, "= C[vi] +", "= C[0] +")), Not(IsEmpty()));
}

}  // namespace
}  // namespace tilewright

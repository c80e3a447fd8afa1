// Races of threads of a GPU, of virtual threads and of what they share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/threads/races.h"
#include "verify/threads/races_testing.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Races;
using testing::Replaced;

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

// The instruction of an attribute stands for its body, whatever addresses its operands are.
TEST(Races, InstructionsAccessWhatTheirBodiesDo) {
  constexpr std::string_view kInstruction = R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32")):
    S = T.alloc_buffer((32,), "float32", scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("S"):
            v = T.axis.spatial(32, t)
            with T.attr(0, "cuda.instruction", T.cuda.stmatrix_x4(T.address_of(S[31 - v]), 0)):
                S[v] = A[v]
)";
  EXPECT_THAT(Races(kInstruction), IsEmpty());
  EXPECT_THAT(Races(Replaced(std::string(kInstruction), "S[v] =", "S[0] =")), Not(IsEmpty()));
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
  EXPECT_THAT(
      Races(text),
      ElementsAre("loops with barriers in each other touch memory in more than 2000 places, too many to compare"));
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

}  // namespace
}  // namespace tilewright

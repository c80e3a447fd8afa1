// What GPUs limit of launches: threads, blocks, clusters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing.h"

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::RefutedOnGpu;

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
  return text;
}

// A copy by so many blocks of so many threads.
std::string Copy(const std::string& blocks, const std::string& threads, const std::string& tag = "threadIdx.x") {
  return "@T.prim_func\n"
         "def main(A: T.Buffer((" +
         blocks + ", " + threads + "), \"float32\"), B: T.Buffer((" + blocks + ", " + threads +
         "), \"float32\")):\n"
         "    for bx in T.thread_binding(" +
         blocks +
         ", thread=\"blockIdx.x\"):\n"
         "        for tx in T.thread_binding(" +
         threads + ", thread=\"" + tag +
         "\"):\n"
         "            with T.block(\"B\"):\n"
         "                v, vi = T.axis.remap(\"SS\", [bx, tx])\n"
         "                B[v, vi] = A[v, vi]\n";
}

TEST(ThreadLaunch, WithinTheLimits) {
  EXPECT_THAT(RefutedOnGpu(Copy("4096", "1024")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Copy("4096", "64", "threadIdx.z")), IsEmpty());
}

TEST(ThreadLaunch, TooManyThreads) {
  EXPECT_THAT(
      RefutedOnGpu(Copy("4", "2048")),
      ElementsAre("thread launch: loop tx is bound to threadIdx.x with an extent of 2048, cuda-sm80 allows 1024",
                  "thread launch: the kernel has 2048 threads in a block, cuda-sm80 allows 1024"));
  EXPECT_THAT(RefutedOnGpu(Copy("4", "128", "threadIdx.z")),
              ElementsAre("thread launch: loop tx is bound to threadIdx.z with an extent of 128, cuda-sm80 allows 64"));
}

TEST(ThreadLaunch, UnknownThreads) {
  EXPECT_THAT(RefutedOnGpu(Copy("4", "32", "threadIdx.w")),
              ElementsAre("thread launch: loop tx is bound to threadIdx.w, which is not a thread of a GPU"));
}

TEST(ThreadLaunch, ThreadsAreCountedFromZeroToAConstant) {
  EXPECT_THAT(RefutedOnGpu(R"(
@T.prim_func
def main(A: T.Buffer((33,), "float32"), B: T.Buffer((33,), "float32")):
    for tx in T.thread_binding(1, 33, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(33, tx)
            B[vi] = A[vi]
)"),
              Contains("thread launch: loop tx is bound to threadIdx.x and starts at 1, not at 0"));
  EXPECT_THAT(RefutedOnGpu(R"(
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (4, n), "float32")
    B = T.match_buffer(b, (4, n), "float32")
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("block"):
            v = T.axis.spatial(4, bx)
            T.reads(A[v, 0:n])
            T.writes(B[v, 0:n])
            S = T.alloc_buffer((n,), "float32", scope="shared")
            for tx in T.thread_binding(n, thread="threadIdx.x"):
                with T.block("S"):
                    vi = T.axis.spatial(n, tx)
                    S[vi] = A[v, vi]
            for tx in T.thread_binding(n, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(n, tx)
                    B[v, vi] = S[vi]
)"),
              ElementsAre("thread launch: loop tx is bound to threadIdx.x, but its extent n is not a constant",
                          "thread launch: loop tx is bound to threadIdx.x, but its extent n is not a constant",
                          "memory limits: the kernel needs no constant number of bytes of shared memory in a block, "
                          "cuda-sm80 has 166912"));
}

constexpr char kTwoLoops[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), C: T.Buffer((8, 64), "float32")):
    B = T.alloc_buffer((8, 64), "float32", scope="shared")
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                v, vi = T.axis.remap("SS", [bx, tx])
                B[v, vi] = A[v, vi]
        for i in range(HALF):
            for ty in T.thread_binding(OTHER, thread="threadIdx.x"):
                with T.block("C"):
                    v = T.axis.spatial(8, bx)
                    vi = T.axis.spatial(64, i * OTHER + ty)
                    C[v, vi] = B[v, 63 - vi]
)";

std::string TwoLoops(const std::string& half, const std::string& other) {
  std::string text = kTwoLoops;
  text.replace(text.find("HALF"), 4, half);
  for (size_t at; (at = text.find("OTHER")) != std::string::npos;) text.replace(at, 5, other);
  return text;
}

TEST(ThreadLaunch, OneNumberOfThreadsInAKernel) {
  EXPECT_THAT(RefutedOnGpu(TwoLoops("1", "64")), IsEmpty());
  EXPECT_THAT(
      RefutedOnGpu(TwoLoops("2", "32")),
      ElementsAre("thread launch: loops tx and ty of one kernel are bound to threadIdx.x with different extents, "
                  "64 and 32"));
}

TEST(ThreadLaunch, BlocksInsideOfThreads) {
  EXPECT_THAT(RefutedOnGpu(R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        for bx in T.thread_binding(8, thread="blockIdx.x"):
            with T.block("B"):
                v, vi = T.axis.remap("SS", [bx, tx])
                B[v, vi] = A[v, vi]
)"),
              ElementsAre("thread launch: loop bx, bound to blockIdx.x, lies inside of loop tx, bound to threadIdx.x"));
}

// A cluster has a number of blocks that the target can run together.
std::string Clusters(const std::string& blocks) {
  return Replaced(R"(
@T.prim_func
def main(A: T.Buffer((8, BLOCKS, 64), "float32"), B: T.Buffer((8, BLOCKS, 64), "float32")):
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for cx in T.thread_binding(BLOCKS, thread="clusterCtaIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    v, vc, vi = T.axis.remap("SSS", [bx, cx, tx])
                    B[v, vc, vi] = A[v, vc, vi]
)",
                  "BLOCKS", blocks);
}

TEST(ThreadLaunch, Clusters) {
  EXPECT_THAT(RefutedOnGpu(Clusters("8"), "cuda-sm90"), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Clusters("16"), "cuda-sm90"),
              ElementsAre("thread launch: the kernel has clusters of 16 blocks, cuda-sm90 allows 8"));
  EXPECT_THAT(RefutedOnGpu(Clusters("2")),
              ElementsAre("thread launch: the kernel has clusters of 2 blocks, cuda-sm80 has no clusters"));
}

TEST(ThreadLaunch, ClustersInsideOfThreads) {
  EXPECT_THAT(RefutedOnGpu(R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        for cx in T.thread_binding(8, thread="clusterCtaIdx.x"):
            with T.block("B"):
                v, vi = T.axis.remap("SS", [cx, tx])
                B[v, vi] = A[v, vi]
)",
                           "cuda-sm90"),
              ElementsAre("thread launch: loop cx, bound to clusterCtaIdx.x, lies inside of loop tx, bound to "
                          "threadIdx.x"));
}

}  // namespace
}  // namespace tilewright

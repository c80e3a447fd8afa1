// Writers that leave a part of what they declare as it was, and loops that are bound to the same threads.
#include "verify/regions/sure_writes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Findings(std::string_view text) {
  std::vector<std::string> findings;
  for (const Diagnostic& d : VerifyProgram(ParseFunctionOrDie(text)).diagnostics) {
    findings.push_back(std::string(d.check) + ": " + d.reason);
  }
  return findings;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// Too large to enumerate.
constexpr char kRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4096, 512), "float32"), C: T.Buffer((4096, 512), "float32")):
    B = T.alloc_buffer((4096, 512), "float32")
    for i in range(4096):
        with T.block("B"):
            vi = T.axis.spatial(4096, i)
            T.reads(A[vi, 0:512])
            T.writes(B[vi, 0:512])
            for j in range(512):
                B[vi, j] = A[vi, j]
    for i, j in T.grid(4096, 512):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
)";
constexpr char kNotAll[] =
    "region cover: block C reads B[vi, vj], which is not all written before: block B need not write all of "
    "B[vi, 0:512], which it declares";

TEST(SureWrites, AWriterThatLeavesElementsOut) {
  EXPECT_THAT(Findings(kRows), IsEmpty());
  EXPECT_THAT(Findings(Replaced(kRows, "range(512)", "range(511)")), ElementsAre(kNotAll));
  EXPECT_THAT(Findings(Replaced(kRows, "B[vi, j] = A[vi, j]", "if j < vi: B[vi, j] = A[vi, j]")), ElementsAre(kNotAll));
  EXPECT_THAT(Findings(Replaced(kRows, "B[vi, j] = A[vi, j]", "B[vi, j // 2] = A[vi, j]")), ElementsAre(kNotAll));
  // All of them written twice.
  EXPECT_THAT(Findings(Replaced(kRows, "B[vi, j] = A[vi, j]", "B[vi, 511 - (511 - j)] = A[vi, j]")), IsEmpty());
}

// The second writer has written as much as the reader's iteration comes to, not all that it will write.
TEST(SureWrites, WritersAroundAndBesideTheReader) {
  constexpr char kTwo[] = R"(
@T.prim_func
def main(A: T.Buffer((4096, 512), "float32"), C: T.Buffer((4096, 512), "float32")):
    B = T.alloc_buffer((4096, 512), "float32")
    for j in range(512):
        with T.block("B0"):
            vj = T.axis.spatial(512, j)
            B[0, vj] = A[0, vj]
    for i, j in T.grid(4095, 512):
        with T.block("B1"):
            vi = T.axis.spatial((1, 4096), i + 1)
            vj = T.axis.spatial(512, j)
            B[vi, vj] = A[vi, vj]
        with T.block("C"):
            vi = T.axis.spatial((1, 4096), i + 1)
            vj = T.axis.spatial(512, j)
            T.reads(B[0:4096, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + B[4096 - vi, vj]
)";
  EXPECT_THAT(Findings(kTwo),
              ElementsAre(HasSubstr("region cover: block C reads B[0:4096, vj], which is not all written before")));
  // In loops of its own it is.
  EXPECT_THAT(Findings(Replaced(kTwo, "        with T.block(\"C\")",
                                "    for i, j in T.grid(4095, 512):\n        with T.block(\"C\")")),
              IsEmpty());
}

TEST(SureWrites, PiecesSideBySide) {
  const std::string two = Replaced(kRows, "            for j in range(512):\n                B[vi, j] = A[vi, j]\n",
                                   "            for j in range(256):\n                B[vi, j] = A[vi, j]\n"
                                   "            for j in range(256):\n                B[vi, j + 256] = A[vi, j]\n");
  EXPECT_THAT(Findings(two), IsEmpty());
  EXPECT_THAT(Findings(Replaced(two, "j + 256] =", "j + 255] =")), ElementsAre(kNotAll));
}

constexpr char kNested[] = R"(
@T.prim_func
def main(A: T.Buffer((4096, 512), "float32"), C: T.Buffer((4096, 512), "float32")):
    B = T.alloc_buffer((4096, 512), "float32")
    for i in range(4096):
        with T.block("B"):
            vi = T.axis.spatial(4096, i)
            T.reads(A[vi, 0:512])
            T.writes(B[vi, 0:512])
            for j_0, j_1 in T.grid(128, 4):
                with T.block("B_i"):
                    vj = T.axis.spatial(512, j_0 * 4 + j_1)
                    T.where(j_0 * 4 + j_1 < 512)
                    B[vi, vj] = A[vi, vj]
    for i, j in T.grid(4096, 512):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
)";

TEST(SureWrites, NestedBlocks) {
  EXPECT_THAT(Findings(kNested), IsEmpty());
  EXPECT_THAT(Findings(Replaced(kNested, "< 512)", "< 512 and vi < 4095)")), ElementsAre(kNotAll));
  EXPECT_THAT(Findings(Replaced(kNested, "T.grid(128, 4)", "T.grid(127, 4)")), ElementsAre(kNotAll));
}

// 6 and 10 divide each other's loops nowhere: what the writer's iterator takes says that all is written.
TEST(SureWrites, IteratorsThatAreDividedOtherwiseThanTheirLoops) {
  constexpr char kDivided[] = R"(
@T.prim_func
def main(A: T.Buffer((120, 4096), "float32"), C: T.Buffer((2, 6, 10, 4096), "float32")):
    B = T.alloc_buffer((2, 6, 10, 4096), "float32")
    for i, j, k in T.grid(20, 6, 4096):
        with T.block("B"):
            v = T.axis.spatial(120, i * 6 + j)
            vk = T.axis.spatial(4096, k)
            B[v // 60, v % 60 // 10, v % 10, vk] = A[v, vk]
    for n, h, w, k in T.grid(2, 6, 10, 4096):
        with T.block("C"):
            vn, vh, vw, vk = T.axis.remap("SSSS", [n, h, w, k])
            C[vn, vh, vw, vk] = B[vn, vh, vw, vk]
)";
  EXPECT_THAT(Findings(kDivided), IsEmpty());
  const auto not_all = ElementsAre(HasSubstr("region cover: block C reads B[vn, vh, vw, vk]"));
  EXPECT_THAT(Findings(Replaced(kDivided, "T.grid(20,", "T.grid(19,")), not_all);
  EXPECT_THAT(Findings(Replaced(kDivided, "i * 6 + j)", "i * 5 + j)")), not_all);
  EXPECT_THAT(Findings(Replaced(kDivided, "vk = T.axis.spatial(4096, k)\n            B",
                                "vk = T.axis.spatial(4096, k)\n            T.where(i * 6 + j < 119)\n            B")),
              not_all);
}

// Loops that may run no iteration leave out what they enclose.
TEST(SureWrites, LoopsThatMayBeEmpty) {
  constexpr char kTriangle[] = R"(
@T.prim_func
def main(A: T.Buffer((4096, 512), "float32"), C: T.Buffer((4096,), "float32")):
    B = T.alloc_buffer((4096,), "float32")
    for i in range(4096):
        for j in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(4096, i)
                B[vi] = A[vi, 0]
        with T.block("C"):
            vi = T.axis.spatial(4096, i)
            C[vi] = B[vi]
)";
  EXPECT_THAT(Findings(kTriangle), IsEmpty());
  EXPECT_THAT(Findings(Replaced(kTriangle, "i + 1", "i")),
              ElementsAre("region cover: block C reads B[vi], which is not all written before"));
}

// A sum of n terms, which are none where n is 0, and who reads it.
constexpr char kSumOfSize[] = R"(
@T.prim_func
def main(a: T.handle, C: T.Buffer((8,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (8, n), "float32")
    S = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, n):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = S[vi]
)";
constexpr char kWhereNIsPositive[] =
    "region cover: block C reads S[vi], which is written before only where n is at least 1, as is assumed";

TEST(SureWrites, SizesThatMayBeZero) {
  const VerifyResult verified = VerifyProgram(ParseFunctionOrDie(kSumOfSize));
  EXPECT_EQ(verified.verdict(), Verdict::kAssumed);
  EXPECT_THAT(Findings(kSumOfSize), ElementsAre(kWhereNIsPositive));
  // Who reads runs only where n is positive.
  const std::string reader = R"(    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = S[vi]
)";
  EXPECT_THAT(Findings(Replaced(kSumOfSize, reader, R"(    for i, k in T.grid(8, n):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + S[vi] * A[vi, vk]
)")),
              IsEmpty());
  EXPECT_THAT(Findings(Replaced(kSumOfSize, reader, R"(    if 0 < n:
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = S[vi]
)")),
              IsEmpty());
  // The elements are set by a block of their own.
  EXPECT_THAT(Findings(Replaced(kSumOfSize, "    for i, k in T.grid(8, n):\n", R"(    for i in range(8):
        with T.block("start"):
            vi = T.axis.spatial(8, i)
            S[vi] = T.float32(1)
    for i, k in T.grid(8, n):
)")),
              IsEmpty());
}

// As many elements as iterations: none are read where none are written.
TEST(SureWrites, SizesOfWhatIsWritten) {
  constexpr char kCopy[] = R"(
@T.prim_func
def main(a: T.handle, c: T.handle):
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    C = T.match_buffer(c, (m, n), "float32")
    S = T.alloc_buffer((m, n), "float32")
    for f in range(m * n):
        with T.block("S"):
            v = T.axis.spatial(m * n, f)
            S[v // n, v % n] = A[v // n, v % n]
    for i, j in T.grid(m, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi, vj]
)";
  EXPECT_THAT(Findings(kCopy), IsEmpty());
  EXPECT_THAT(Findings(Replaced(kCopy, R"(f in range(m * n):
        with T.block("S"):
            v = T.axis.spatial(m * n, f)
            S[v // n, v % n] = A[v // n, v % n])",
                                R"(i_0, j, i_1 in T.grid((m + 15) // 16, n, 16):
        with T.block("S"):
            vi = T.axis.spatial(m, i_0 * 16 + i_1)
            vj = T.axis.spatial(n, j)
            T.where(i_0 * 16 + i_1 < m)
            S[vi, vj] = A[vi, vj])")),
              IsEmpty());
}

// Pieces that overlap reach further than their number times their distance.
TEST(SureWrites, PiecesThatOverlapInALoopThatMayBeEmpty) {
  constexpr char kPieces[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle, C: T.Buffer((1,), "float32")):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, 5), "float32")
    B = T.match_buffer(b, (m,), "float32")
    S = T.alloc_buffer((n * 4 + 1,), "float32")
    for r, i in T.grid(m, n):
        with T.block("S"):
            vr = T.axis.opaque(m, r)
            vi = T.axis.opaque(n, i)
            T.reads(A[vi, 0:5], B[vr])
            T.writes(S[vi * 4:vi * 4 + 5])
            for j in range(5):
                S[vi * 4 + j] = A[vi, j] + B[vr]
    for i in range(1):
        with T.block("C"):
            vi = T.axis.spatial(1, i)
            C[vi] = S[vi]
)";
  EXPECT_THAT(Findings(kPieces),
              ElementsAre("region cover: block C reads S[vi], which is written before only where m and n are at least "
                          "1, as is assumed"));
}

// Both loops of the copy take the index of the thread: only its diagonal is copied.
constexpr char kDiagonal[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 4, 4), "float32"), C: T.Buffer((64, 4, 4), "float32")):
    S = T.alloc_buffer((64, 4, 4), "float32", scope="shared")
    for b in range(64):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("S"):
                v, vi = T.axis.remap("SS", [b, i])
                T.reads(A[v, vi, 0:4])
                T.writes(S[v, vi, 0:4])
                for j in T.thread_binding(4, thread="threadIdx.x"):
                    with T.block("S_i"):
                        vj = T.axis.spatial(4, j)
                        S[v, vi, vj] = A[v, vi, vj]
    for b, i, j in T.grid(64, 4, 4):
        with T.block("C"):
            v, vi, vj = T.axis.remap("SSS", [b, i, j])
            C[v, vi, vj] = S[v, vi, vj]
)";
constexpr char kOneIteration[] =
    "bindings: loop j takes the index of its thread, on which iterator vi of block S depends too, so that each "
    "instance "
    "of the block runs one of its iterations";

TEST(SureWrites, NestedLoopsOverTheSameThread) {
  EXPECT_THAT(Findings(kDiagonal), testing::Contains(kOneIteration));
  EXPECT_THAT(
      Findings(Replaced(kDiagonal, "for j in T.thread_binding(4, thread=\"threadIdx.x\")", "for j in range(4)")),
      IsEmpty());
  EXPECT_THAT(Findings(Replaced(kDiagonal, "for j in T.thread_binding(4, thread=\"threadIdx.x\")",
                                "for j in T.thread_binding(4, thread=\"threadIdx.y\")")),
              IsEmpty());
  // Without the inner block.
  EXPECT_THAT(Findings(Replaced(kDiagonal,
                                "                    with T.block(\"S_i\"):\n"
                                "                        vj = T.axis.spatial(4, j)\n"
                                "                        S[v, vi, vj] = A[v, vi, vj]\n",
                                "                    S[v, vi, j] = A[v, vi, j]\n")),
              testing::Contains(kOneIteration));
}

// Two loops of one nest that feed one iterator.
TEST(SureWrites, OneIteratorOfTwoLoopsOverTheSameThread) {
  constexpr char kSplit[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i_0 in T.thread_binding(4, thread="threadIdx.x"):
        for i_1 in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(16, i_0 * 4 + i_1)
                C[vi] = A[vi]
)";
  EXPECT_THAT(
      Findings(kSplit),
      ElementsAre("bindings: block C: it depends on loops i_0 and i_1, which both take the index of their thread "
                  "in threadIdx.x"));
  EXPECT_THAT(Findings(Replaced(kSplit, "\"threadIdx.x\"", "\"threadIdx.y\"")), IsEmpty());
}

TEST(SureWrites, StoresInLoopsOverTheSameThread) {
  constexpr char kStores[] = R"(
@T.prim_func
def main(A: T.Buffer((4096, 8, 8), "float32"), C: T.Buffer((4096, 8, 8), "float32")):
    S = T.alloc_buffer((4096, 8, 8), "float32", scope="shared")
    for b in range(4096):
        with T.block("S"):
            v = T.axis.spatial(4096, b)
            T.reads(A[v, 0:8, 0:8])
            T.writes(S[v, 0:8, 0:8])
            for i in T.thread_binding(8, thread="threadIdx.y"):
                for j in T.thread_binding(8, thread="threadIdx.x"):
                    S[v, i, j] = A[v, i, j]
    for b, i, j in T.grid(4096, 8, 8):
        with T.block("C"):
            v, vi, vj = T.axis.remap("SSS", [b, i, j])
            C[v, vi, vj] = S[v, vi, vj]
)";
  EXPECT_THAT(Findings(kStores), IsEmpty());
  EXPECT_THAT(Findings(Replaced(kStores, "threadIdx.y", "threadIdx.x")),
              ElementsAre(HasSubstr("block S need not write all of S[v, 0:8, 0:8], which it declares")));
}

// A copy that all threads make together, inside of a block of one thread that does not say which.
TEST(SureWrites, CooperativeCopyInABlockOfThreads) {
  EXPECT_THAT(Findings(R"(
@T.prim_func
def main(A: T.Buffer((4096, 64), "float32"), C: T.Buffer((4096, 64), "float32")):
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("C"):
                v, vi = T.axis.remap("SS", [b, t])
                T.reads(A[v, 0:64])
                T.writes(C[v, vi])
                S = T.alloc_buffer((64,), "float32", scope="shared")
                for u in T.thread_binding(64, thread="threadIdx.x"):
                    with T.block("S"):
                        vu = T.axis.spatial(64, u)
                        S[vu] = A[v, vu]
                with T.block("C_i"):
                    C[v, vi] = S[63 - vi]
)"),
              IsEmpty());
}

// Each thread has its own L, of which it wrote one element.
constexpr char kOwn[] = R"(
@T.prim_func
def main(A: T.Buffer((4096, 64), "float32"), C: T.Buffer((4096, 64), "float32")):
    L = T.alloc_buffer((4096, 64), "float32", scope="local")
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("L"):
                v, vi = T.axis.remap("SS", [b, t])
                L[v, vi] = A[v, vi]
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("C"):
                v, vi = T.axis.remap("SS", [b, t])
                C[v, vi] = L[v, vi]
)";

TEST(SureWrites, MemoryOfThreads) {
  EXPECT_THAT(Findings(kOwn), IsEmpty());
  EXPECT_THAT(Findings(Replaced(kOwn, "= L[v, vi]", "= L[v, 63 - vi]")),
              ElementsAre(HasSubstr("region cover: block C reads L[v, 63 - vi], which is not all written before"),
                          HasSubstr("races: each index of threadIdx.x has a copy of L (scope local)")));
}

// Global memory that a thread allocates is its own, too.
TEST(SureWrites, GlobalMemoryThatThreadsAllocate) {
  constexpr char kCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((4096, 64), "float32"), C: T.Buffer((4096, 64), "float32")):
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("C"):
                v, vi = T.axis.remap("SS", [b, t])
                T.reads(A[v, 0:64])
                T.writes(C[v, vi])
                S = T.alloc_buffer((64,), "float32", scope="shared")
                for u in T.thread_binding(64, thread="threadIdx.x"):
                    with T.block("S"):
                        vu = T.axis.spatial(64, u)
                        S[vu] = A[v, vu]
                with T.block("C_i"):
                    C[v, vi] = S[63 - vi]
)";
  EXPECT_THAT(Findings(kCopy), IsEmpty());
  EXPECT_THAT(
      Findings(Replaced(kCopy, "shared", "global")),
      testing::Contains(HasSubstr("region cover: block C_i reads S[63 - vi], which is not all written before")));
}

// Whatever the condition says, one of the branches writes.
TEST(SureWrites, BothBranchesOfACondition) {
  const std::string rows =
      Replaced(kRows, "                B[vi, j] = A[vi, j]\n", R"(                if A[vi, j] > T.float32(0):
                    B[vi, j] = A[vi, j]
                else:
                    B[vi, j] = T.float32(0)
)");
  EXPECT_THAT(Findings(rows), IsEmpty());
  EXPECT_THAT(Findings(Replaced(rows, "B[vi, j] = T.float32(0)", "B[vi, 511 - j] = T.float32(0)")),
              ElementsAre(kNotAll));
  EXPECT_THAT(Findings(Replaced(rows, "B[vi, j] = T.float32(0)", "if j > 0: B[vi, j] = T.float32(0)")),
              ElementsAre(kNotAll));
  const std::string loops =
      Replaced(kRows, "            for j in range(512):\n                B[vi, j] = A[vi, j]\n", R"(
            if A[vi, 0] > T.float32(0):
                for j in range(512):
                    B[vi, j] = A[vi, j]
            else:
                for j in range(512):
                    B[vi, j] = T.float32(0)
)");
  EXPECT_THAT(Findings(loops), IsEmpty());
  EXPECT_THAT(Findings(Replaced(loops, "range(512):\n                    B[vi, j] = T.float32(0)",
                                "range(511):\n                    B[vi, j] = T.float32(0)")),
              ElementsAre(kNotAll));
}

}  // namespace
}  // namespace tilewright

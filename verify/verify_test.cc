#include "verify/verify.h"

#include <gtest/gtest.h>

#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "verify/testing.h"

namespace tilewright {
namespace {

using testing::Findings;
using testing::Texts;

TEST(Verify, AcceptsTheStandardOperators) {
  const Function operators[] = {
      ops::Matmul(7, 13, 5), ops::BatchMatmul(2, 4, 6, 8),
      ops::Conv({.spatial = {9, 9}, .in_channels = 4, .out_channels = 6, .windows = ops::Same({3, 2, 1}, 2)}),
      ops::Conv({.spatial = {8}, .in_channels = 4, .out_channels = 6, .windows = {{3}}, .groups = 2})};
  for (const Function& op : operators) {
    VerifyResult result = VerifyProgram(op);
    EXPECT_EQ(result.diagnostics.size(), 0u) << Render(result, op);
  }
}

// The named index of each iteration is its own.
TEST(Verify, LooksThroughNames) {
  constexpr std::string_view kNamed = R"(
@T.prim_func
def main(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):
    for i in T.parallel(4):
        for j in range(10):
            at: T.int32 = i * 10 + j
            B[at] = A[at] * T.float32(2)
)";
  EXPECT_EQ(Findings(kNamed.data()), Texts{});
  std::string shared(kNamed);
  shared.replace(shared.find("i * 10 + j"), 10, "j");
  EXPECT_FALSE(Findings(shared.c_str()).empty());
  // What the name stood for is not what memory holds now.
  EXPECT_FALSE(Findings(R"(
@T.prim_func
def main(P: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        at: T.int32 = P[i]
        P[i] = at + 1
        B[at] = T.float32(0)
)")
                   .empty());
}

TEST(Verify, ASumMayListItsOutputAmongItsReads) {
  constexpr std::string_view kSum = R"(
@T.prim_func
def main(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096,), "float32")):
    S = T.alloc_buffer((4096,), "float32")
    for i, k in T.grid(4096, 4096):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(S[vi], A[vi, vk])
            T.writes(S[vi])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in range(4096):
        with T.block("B"):
            vi = T.axis.spatial(4096, i)
            B[vi] = S[vi]
)";
  EXPECT_EQ(Findings(kSum.data()), Texts{});
  std::string without_init(kSum);
  without_init.replace(without_init.find("            with T.init():"), 64, "");
  EXPECT_FALSE(Findings(without_init.c_str()).empty());
}

// A Select whose values are loaded from what may be outside evaluates one of them.
TEST(Verify, SelectGuardsLoads) {
  constexpr std::string_view kRotated = R"(
@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for j in range(128):
        with T.block("B"):
            vj = T.axis.spatial(128, j)
            B[vj] = T.Select(64 <= vj, A[vj - 64], A[vj + 64] * T.float32(-1))
)";
  EXPECT_EQ(Findings(kRotated.data()), Texts{});
  std::string wrong(kRotated);
  wrong.replace(wrong.find("64 <= vj"), 8, "63 <= vj");
  EXPECT_FALSE(Findings(wrong.c_str()).empty());
}

TEST(Verify, AcceptsASplitWithAPredicate) {
  EXPECT_EQ(Findings(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i_0, i_1 in T.grid(8, 4):
        with T.block("B"):
            vi = T.axis.spatial(30, i_0 * 4 + i_1)
            T.where(i_0 * 4 + i_1 < 30)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi]
)"),
            Texts{});
}

TEST(Verify, RefusesABindingOutsideOfItsDomain) {
  EXPECT_EQ(
      Findings(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i_0, i_1 in T.grid(8, 4):
        with T.block("B"):
            vi = T.axis.spatial(30, i_0 * 4 + i_1)
            B[vi] = A[vi]
)"),
      Texts{"bindings: block B: iterator vi is bound to i_0 * 4 + i_1, which is not inside of its domain [0, 30)"});
}

TEST(Verify, RefusesDependentIterators) {
  Texts findings = Findings(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(8, i)
            B[vi, vj] = A[vi, vj]
)");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rfind("bindings: block B: the binding of iterator ", 0), 0u) << findings[0];
}

TEST(Verify, RefusesASpatialIteratorThatIsNone) {
  Texts findings = Findings(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi // 2] = A[vi]
)");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rfind("spatial iterators: block B: instances that differ in a spatial iterator may write the "
                              "same element of B[vi // 2]",
                              0),
            0u)
      << findings[0];
}

constexpr char kTwoStages[] = R"(
@T.prim_func
def main(A: T.Buffer((72,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((72,), "float32")
    for i in range(16):
        for j in range(PRODUCED):
            with T.block("B"):
                vi = T.axis.spatial(72, i * 4 + j)
                B[vi] = A[vi]
        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(64, i * 4 + j)
                C[vi] = B[vi] + B[vi + 1]
)";

TEST(Verify, RegionCover) {
  auto with = [](const char* produced) {
    std::string text(kTwoStages);
    text.replace(text.find("PRODUCED"), 8, produced);
    return Findings(text.c_str());
  };
  EXPECT_EQ(with("5"), Texts{});
  Texts findings = with("4");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rfind("region cover: block C reads B[vi:vi + 2], which is not all written before", 0), 0u)
      << findings[0];
}

TEST(Verify, InstancesThatRepeatEachOther) {
  const auto tiles = [](const std::string& value, const std::string& loop) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((66,), "float32"), B: T.Buffer((66,), "float32")):
    for i in LOOP(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            for j in range(6):
                B[vi * 4 + j] = VALUE
)";
    text.replace(text.find("LOOP"), 4, loop);
    text.replace(text.find("VALUE"), 5, value);
    return Findings(text.c_str());
  };
  EXPECT_EQ(tiles("A[vi * 4 + j]", "range"), Texts{});
  // At the same time, or with other values, they may not.
  ASSERT_EQ(tiles("A[vi * 4 + j]", "T.parallel").size(), 1u);
  EXPECT_EQ(tiles("A[vi * 4 + j]", "T.parallel")[0].rfind("races: iterations of the parallel loop i ", 0), 0u);
  ASSERT_EQ(tiles("A[vi]", "range").size(), 1u);
  EXPECT_EQ(tiles("A[vi]", "range")[0].rfind("spatial iterators: block B: ", 0), 0u);
  // Each of two stores writes a value of its element, not the same one.
  const std::string two = R"(A[vi * 4 + j]
                B[vi * 4 + j] = A[vi * 4 + j] * T.float32(2))";
  EXPECT_EQ(tiles(two, "range")[0].rfind("spatial iterators: block B: ", 0), 0u);
}

// Each block of threads copies a tile with borders, of 36 elements by 8 threads; where it begins in both dimensions the
// number of the block says.
TEST(Verify, TilesWithBordersOfFusedBlocks) {
  const auto copy = [](const std::string& second) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((10, 10), "float32"), D: T.Buffer((4, 8), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("block"):
            vb = T.axis.spatial(4, b)
            T.reads(A[0:10, 0:10])
            T.writes(D[vb, 0:8])
            S = T.alloc_buffer((10, 10), "float32", scope="shared")
            for t in T.thread_binding(8, thread="threadIdx.x"):
                for f, u in T.grid(4, 5):
                    for t1 in T.thread_binding(8, thread="threadIdx.x"):
                        with T.block("S"):
                            vi = T.axis.spatial(10, f // 2 * 4 + (u * 8 + t1) // 6)
                            vj = T.axis.spatial(10, SECOND * 4 + (u * 8 + t1) % 6)
                            T.where(u * 8 + t1 < 36)
                            S[vi, vj] = A[vi, vj]
                with T.block("D"):
                    vt = T.axis.spatial(8, t)
                    D[vb, vt] = A[0, 0]
)";
    text.replace(text.find("SECOND"), 6, second);
    return Findings(text.c_str());
  };
  EXPECT_EQ(copy("f % 2"), Texts{});
  EXPECT_EQ(copy("f // 2"), Texts{"bindings: block S: the binding of iterator vi, f // 2 * 4 + (u * 8 + t) // 6: "
                                  "the parts of the index overlap or leave gaps"});
}

// The first iteration fills all rows of the buffer, later ones replace one. Too large to be enumerated.
TEST(Verify, RollingBuffersAreFilledByTheFirstIteration) {
  const auto roll = [](const std::string& rows) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((34, 9999), "float32"), C: T.Buffer((32, 9999), "float32")):
    B = T.alloc_buffer((3, 9999), "float32")
    for o in T.parallel(4):
        for i in range(8):
            for r, j in T.grid(ROWS, 9999):
                with T.block("B"):
                    vi = T.axis.opaque(34, o * 8 + i + r)
                    vj = T.axis.spatial(9999, j)
                    T.where(i < 1 or 2 <= r)
                    B[vi % 3, vj] = A[vi, vj]
            for j in range(9999):
                with T.block("C"):
                    vi = T.axis.opaque(32, o * 8 + i)
                    vj = T.axis.spatial(9999, j)
                    C[vi, vj] = B[vi % 3, vj] + B[(vi + 2) % 3, vj]
)";
    text.replace(text.find("ROWS"), 4, rows);
    return Findings(text.c_str());
  };
  EXPECT_EQ(roll("3"), Texts{});
  ASSERT_EQ(roll("2").size(), 1u);
  EXPECT_EQ(roll("2")[0].rfind("region cover: block C reads B[", 0), 0u) << roll("2")[0];
}

// The second loop starts no threads: each takes its own index for both iterators.
TEST(Verify, TwoLoopsOverTheSameThreads) {
  const Texts findings = Findings(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
)");
  EXPECT_EQ(findings,
            Texts{"bindings: block B: it depends on loops i and j, which both take the index of their thread in "
                  "threadIdx.x"});
}

TEST(Verify, TilesWithBordersWhoseLoopsAreFused) {
  EXPECT_EQ(Findings(R"(
@T.prim_func
def main(A: T.Buffer((10, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((10, 6), "float32")
    for i in range(4):
        for f in range(24):
            with T.block("B"):
                vi = T.axis.spatial(10, i * 2 + f // 6)
                vj = T.axis.spatial(6, f % 6)
                B[vi, 5 - vj] = A[vi, vj]
        for j, k in T.grid(2, 6):
            with T.block("C"):
                vi = T.axis.spatial(8, i * 2 + j)
                vk = T.axis.spatial(6, k)
                C[vi, vk] = B[vi, vk] + B[vi + 2, vk]
)"),
            Texts{});
}

// Every other iteration keeps what the next one needs: no box says so, but the program is small enough to enumerate.
TEST(Verify, WhatRulesDoNotSeeIsEnumerated) {
  const auto skipping = [](const std::string& every) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((20,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((20,), "float32")
    for i in range(16):
        for j in range(5):
            with T.block("B"):
                vi = T.axis.opaque(20, i + j)
                T.where(i % EVERY == 0)
                B[vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + B[vi + 3]
)";
    return Findings(text.replace(text.find("EVERY"), 5, every).c_str());
  };
  EXPECT_EQ(skipping("2"), Texts{});
  ASSERT_EQ(skipping("3").size(), 1u);
  EXPECT_EQ(skipping("3")[0].rfind("region cover: block C reads ", 0), 0u) << skipping("3")[0];
}

TEST(Verify, ReadingWhatNobodyWrites) {
  EXPECT_EQ(Findings(R"(
@T.prim_func
def main(C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
)"),
            Texts{"region cover: block C reads B[vi], which is not all written before: nothing before it writes B"});
}

TEST(Verify, BlocksThatWriteHalvesCoverTogether) {
  EXPECT_EQ(Findings(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(8):
        with T.block("low"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("high"):
            vi = T.axis.spatial(8, i)
            B[vi + 8] = A[vi + 8]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi]
)"),
            Texts{});
}

// An image's places as digits of one number, of which the last ones are beyond the image.
TEST(Verify, DigitsBySizesTellInstancesApart) {
  const auto writing = [](const std::string& row) {
    std::string text = R"(
@T.prim_func
def main(x: T.handle, y: T.handle):
    n = T.int64()
    h = T.int64()
    w = T.int64()
    X = T.match_buffer(x, (n * h * w,), "float32")
    Y = T.match_buffer(y, (n, h, w), "float32")
    for i in T.parallel((n * h * w + 31) // 32 * 32):
        with T.block("Y"):
            v = T.axis.spatial((n * h * w + 31) // 32 * 32, i)
            T.where(i < n * h * w)
            Y[v // (h * w), ROW, v % w] = X[v]
)";
    return Findings(text.replace(text.find("ROW"), 3, row).c_str()).empty();
  };
  EXPECT_TRUE(writing("v // w % h"));
  EXPECT_TRUE(writing("v % (h * w) // w"));
  EXPECT_FALSE(writing("v // h % h"));
}

// Memory that is used in a parallel loop only is each iteration's own.
TEST(Verify, IterationsHaveLocalBuffers) {
  const auto counting = [](const std::string& before) {
    std::string text = R"(
@T.prim_func
def main(n: T.Buffer((4,), "int32"), y: T.Buffer((4, 20), "float32")):
    with T.block("rows"):
        T.reads(n[0:4])
        T.writes(y[0:4, 0:20])
        length = T.alloc_buffer((1,), "int32", scope="local")
        BEFORE
        for v in T.parallel(4):
            length[0] = n[v]
            for i in range(20):
                y[v, i] = T.if_then_else(i < length[0], T.float32(1), T.float32(0))
)";
    return Findings(text.replace(text.find("BEFORE"), 6, before).c_str());
  };
  EXPECT_EQ(counting("T.evaluate(0)"), Texts{});
  EXPECT_FALSE(counting("length[0] = 0").empty());
}

}  // namespace
}  // namespace tilewright

// Symbolic, wide and unknown indices: what is proven, what is assumed and said, what stays refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

struct Found {
  std::vector<std::string> assumed, refused;
};

Found Check(const std::string& text) {
  Found found;
  for (const Diagnostic& d : VerifyProgram(ParseOrDie(text).functions()[0]).diagnostics) {
    (d.verdict == Verdict::kAssumed ? found.assumed : found.refused).push_back(std::string(d.check) + ": " + d.reason);
  }
  return found;
}
using Texts = std::vector<std::string>;

// The program with one part written differently.
std::string With(std::string text, const std::string& part, const std::string& other) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), other);
}

constexpr char kFused[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    h, w = T.int64(), T.int64()
    A = T.match_buffer(a, (h, w), "float32")
    B = T.match_buffer(b, (h, w), "float32")
    for f in T.parallel(h * w):
        with T.block("B"):
            vi = T.axis.spatial(h, f // w)
            vj = T.axis.spatial(w, f % w)
            B[vi, vj] = A[vi, vj]
)";

TEST(Indices, DigitsOfAFusedSymbolicLoopAreInside) {
  EXPECT_EQ(Check(kFused).refused, Texts{});
  EXPECT_FALSE(Check(With(kFused, "f % w", "f % h")).refused.empty());
  EXPECT_FALSE(Check(With(kFused, "f // w", "f // h")).refused.empty());
  EXPECT_FALSE(Check(With(kFused, "T.parallel(h * w)", "T.parallel(h * w + T.int64(1))")).refused.empty());
}

TEST(Indices, DigitsOfThreadsAreToldApartOverTheGrid) {
  const std::string threads = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 17, 16), "float32")
    B = T.match_buffer(b, (n, 16, 17), "float32")
    for o in T.thread_binding((n * 272 + 127) // 128, thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(n, (o * 128 + t) // 272)
                vj = T.axis.spatial(17, (o * 128 + t) % 272 // 16)
                vk = T.axis.spatial(16, (o * 128 + t) % 16)
                T.where(o * 128 + t < n * 272)
                B[vi, vk, vj] = A[vi, vj, vk]
)";
  EXPECT_EQ(Check(threads).refused, Texts{});
  EXPECT_FALSE(Check(With(threads, "B[vi, vk, vj]", "B[vi, vk, 0]")).refused.empty());
}

TEST(Indices, PaddedRowsAreDividedWithoutGaps) {
  const std::string padded = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n * m,), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i in range((n * m + T.int64(31)) // T.int64(32) * T.int64(32)):
        with T.block("B"):
            vi = T.axis.spatial((n * m + T.int64(31)) // T.int64(32) * T.int64(32), i)
            T.where(i < n * m)
            B[vi // m, vi % m] = A[vi]
)";
  for (const std::string& refusal : Check(padded).refused) EXPECT_FALSE(refusal.starts_with("spatial")) << refusal;
}

TEST(Indices, InitAndUpdateOfOneThreadMeetOnlyThere) {
  const std::string sums = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m, 8), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for o in T.thread_binding((n * m + T.int64(31)) // T.int64(32), thread="blockIdx.x"):
        for t in T.thread_binding(T.int64(32), thread="threadIdx.x"):
            with T.block("B_init"):
                vi = T.axis.spatial(n, (o * T.int64(32) + t) // m)
                vj = T.axis.spatial(m, (o * T.int64(32) + t) % m)
                T.where(o * T.int64(32) + t < n * m)
                B[vi, vj] = T.float32(0)
            for k in range(8):
                with T.block("B_update"):
                    vi = T.axis.spatial(n, (o * T.int64(32) + t) // m)
                    vj = T.axis.spatial(m, (o * T.int64(32) + t) % m)
                    vk = T.axis.reduce(8, k)
                    T.where(o * T.int64(32) + t < n * m)
                    T.reads(B[vi, vj], A[vi, vj, vk])
                    T.writes(B[vi, vj])
                    B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
)";
  EXPECT_EQ(Check(sums).refused, Texts{});
}

TEST(Indices, CastsOfLoopsAreLoops) {
  const std::string lanes = R"(
@T.prim_func
def main(A: T.Buffer((T.int64(64), T.int64(64)), "float32"), B: T.Buffer((T.int64(64), T.int64(64)), "float32")):
    for i in range(T.int64(64)):
        for v in T.parallel(4):
            for l in T.vectorized(16):
                with T.block("B"):
                    vi = T.axis.spatial(T.int64(64), i)
                    vj = T.axis.spatial(T.int64(64), T.Cast("int64", v) * T.int64(16) + T.Cast("int64", l))
                    B[vi, vj] = A[vi, vj]
)";
  EXPECT_EQ(Check(lanes).refused, Texts{});
  EXPECT_FALSE(Check(With(lanes, "T.int64(16)", "T.int64(15)")).refused.empty());
}

TEST(Indices, FirstAndLastElementsAreAssumedToBeThere) {
  const std::string last = R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((2, 8), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (2, n, 8), "float32")
    for i, j in T.grid(2, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, n - 1, vj]
)";
  const Found found = Check(last);
  EXPECT_EQ(found.refused, Texts{});
  EXPECT_EQ(found.assumed, Texts{"access bounds: block B reads A[vi, n - T.int64(1), vj], which is taken to have "
                                 "elements in dimension 1, [0, n)"});
  EXPECT_FALSE(Check(With(last, "n - 1", "n")).refused.empty());
  EXPECT_FALSE(Check(With(last, "n - 1", "n - 2")).refused.empty());
}

TEST(Indices, PlacesThatScalarsNameAreAssumed) {
  const std::string pages = R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), source: T.int64, B: T.Buffer((16,), "float32")):
    for j in range(16):
        with T.block("B"):
            vj = T.axis.spatial(16, j)
            B[vj] = A[source, vj]
)";
  const Found found = Check(pages);
  EXPECT_EQ(found.refused, Texts{});
  EXPECT_EQ(found.assumed.size(), 1u);
  EXPECT_FALSE(Check(With(pages, "A[source, vj]", "A[source, vj + 1]")).refused.empty());
}

TEST(Indices, StoresThroughTablesAreAssumedToDiffer) {
  const std::string scatter = R"(
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), P: T.Buffer((6,), "int32"), B: T.Buffer((6, 4), "float32")):
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj], P[vi])
            T.writes(B[P[vi], vj])
            B[P[vi], vj] = A[vi, vj]
)";
  const Found found = Check(scatter);
  EXPECT_EQ(found.refused, Texts{});
  EXPECT_EQ(found.assumed, (Texts{"spatial iterators: block B writes B[P[vi], vj], whose places are taken to differ "
                                  "between instances",
                                  "access bounds: block B writes B[P[vi], vj], whose place is taken to be inside of "
                                  "dimension 0, [0, 6)"}));
  EXPECT_FALSE(Check(With(scatter, "T.writes(B[P[vi], vj])", "T.writes(B[vi, vj])")).refused.empty());
  EXPECT_FALSE(Check(With(scatter, "B[P[vi], vj] = A", "B[P[vi], 4] = A")).refused.empty());
}

}  // namespace
}  // namespace tilewright

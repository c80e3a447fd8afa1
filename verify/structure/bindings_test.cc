#include "verify/structure/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Sums over rows that lie one after the other, each with a loop of its own length.
std::vector<std::string> Findings(const std::string& extent, const std::string& binding) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), P: T.Buffer((9,), "int32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            T.reads(P[vi:vi + 2], A[0:64])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            for j in range()" + extent + R"():
                with T.block("sum"):
                    vj = T.axis.reduce(64, )" + binding +
                                               R"()
                    T.reads(C[vi], A[P[vi] + vj], P[vi])
                    T.writes(C[vi])
                    C[vi] = C[vi] + A[P[vi] + vj]
)");
  std::vector<std::string> findings;
  for (const Diagnostic& d : VerifyProgram(function).diagnostics) {
    findings.push_back((d.verdict == Verdict::kAssumed ? "assumed: " : "refused: ") + d.reason);
  }
  return findings;
}

TEST(Bindings, MemoryDecidesHowFarALoopRuns) {
  EXPECT_THAT(
      Findings("P[vi + 1] - P[vi]", "j"),
      Contains("assumed: block sum: iterator vj is bound to j, which is taken to be inside of its domain [0, 64)"));
  EXPECT_THAT(Findings("P[vi + 1] - P[vi]", "j"), Not(Contains(HasSubstr("refused"))));
  EXPECT_THAT(Findings("64", "j"), Not(Contains(HasSubstr("its domain"))));
}

TEST(Bindings, OutsideWhateverMemoryHolds) {
  const auto refused = Contains(HasSubstr("refused: block sum: iterator vj is bound to j"));
  EXPECT_THAT(Findings("65", "j"), refused);
  EXPECT_THAT(Findings("P[vi + 1] - P[vi]", "j + 64"), refused);
  EXPECT_THAT(Findings("P[vi + 1] - P[vi]", "j - 1"), refused);
}

// Rows of experts: P holds where those of each begin.
std::vector<std::string> FindingsOfRows(const std::string& row) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((14,), "float32"), P: T.Buffer((4,), "int32"), Y: T.Buffer((14,), "float32")):
    for e in range(3):
        for t in range(P[e + 1] - P[e]):
            with T.block("y"):
                ve = T.axis.opaque(3, e)
                vt = T.axis.spatial(14, )" + row +
                                               R"()
                Y[vt] = X[vt] * T.cast(ve, "float32")
)");
  std::vector<std::string> findings;
  for (const Diagnostic& d : VerifyProgram(function).diagnostics) {
    findings.push_back((d.verdict == Verdict::kAssumed ? "assumed: " : "refused: ") + d.reason);
  }
  return findings;
}

TEST(Bindings, MemoryGivesTheValue) {
  EXPECT_THAT(
      FindingsOfRows("P[e] + t"),
      Contains(
          "assumed: block y: iterator vt is bound to P[e] + t, which is taken to be inside of its domain [0, 14)"));
  EXPECT_THAT(FindingsOfRows("P[e] + t"), Not(Contains(HasSubstr("refused"))));
  EXPECT_THAT(FindingsOfRows("T.max(P[e], 0) + t + 14"), Contains(HasSubstr("refused: block y: iterator vt")));
  EXPECT_THAT(FindingsOfRows("T.min(P[e], 0) - 1"), Contains(HasSubstr("refused: block y: iterator vt")));
}

// A part of a tile loop that was partitioned, with `length` of its 4 iterations.
bool RunsOnce(const std::string& length, const std::string& extent) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((m, k), "float32"), C: T.Buffer((m,), "float32"), m: T.int32, k: T.int32):
    for i, k0, k1 in T.grid(m, (k + 3) // 4, )" +
                                               length + R"():
        with T.block("C"):
            vi = T.axis.spatial(m, i)
            vk = T.axis.reduce()" + extent + R"(, k0 * 4 + k1)
            T.where(k0 * 4 + k1 < k)
            C[vi] = C[vi] + A[vi, vk]
)");
  std::unordered_set<const BlockNode*> repeating;
  return CheckBindings(function, &repeating).empty() && repeating.empty();
}

TEST(Bindings, GapsOfPartitionedLoops) {
  EXPECT_TRUE(RunsOnce("4", "k"));
  EXPECT_TRUE(RunsOnce("2", "k"));
  EXPECT_TRUE(RunsOnce("1", "k"));
  // Tiles that overlap add elements twice.
  EXPECT_FALSE(RunsOnce("5", "k"));
  EXPECT_FALSE(RunsOnce("2", "k - 1"));
}

// One loop over the elements of an image with a border, of which blocks of 1024 threads take a part each.
bool DigitsAreInside(const std::string& width) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(x: T.handle, y: T.handle):
    b, h, w = T.int64(), T.int64(), T.int64()
    X = T.match_buffer(x, (b, 8, h, w), "float32")
    Y = T.match_buffer(y, (b, 8, h + 3, w + 2), "float32")
    for f0 in T.thread_binding((b * (h + 3) * (w + 2) * 8 + 1023) // 1024, thread="blockIdx.x"):
        for f1 in T.thread_binding(1024, thread="threadIdx.x"):
            with T.block("Y"):
                v0 = T.axis.spatial(b, (f0 * 1024 + f1) // ((h + 3) * (w + 2) * 8))
                v1 = T.axis.spatial(8, (f0 * 1024 + f1) % ((h + 3) * (w + 2) * 8) // ((h + 3) * (w + 2)))
                v2 = T.axis.spatial(h + 3, (f0 * 1024 + f1) % ((h + 3) * (w + 2)) // ()" +
                                               width + R"())
                v3 = T.axis.spatial(w + 2, (f0 * 1024 + f1) % (w + 2))
                T.where(f0 * 1024 + f1 < b * (h + 3) * (w + 2) * 8)
                Y[v0, v1, v2, v3] = T.float32(1)
)");
  return CheckBindings(function).empty();
}

TEST(Bindings, DigitsByExtentsThatAreSums) {
  EXPECT_TRUE(DigitsAreInside("w + 2"));
  EXPECT_FALSE(DigitsAreInside("w + 1"));
}

// A quotient by a size that may be any number: the condition says that it is positive where the block runs.
TEST(Bindings, QuotientsThatTheConditionBounds) {
  const auto is_inside = [](const std::string& condition) {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(x: T.handle, n: T.int32):
    X = T.match_buffer(x, (2, n), "float32")
    for f in range(n * 2 + 31):
        with T.block("X"):
            vh = T.axis.spatial(2, f // n)
            vp = T.axis.spatial(n, f % n)
            T.where()" + condition + R"()
            X[vh, vp] = T.float32(1)
)");
    return CheckBindings(function).empty();
  };
  EXPECT_TRUE(is_inside("f < n * 2"));
  EXPECT_FALSE(is_inside("f < n * 2 + 1"));
  EXPECT_FALSE(is_inside("f < n * 3"));
}

// The verdict on loops `grid` around a block that binds `iterators` ("vi = T.axis.spatial(6, i)") and runs `body`.
Verdict Bound(const std::string& loops, const std::string& iterators, const std::string& where,
              const std::string& body) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for )" + loops + R"(:
        with T.block("C"):
)";
  for (const std::string& line : {iterators, "T.where(" + where + ")", body}) {
    for (size_t begin = 0; begin < line.size();) {
      const size_t end = std::min(line.find('\n', begin), line.size());
      text += "            " + line.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
  }
  return Worst(CheckBindings(ParseFunctionOrDie(text)));
}

TEST(Bindings, ThatCountDown) {
  const std::string copy = "C[vi * 8 + vj] = A[vi * 8 + vj]";
  const auto verdict = [&](const std::string& extent, const std::string& vi, const std::string& vj,
                           const std::string& where = "True") {
    return Bound("f in range(" + extent + ")",
                 "vi = T.axis.spatial(600, " + vi + ")\nvj = T.axis.spatial(8, " + vj + ")", where, copy);
  };
  // More instances than are counted.
  EXPECT_EQ(verdict("4800 * 8", "599 - f // 8 % 600", "f % 8"), Verdict::kProven);
  EXPECT_EQ(verdict("600 * 8", "599 - f // 8", "7 - f % 8"), Verdict::kProven);
  EXPECT_EQ(verdict("600 * 9", "599 - f // 9", "f % 9", "f % 9 < 8"), Verdict::kProven);
  EXPECT_EQ(verdict("600 * 8", "599 - f // 8", "f // 8 % 8"), Verdict::kRefuted);
  EXPECT_EQ(verdict("600 * 8", "600 - f // 8", "f % 8"), Verdict::kRefuted);
}

TEST(Bindings, FewInstancesAreCounted) {
  const std::string copy = "C[vi * 8 + vj] = A[vi * 8 + vj]";
  const auto verdict = [&](const std::string& vi, const std::string& vj, const std::string& where = "True") {
    return Bound("h, f in T.grid(3, 6)", "vi = T.axis.spatial(8, " + vi + ")\nvj = T.axis.spatial(8, " + vj + ")",
                 where, copy);
  };
  // Tiles with borders in a fused loop.
  EXPECT_EQ(verdict("h + f % 3", "f // 3"), Verdict::kProven);
  EXPECT_EQ(verdict("(h + f % 3 + 1) // 2", "f // 3"), Verdict::kProven);
  EXPECT_EQ(verdict("h + f % 3", "f // 3 + f % 3"), Verdict::kRefuted);
  EXPECT_EQ(verdict("h + f % 3", "h + f // 3"), Verdict::kRefuted);
}

TEST(Bindings, CountedSumsRunWhole) {
  const auto verdict = [](const std::string& vi, const std::string& vk, const std::string& where = "True",
                          bool init = true) {
    return Bound("a, f in T.grid(2, 12)", "vi = T.axis.spatial(8, " + vi + ")\nvk = T.axis.reduce(4, " + vk + ")",
                 where,
                 std::string(init ? "with T.init():\n    C[vi] = T.float32(0)\n" : "") + "C[vi] = C[vi] + A[vi + vk]");
  };
  EXPECT_EQ(verdict("a * 3 + f // 4", "f % 4 * 3 % 4"), Verdict::kProven);
  // Again from the init on.
  EXPECT_EQ(verdict("f // 4", "f % 4 * 3 % 4"), Verdict::kProven);
  EXPECT_EQ(verdict("f // 4", "f % 4 * 3 % 4", "True", false), Verdict::kRefuted);
  // Each term twice, no second init; terms that are left out for some sums.
  EXPECT_EQ(verdict("a * 3 + f // 4", "f % 4 * 3 % 4 // 2"), Verdict::kRefuted);
  EXPECT_EQ(verdict("a * 3 + f // 4", "f % 4 * 3 % 4", "a * 12 + f < 22"), Verdict::kRefuted);
}

// An opaque iterator tells the instances of a sum apart.
TEST(Bindings, SumsOfOpaqueIterators) {
  const auto verdict = [](const std::string& grid, const std::string& vi, const std::string& vk) {
    return Bound(grid, "vi = T.axis.opaque(12, " + vi + ")\nvk = T.axis.reduce(4, " + vk + ")", "True",
                 "with T.init():\n    C[vi] = T.float32(0)\nC[vi] = C[vi] + A[vi + vk]");
  };
  EXPECT_EQ(verdict("k, i in T.grid(4, 12)", "i", "k"), Verdict::kProven);
  EXPECT_EQ(verdict("i, f in T.grid(3, 16)", "i * 4 + f // 4", "f % 4"), Verdict::kProven);
  EXPECT_EQ(verdict("k, i, j in T.grid(4, 12, 2)", "i", "k"), Verdict::kRefuted);
  EXPECT_EQ(verdict("i, f in T.grid(3, 16)", "i * 4", "f % 4"), Verdict::kRefuted);
}

// Instances of bands and windows, whose loops begin at values of others, are told apart where one iterator is the
// outer loop. A reduction would not run its first term.
TEST(Bindings, LoopsThatBindingsShift) {
  const auto verdict = [](const std::string& loops, const std::string& vi, const std::string& vj,
                          const std::string& kind = "spatial") {
    return Bound(loops, "vi = T.axis.spatial(999, " + vi + ")\nvj = T.axis." + kind + "(2999, " + vj + ")", "True",
                 "C[vi] = C[vi] + A[vj]");
  };
  EXPECT_EQ(verdict("i, j in T.grid(999, 3)", "i", "i + j"), Verdict::kProven);
  EXPECT_EQ(verdict("i, j in T.grid(999, 3)", "i", "i * 2 + j"), Verdict::kProven);
  EXPECT_EQ(verdict("i, j in T.grid(999, 3)", "i", "i * 2 + j", "reduce"), Verdict::kRefuted);
  EXPECT_EQ(verdict("i, j in T.grid(999, 3)", "i // 2", "i + j"), Verdict::kRefuted);
}

}  // namespace
}  // namespace tilewright

#include "verify/memory/access_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Findings(const std::string& statement) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), P: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.reads(A[0:16], P[0:16])
            T.writes(B[0:16])
)" + ("            " + statement + "\n"));
  std::vector<std::string> findings;
  for (const Diagnostic& d : CheckAccessBounds(function)) {
    findings.push_back((d.verdict == Verdict::kAssumed ? "assumed: " : "") + d.reason);
  }
  return findings;
}

TEST(AccessBounds, Inside) {
  EXPECT_THAT(Findings("B[vi] = A[15 - vi]"), IsEmpty());
  EXPECT_THAT(Findings("B[vi // 2 * 2] = A[vi % 4 + 12]"), IsEmpty());
}

TEST(AccessBounds, Outside) {
  EXPECT_THAT(Findings("B[vi] = A[vi + 1]"),
              ElementsAre("block B reads A[vi + 1], which is not known to be inside of dimension 0, [0, 16)"));
  EXPECT_THAT(Findings("B[vi - 1] = A[vi]"),
              ElementsAre("block B writes B[vi - 1], which is not known to be inside of dimension 0, [0, 16)"));
}

TEST(AccessBounds, ConditionsGuard) {
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 15, A[vi + 1], T.float32(0))"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(15 <= vi, T.float32(0), A[vi + 1])"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 15 and A[vi + 1] > T.float32(0), T.float32(1), T.float32(0))"),
              IsEmpty());
  // So does one that chooses between loads.
  EXPECT_THAT(Findings("B[vi] = T.Select(vi < 15, A[vi + 1], T.float32(0))"), IsEmpty());
  EXPECT_THAT(Findings("B[vi] = T.Select(vi < 16, A[vi + 1], T.float32(0))").size(), 1u);
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 16, A[vi + 1], T.float32(0))").size(), 1u);
}

// What runs under conditions that contradict each other never runs.
TEST(AccessBounds, ConditionsThatNeverHoldGuard) {
  EXPECT_THAT(Findings("B[vi] = T.if_then_else(vi < 3 and vi > 5, A[vi + 16], A[vi])"), IsEmpty());
  EXPECT_THAT(Findings("for j in range(16):\n                if vi < j:\n                    if j < vi:\n"
                       "                        B[vi + 16] = A[vi - j]"),
              IsEmpty());
  EXPECT_THAT(Findings("for j in range(16):\n                if vi < j:\n                    if j < vi + 2:\n"
                       "                        B[vi + 16] = A[vi]")
                  .size(),
              1u);
}

TEST(AccessBounds, DivisorsAreGuarded) {
  EXPECT_THAT(Findings(R"(B[vi] = T.Cast("float32", 16 // P[vi]))"),
              ElementsAre("assumed: block B divides by P[vi], which is taken not to be 0"));
  EXPECT_THAT(Findings(R"(B[vi] = T.Cast("float32", T.if_then_else(P[vi] != 0, 16 // P[vi], 7)))"), IsEmpty());
  // Constants may be conversions of constants.
  EXPECT_THAT(Findings(R"(B[vi] = T.Cast("float32", T.if_then_else(T.Cast("uint8", P[vi]) != T.Cast("uint8", 0), )"
                       R"(T.uint8(16) // T.Cast("uint8", P[vi]), T.Cast("uint8", 7))))"),
              IsEmpty());
  const std::string constant = R"(T.Cast("uint32", T.max(T.Cast("bfloat16", -4), T.Cast("bfloat16", 0))))";
  EXPECT_THAT(Findings(R"(B[vi] = T.Cast("float32", T.if_then_else()" + constant + R"( != T.Cast("uint32", 0), )" +
                       R"(T.uint32(16) % )" + constant + R"(, T.uint32(7))))"),
              IsEmpty());
}

// A size is 0 where nothing runs; a part of it may be 0 elsewhere.
TEST(AccessBounds, DivisorsOfSizes) {
  const auto verdict = [](const std::string& divisor, const std::string& extent = "n") {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((4,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    for i in range()" + extent + R"():
        with T.block("B"):
            vi = T.axis.opaque()" + extent + R"(, i)
            B[0] = 100 // )" + divisor + "\n");
    const std::vector<Diagnostic> found = CheckAccessBounds(function);
    return found.empty() ? "proven" : found[0].verdict == Verdict::kAssumed ? "assumed" : "refuted";
  };
  EXPECT_STREQ(verdict("n"), "proven");
  EXPECT_STREQ(verdict("(n * 2)"), "proven");
  EXPECT_STREQ(verdict("n", "4"), "assumed");
  EXPECT_STREQ(verdict("T.Cast(\"int32\", T.Cast(\"uint8\", n))"), "assumed");
  EXPECT_STREQ(verdict("T.Cast(\"int32\", T.Cast(\"uint8\", n) * T.uint8(16))"), "assumed");
}

// Only instances that the predicate lets run count, told apart by iterators that are loops.
TEST(AccessBounds, PredicatesGuard) {
  const auto findings = [](const std::string& predicate) {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1000, 1023), "float32"), B: T.Buffer((1000, 64), "float32")):
    for i, k_0, k_1 in T.grid(1000, 16, 64):
        with T.block("B"):
            vi, vk_0, vk_1 = T.axis.remap("SRS", [i, k_0, k_1])
            T.where()" + predicate + R"()
            T.reads(A[vi, vk_0 * 64 + vk_1])
            T.writes(B[vi, vk_1])
            with T.init():
                B[vi, vk_1] = T.float32(0)
            B[vi, vk_1] = B[vi, vk_1] + A[vi, vk_0 * 64 + vk_1]
)");
    return CheckAccessBounds(function).size();
  };
  EXPECT_EQ(findings("k_0 * 64 + k_1 < 1023"), 0u);
  EXPECT_EQ(findings("k_0 * 64 + k_1 < 1024"), 1u);
  EXPECT_EQ(findings("k_0 * 64 < 1023"), 1u);
}

// The predicate is about a loop of which the iterators are parts.
TEST(AccessBounds, PredicatesOfFusedLoopsGuard) {
  const auto findings = [](const std::string& predicate) {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((2, 9, 2), "float32"), B: T.Buffer((2, 17), "float32")):
    for f in range(36):
        with T.block("B"):
            vn = T.axis.spatial(2, f // 18)
            vi = T.axis.spatial(9, f // 2 % 9)
            vp = T.axis.spatial(2, f % 2)
            T.where()" + predicate + R"()
            T.reads(A[vn, vi, vp])
            T.writes(B[vn, vi * 2 + vp])
            B[vn, vi * 2 + vp] = A[vn, vi, vp]
)");
    return CheckAccessBounds(function).size();
  };
  EXPECT_EQ(findings("f // 2 % 9 * 2 + f % 2 < 17"), 0u);
  EXPECT_EQ(findings("f // 2 % 9 * 2 + f % 2 < 18"), 1u);
  EXPECT_EQ(findings("f // 2 % 9 < 8"), 0u);
  EXPECT_EQ(findings("f < 35"), 1u);
}

// The predicate of loops that were fused, and bound to blocks and threads: the digits of their sum stand in other forms
// in bindings and predicate.
TEST(AccessBounds, PredicatesOfThreadsGuard) {
  const auto findings = [](const std::string& number, const std::string& end) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((2, 27, 3, 64), "float32"), B: T.Buffer((2, 80, 64), "float32")):
    for x in T.thread_binding(41, thread="blockIdx.x"):
        for y in T.thread_binding(256, thread="threadIdx.x"):
            with T.block("B"):
                v0 = T.axis.spatial(2, F % 10368 // 5184)
                v1 = T.axis.spatial(27, F % 5184 // 192)
                v2 = T.axis.spatial(3, F % 192 // 64)
                v3 = T.axis.spatial(64, F % 64)
                T.where(G // 64 // 3 % 27 * 3 + G // 64 % 3 < END)
                T.reads(A[v0, v1, v2, v3])
                T.writes(B[v0, v1 * 3 + v2, v3])
                B[v0, v1 * 3 + v2, v3] = A[v0, v1, v2, v3]
)";
    text = absl::StrReplaceAll(text, {{"F", "(x * 256 + y)"}, {"G", number}, {"END", end}});
    return CheckAccessBounds(ParseFunctionOrDie(text)).size();
  };
  EXPECT_EQ(findings("(x * 256 + y)", "80"), 0u);
  EXPECT_EQ(findings("(x * 256 + y)", "81"), 1u);
  EXPECT_EQ(findings("(x * 255 + y)", "80"), 1u);
}

TEST(AccessBounds, GathersAreAssumed) {
  EXPECT_THAT(
      Findings("B[vi] = A[P[vi]]"),
      ElementsAre("assumed: block B reads A[P[vi]], whose place is taken to be inside of dimension 0, [0, 16)"));
}

// The caller says how far a loop over a scalar parameter goes; where it is outside however far, nobody can.
// A place that is kept inside wants elements to be there, and nothing of the memory that it is read from.
TEST(AccessBounds, GathersThatAreClampedWantElements) {
  const auto finding = [](const std::string& place) {
    const Diagnostics found = CheckAccessBounds(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((m,), "float32"), P: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32"), m: T.int32):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[)" + place + "]\n"));
    return found.size() == 1 && found[0].verdict == Verdict::kAssumed ? found[0].reason : "";
  };
  for (const char* inside : {"T.max(T.min(P[vi], m - 1), 0)", "T.min(T.max(P[vi], 0), m - 1)"}) {
    EXPECT_THAT(finding(inside), HasSubstr("], which is taken to have elements in dimension 0, [0, m)"));
  }
  for (const char* anywhere : {"T.max(T.min(P[vi], m), 0)", "T.min(T.max(P[vi], -1), m - 1)", "P[vi]"}) {
    EXPECT_THAT(finding(anywhere), HasSubstr("], whose place is taken to be inside of dimension 0, [0, m)"));
  }
}

TEST(AccessBounds, LoopsOverScalarsAreAssumed) {
  const auto verdict_of = [](const std::string& index) {
    const Function function = ParseFunctionOrDie(absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), length: T.int32):
    for i, j in T.grid(length, 4):
        with T.block("B"):
            vi = T.axis.spatial(length, i)
            vj = T.axis.spatial(4, j)
            T.reads(A[0:16])
            T.writes(B[vj])
            B[vj] = A[INDEX]
)",
                                                                     {{"INDEX", index}}));
    const Diagnostics found = CheckAccessBounds(function);
    return found.empty() ? Verdict::kProven : found[0].verdict;
  };
  EXPECT_EQ(verdict_of("vi"), Verdict::kAssumed);
  EXPECT_EQ(verdict_of("vi * 4 + vj"), Verdict::kAssumed);
  EXPECT_EQ(verdict_of("vi % 16"), Verdict::kProven);
  EXPECT_EQ(verdict_of("vi + 16"), Verdict::kRefuted);
  EXPECT_EQ(verdict_of("vi + vj * 5 + 1"), Verdict::kRefuted);
  EXPECT_EQ(verdict_of("vi - 1"), Verdict::kRefuted);
}

// A scalar that is an extent of the buffer too: whatever it is, the loop runs as far beyond.
TEST(AccessBounds, LoopsOverScalarsThatAreExtents) {
  const auto verdict_of = [](const std::string& extent) {
    const Diagnostics found = CheckAccessBounds(ParseFunctionOrDie(absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((n,), "float32"), n: T.int32):
    for i in range(EXTENT):
        with T.block("A"):
            vi = T.axis.spatial(EXTENT, i)
            A[vi] = T.float32(0)
)",
                                                                                       {{"EXTENT", extent}})));
    return found.empty() ? Verdict::kProven : found[0].verdict;
  };
  EXPECT_EQ(verdict_of("n"), Verdict::kProven);
  EXPECT_EQ(verdict_of("n + 1"), Verdict::kRefuted);
  EXPECT_EQ(verdict_of("(n + 3) // 4 * 4"), Verdict::kRefuted);
}

// A constant that was inlined into a guard and into what it guards.
TEST(AccessBounds, WhatNeverRunsMayDivideByZero) {
  const auto program = [](const std::string& guard) {
    return Findings("B[vi] = T.if_then_else(" + guard +
                    " != T.int8(0), T.Cast(\"float32\", T.Cast(\"int8\", vi) % "
                    "T.Cast(\"int8\", T.Cast(\"uint32\", 0))), A[vi])");
  };
  EXPECT_THAT(program("T.Cast(\"int8\", T.Cast(\"uint32\", 0))"), IsEmpty());
  EXPECT_THAT(program("T.Cast(\"int8\", vi)"), Not(IsEmpty()));
}

// How many elements there are the caller says.
TEST(AccessBounds, OneElementOfAsManyAsThereAre) {
  const auto verdicts = [](const std::string& read) {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((n,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads(P[0:n])
            T.writes(B[vi])
            B[vi] = )" + read + "\n");
    std::vector<Verdict> found;
    for (const Diagnostic& d : CheckAccessBounds(function)) found.push_back(d.verdict);
    return found;
  };
  using Verdicts = std::vector<Verdict>;
  EXPECT_EQ(verdicts("P[1] - P[0]"), (Verdicts{Verdict::kAssumed, Verdict::kAssumed}));
  EXPECT_EQ(verdicts("P[vi]"), Verdicts{Verdict::kRefuted});
  EXPECT_EQ(verdicts("P[n]"), Verdicts{Verdict::kRefuted});
  EXPECT_EQ(verdicts("P[-1]"), Verdicts{Verdict::kRefuted});
}

}  // namespace
}  // namespace tilewright

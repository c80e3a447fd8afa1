#include "verify/rewrite/without_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What verify says of one block over 8 instances, refutations alone.
std::string Refuted(const std::string& statements) {
  std::string text = R"(
@T.prim_func
def main(P: T.Buffer((8,), "int32"), X: T.Buffer((8, 4), "float32"), Y: T.Buffer((8,), "float32")):
)";
  text += "    for i in range(8):\n        with T.block(\"B\"):\n            v = T.axis.spatial(8, i)\n";
  size_t begin = 0;
  while (begin < statements.size()) {
    const size_t end = std::min(statements.find('\n', begin), statements.size());
    text += "            " + statements.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  std::string refuted;
  for (const Diagnostic& d : VerifyProgram(ParseFunctionOrDie(text)).diagnostics) {
    if (d.verdict == Verdict::kRefuted) refuted += d.reason + "\n";
  }
  return refuted;
}

TEST(WithoutValues, ConditionsOnValuesGuardNothingElse) {
  EXPECT_THAT(Refuted("Y[v] = T.float32(0)\nif P[v] > 0:\n    Y[v] = X[v, 3]"), IsEmpty());
  EXPECT_THAT(Refuted("Y[v] = T.float32(0)\nif P[v] > 0:\n    Y[v] = X[v, 4]"), HasSubstr("reads X[v, 4]"));
  EXPECT_THAT(Refuted("Y[v] = T.if_then_else(P[v] > 0, X[v + 1, 0], X[v, 0])"), HasSubstr("reads X[v + 1, 0]"));
  EXPECT_THAT(Refuted("Y[v] = T.Select(P[v] > 0, T.float32(1), T.float32(0)) + X[8, 0]"), HasSubstr("reads X[8, 0]"));
  // A condition on values and places together says something of the places.
  EXPECT_THAT(Refuted("Y[v] = T.float32(0)\nif P[v] >= 0 and P[v] + v < 7:\n    Y[v] = X[v + 1, 0]"), IsEmpty());
  // Not any more when what it read was written.
  EXPECT_THAT(
      Refuted("Y[v] = T.float32(0)\nif P[v] >= 0:\n    P[v] = -8\n    if P[v] + v < 7:\n        Y[v] = X[v + 1, 0]"),
      HasSubstr("reads X[v + 1, 0]"));
}

TEST(WithoutValues, PlacesFromMemoryLeaveTheOthers) {
  EXPECT_THAT(Refuted("Y[v] = X[P[v], 3]"), IsEmpty());
  EXPECT_THAT(Refuted("Y[v] = X[P[v], 4]"), HasSubstr("reads X[P[v], 4]"));
  EXPECT_THAT(Refuted("Y[v] = X[P[v], 3] + X[v + 8, 0]"), HasSubstr("reads X[v + 8, 0]"));
  EXPECT_THAT(Refuted("Y[v] = X[P[v + 8], 0]"), HasSubstr("reads P[v + 8]"));
  EXPECT_THAT(Refuted("Y[v] = X[P[v] % 8 + 8, 0]"), HasSubstr("reads X"));
  EXPECT_THAT(Refuted("for t in range(P[v], P[v] + 2):\n    Y[v] = X[t, 4]"), HasSubstr("reads X[t, 4]"));
  EXPECT_THAT(Refuted("Y[v] = T.float32(0)\nfor t in range(P[v], P[v] + 2):\n    Y[v] = Y[v] + X[t, 3]"), IsEmpty());
}

TEST(WithoutValues, WhatIsWrittenOnlySometimesIsNotWritten) {
  const auto program = [](const std::string& body) {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "float32")):
    W = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("W"):
            v = T.axis.spatial(8, i)
            T.reads(P[v])
            T.writes(W[v])
)" + body + R"(
    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = W[v]
)");
    return Worst(VerifyProgram(function).diagnostics);
  };
  EXPECT_EQ(program("            if P[v] > 0:\n                W[v] = T.float32(1)"), Verdict::kRefuted);
  EXPECT_EQ(program("            if P[v] > 0:\n                W[v] = T.float32(1)\n            else:\n"
                    "                W[v] = T.float32(0)"),
            Verdict::kProven);
}

TEST(WithoutValues, DivisorsFromMemoryAreAssumedUnlessGuarded) {
  const auto verdict = [](const std::string& value) {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            Y[v] = )" + value + "\n");
    return Worst(VerifyProgram(function).diagnostics);
  };
  EXPECT_EQ(verdict("7 // P[v]"), Verdict::kAssumed);
  EXPECT_EQ(verdict("T.if_then_else(P[v] != 0, 7 // P[v], 0)"), Verdict::kProven);
  EXPECT_EQ(verdict("T.if_then_else(P[v] > 0, 7 % P[v], 0)"), Verdict::kProven);
  EXPECT_EQ(verdict("T.if_then_else(P[v] != 1, 7 // P[v], 0)"), Verdict::kAssumed);
  EXPECT_EQ(verdict("7 // (v + 1)"), Verdict::kProven);
  EXPECT_EQ(verdict("7 // (v - 3)"), Verdict::kRefuted);
}

TEST(WithoutValues, PredicatesOnValuesCount) {
  const auto verdict = [](const std::string& predicate) {
    const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i0, i1 in T.grid(2, 5):
        with T.block("B"):
            v = T.axis.spatial(8, i0 * 5 + i1)
            T.where()" + predicate + R"()
            Y[v] = 7 // P[v]
)");
    return Worst(VerifyProgram(function).diagnostics);
  };
  EXPECT_EQ(verdict("i0 * 5 + i1 < 8 and P[i0 * 5 + i1] != 0"), Verdict::kProven);
  EXPECT_EQ(verdict("P[i0 * 5 + i1] != 0 and i0 * 5 + i1 < 8"), Verdict::kRefuted);
}

// A scalar parameter names a row of a table of pages.
TEST(WithoutValues, ScalarParametersAreAnyNumbers) {
  const auto verdict = [](const std::string& pages, const std::string& row, const std::string& extent = "8") {
    return Worst(VerifyProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(Pages: T.Buffer((9, 6), "float32"), source: T.int32, C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((5, 6, 2))
    for a, j, b in T.grid(5, 6, 2):
        with T.block("B"):
            va, vj, vb = T.axis.remap("SSS", [a, j, b])
            T.reads(Pages[va * 2 + vb, vj])
            T.writes(B[va, vj, vb])
            B[va, vj, vb] = )" + pages + R"(
    for j in range(6):
        with T.block("C"):
            vj = T.axis.spatial()" + extent + R"(, j)
            C[vj] = B[)" + row + "]\n"))
                     .diagnostics);
  };
  const std::string guarded = "T.if_then_else(va == 4 and vb == 1, T.float32(0), Pages[va * 2 + vb, vj])";
  EXPECT_EQ(verdict(guarded, "source // 2, vj, source % 2"), Verdict::kAssumed);
  EXPECT_EQ(verdict(guarded, "source // 2, vj + 1, source % 2"), Verdict::kRefuted);
  EXPECT_EQ(verdict(guarded, "source // 2, vj, source % 2 + 2"), Verdict::kRefuted);
  EXPECT_EQ(verdict(guarded, "source // 2, vj, source % 2 - 2"), Verdict::kRefuted);
  EXPECT_EQ(verdict(guarded, "source // 2, vj, source % 2", "source"), Verdict::kRefuted);
  EXPECT_EQ(verdict("T.if_then_else(va == 4 and vb == source, T.float32(0), Pages[va * 2 + vb, vj])", "0, vj, 0"),
            Verdict::kRefuted);
  EXPECT_EQ(verdict("T.if_then_else(va == 4, T.float32(0), Pages[va * 2 + vb + source - source, vj])", "0, vj, 0"),
            Verdict::kProven);
}

}  // namespace
}  // namespace tilewright

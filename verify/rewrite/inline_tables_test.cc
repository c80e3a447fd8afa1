#include "verify/rewrite/inline_tables.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// Y[v] = X[place] for each v below n, where the table `at` of n numbers holds `fill` (in terms of v).
Function Gather(const std::string& fill, const std::string& place = "at[v]", const std::string& declared = "at[v]") {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(x: T.handle, p: T.handle, y: T.handle):
    n = T.int32()
    X = T.match_buffer(x, (n,), "float32")
    P = T.match_buffer(p, (n,), "int32")
    Y = T.match_buffer(y, (n,), "float32")
    at = T.alloc_buffer((n,), "int32")
    for i in range(n):
        with T.block("at"):
            v = T.axis.spatial(n, i)
            at[v] = )" + fill +
                            R"(
    for i in range(n):
        with T.block("Y"):
            v = T.axis.spatial(n, i)
            T.reads(X[0:n], )" +
                            declared +
                            R"()
            T.writes(Y[v])
            Y[v] = X[)" + place +
                            "]\n");
}

bool IsInlined(const Function& function) {
  const Function inlined = InlineTables(function);
  return Print(inlined).find("X[at[") == std::string::npos;
}

TEST(InlineTables, PutsValuesInPlaceOfLoads) {
  const std::string text = Print(InlineTables(Gather("n - 1 - v")));
  EXPECT_NE(text.find("Y[v] = X[n - 1 - v]"), std::string::npos) << text;
}

TEST(InlineTables, KeepsLoadsThatAreToBeJudged) {
  EXPECT_TRUE(IsInlined(Gather("v")));
  // The load leaves the table, or what the block declares.
  EXPECT_FALSE(IsInlined(Gather("v", "at[v + 1]", "at[0:n]")));
  EXPECT_FALSE(IsInlined(Gather("v", "at[v]", "at[0]")));
  // Its values are not known.
  EXPECT_FALSE(IsInlined(Gather("P[v]")));
}

TEST(InlineTables, KeepsBuffersThatSeveralStoresFillOrOtherVariablesDecide) {
  const auto gather = [](const std::string& fill) {
    return ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((64,), "float32"), Y: T.Buffer((8,), "float32")):
    at = T.alloc_buffer((8,), "int32")
    for i, j in T.grid(8, 8):
)" + fill + R"(
    for i in range(8):
        Y[i] = X[at[i]]
)");
  };
  EXPECT_TRUE(IsInlined(gather("        at[i] = i * 8")));
  EXPECT_FALSE(IsInlined(gather("        at[i] = i * 8 + j")));
  EXPECT_FALSE(IsInlined(gather("        at[i] = i * 8\n        at[j] = j * 8")));
  EXPECT_FALSE(IsInlined(gather("        at[i // 2] = i * 8")));
  EXPECT_FALSE(IsInlined(gather("        at[i] = at[i] + i")));
}

Verdict Judge(const std::string& fill) { return Worst(VerifyProgram(Gather(fill)).diagnostics); }

// Sizes are any, so that nothing is enumerated.
TEST(InlineTables, PlacesOutsideAreRefuted) {
  EXPECT_EQ(Judge("v"), Verdict::kProven);
  EXPECT_EQ(Judge("n - 1 - v"), Verdict::kProven);
  EXPECT_EQ(Judge("T.max(v - 1, 0)"), Verdict::kProven);
  EXPECT_EQ(Judge("v - 1"), Verdict::kRefuted);
  EXPECT_EQ(Judge("v * 2"), Verdict::kRefuted);
  EXPECT_EQ(Judge("n - v"), Verdict::kRefuted);
  EXPECT_EQ(Judge("P[v]"), Verdict::kAssumed);
}

// A table in another order is not followed; running the program shows where it leads.
TEST(InlineTables, PlacesOfATableInAnotherOrderAreRunWhereTheyAreFew) {
  const auto judge = [](const std::string& fill) {
    return Worst(VerifyProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    at = T.alloc_buffer((8, 8), "int32")
    for i in range(64):
        with T.block("at"):
            v = T.axis.spatial(64, i)
            at[v % 8, v // 8] = )" + fill + R"(
    for i in range(64):
        with T.block("Y"):
            v = T.axis.spatial(64, i)
            T.reads(X[0:64], at[v % 8, v // 8])
            T.writes(Y[v])
            Y[v] = X[at[v % 8, v // 8]]
)"))
                     .diagnostics);
  };
  EXPECT_EQ(judge("63 - v"), Verdict::kProven);
  EXPECT_EQ(judge("v - 1"), Verdict::kRefuted);
}

}  // namespace
}  // namespace tilewright

#include "verify/regions/initialization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

Verdict Of(const std::string& statements, int rows = 8) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((ROWS, 4), "float32"), B: T.Buffer((ROWS,), "float32")):
    for i in range(ROWS):
        with T.block("B"):
            v = T.axis.spatial(ROWS, i)
            T.reads(A[v, 0:4])
            T.writes(B[v])
            S = T.alloc_buffer((4,), "float32")
)";
  for (size_t at; (at = text.find("ROWS")) != std::string::npos;) text.replace(at, 4, std::to_string(rows));
  for (size_t begin = 0; begin < statements.size();) {
    const size_t end = std::min(statements.find('\n', begin), statements.size());
    text += "            " + statements.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return VerifyProgram(ParseFunctionOrDie(text)).verdict();
}

TEST(Initialization, WrittenBefore) {
  EXPECT_EQ(Of("for k in range(4):\n    S[k] = A[v, k]\nB[v] = S[0] + S[3]"), Verdict::kProven);
  EXPECT_EQ(Of("S[0] = A[v, 0]\nfor k in range(3):\n    S[0] = S[0] + A[v, k + 1]\nB[v] = S[0]"), Verdict::kProven);
  EXPECT_EQ(Of("S[1] = A[v, 0]\nif A[v, 1] > T.float32(0):\n    B[v] = S[1]\nelse:\n    B[v] = -S[1]"),
            Verdict::kProven);
}

TEST(Initialization, NotWritten) {
  EXPECT_EQ(Of("B[v] = S[0]"), Verdict::kRefuted);
  EXPECT_EQ(Of("for k in range(3):\n    S[k] = A[v, k]\nB[v] = S[0] + S[3]"), Verdict::kRefuted);
  EXPECT_EQ(Of("if A[v, 0] > T.float32(0):\n    S[0] = A[v, 0]\nB[v] = S[0]"), Verdict::kAssumed);
  EXPECT_EQ(Of("B[v] = S[1]\nS[1] = A[v, 0]"), Verdict::kRefuted);
}

// Too large to be run.
TEST(Initialization, OfLargePrograms) {
  // What a loop reads was written by one before it, in the same iteration of the loops around both.
  EXPECT_EQ(Of("for r in range(2):\n    for k in range(2):\n        S[r * 2 + k] = A[v, k]\n"
               "    for k in range(2):\n        B[v] = S[r * 2 + 1 - k]",
               1 << 20),
            Verdict::kProven);
  EXPECT_EQ(Of("for r in range(2):\n    for k in range(2):\n        S[r * 2 + k] = A[v, k]\n"
               "    for k in range(2):\n        B[v] = S[2 + k]",
               1 << 20),
            Verdict::kAssumed);
  EXPECT_EQ(Of("S[0] = A[v, 0]\nB[v] = S[0]", 1 << 20), Verdict::kProven);
  // The loop has iterations where v // 524288 is 1 only.
  EXPECT_EQ(Of("B[v] = T.float32(0)\nS[v // 524288] = A[v, 0]\nfor t in range(v // 524288):\n    B[v] = S[1]", 1 << 20),
            Verdict::kProven);
  EXPECT_EQ(
      Of("B[v] = T.float32(0)\nS[v // 524288] = A[v, 0]\nfor t in range(v // 524288 + 1):\n    B[v] = S[1]", 1 << 20),
      Verdict::kAssumed);
  EXPECT_EQ(Of("for k in range(4):\n    S[3 - k] = A[v, k]\nB[v] = S[v % 4]", 1 << 20), Verdict::kAssumed);
}

std::vector<std::string> FindingsOfSize(const std::string& statements) {
  std::vector<std::string> findings;
  const std::string text = R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((8,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (8, n), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.reads(A[v, 0:n])
            T.writes(B[v])
            S = T.alloc_buffer((1,), "float32")
)" + statements;
  for (const Diagnostic& d : VerifyProgram(ParseFunctionOrDie(text)).diagnostics) findings.push_back(d.reason);
  return findings;
}

TEST(Initialization, ByLoopsThatMayBeEmpty) {
  const std::string loop = R"(            for k in range(n):
                S[0] = A[v, k]
)";
  EXPECT_EQ(
      FindingsOfSize(loop + "            B[v] = S[0]\n"),
      std::vector<std::string>{"block B reads S, whose elements are taken to have been written before: n is taken "
                               "to be at least 1"});
  EXPECT_EQ(FindingsOfSize("            S[0] = T.float32(0)\n" + loop + "            B[v] = S[0]\n"),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace tilewright

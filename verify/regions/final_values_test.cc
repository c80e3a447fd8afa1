// Sums that a loop carries from iteration to iteration.
#include "verify/regions/final_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Reasons(const std::string& text) {
  std::vector<std::string> reasons;
  for (const Diagnostic& d : CheckFinalValues(ParseFunctionOrDie(text))) reasons.push_back(d.reason);
  return reasons;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// Each tile rescales what the ones before made, and adds its own, as an online softmax does.
constexpr char kOnline[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), M: T.Buffer((4,), "float32"), O: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("zero"):
            vi = T.axis.spatial(8, i)
            O[vi] = T.float32(0)
    for t in range(4):
        with T.block("tile"):
            T.reads(M[t], A[t, 0:8], O[0:8])
            T.writes(O[0:8])
            for i in range(8):
                with T.block("scale"):
                    vi = T.axis.spatial(8, i)
                    O[vi] = O[vi] * M[t]
            for i, k in T.grid(8, 8):
                with T.block("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    O[vi] = O[vi] + A[t, vk]
)";

TEST(FinalValues, SumsThatALoopCarries) {
  EXPECT_THAT(Reasons(kOnline), IsEmpty());
  // An iterator of the tile's own says that it runs in each iteration; without one, and without the scale, a schedule
  // that repeats a sum looks the same.
  std::string sums = kOnline;
  for (int uses = 0; uses < 3; ++uses) {
    const std::string from = uses == 0 ? "M[t], A[t, 0:8]" : uses == 1 ? "O[vi] * M[t]" : "A[t, vk]";
    const std::string to = uses == 0 ? "M[0], A[0, 0:8]" : uses == 1 ? "O[vi] * M[0]" : "A[0, vk]";
    sums = Replaced(sums, from, to);
  }
  EXPECT_THAT(Reasons(sums), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(sums, "O[vi] = O[vi] * M[0]", "M[vi % 4] = M[vi % 4] * M[0]")),
              ElementsAre(HasSubstr("adds to O again in each iteration of loop t")));
}

// A reader in a fused loop runs while a sum grows; the last time it sees all of it, and does the same to the same
// places.
TEST(FinalValues, ReadersInAFusedLoop) {
  const auto verdict = [](const std::string& reader) {
    return Worst(VerifyProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), S: T.Buffer((4,), "float32"), B: T.Buffer((12,), "float32")):
    for f in range(12):
        with T.block("S"):
            vi = T.axis.spatial(4, f // 3)
            vk = T.axis.reduce(3, f % 3)
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
        with T.block("B"):
)" + reader))
                     .diagnostics);
  };
  const std::string spatial = "            v = T.axis.spatial(12, f)\n            ";
  EXPECT_EQ(verdict(spatial + "B[v // 3] = S[v // 3]\n"), Verdict::kProven);
  EXPECT_EQ(verdict(spatial + "B[v // 3] = S[v // 3] * T.Cast(\"float32\", v // 3)\n"), Verdict::kProven);
  EXPECT_EQ(verdict("            v = T.axis.spatial(4, f // 3)\n            B[v] = S[v]\n"), Verdict::kProven);
  EXPECT_EQ(verdict(spatial + "T.reads(S[0:4])\n            T.writes(B[v // 3])\n            B[v // 3] = S[v // 3]\n"),
            Verdict::kProven);
  EXPECT_EQ(verdict(spatial + "for u in range(1):\n                B[v // 3 + u] = S[v // 3 + u]\n"), Verdict::kProven);
  // Each instance writes another element, or another value.
  EXPECT_EQ(verdict(spatial + "B[v] = S[v // 3]\n"), Verdict::kRefuted);
  EXPECT_EQ(verdict(spatial + "B[v // 3] = S[v // 3] * T.Cast(\"float32\", v)\n"), Verdict::kRefuted);
  // Another sum than the one of this iteration.
  EXPECT_EQ(verdict(spatial + "B[v // 4] = S[v // 4]\n"), Verdict::kRefuted);
  EXPECT_EQ(verdict(spatial + "B[3 - v // 3] = S[3 - v // 3]\n"), Verdict::kRefuted);
  // Parts of the sum are summed up.
  EXPECT_EQ(verdict("            v = T.axis.reduce(12, f)\n            with T.init():\n                B[0] = "
                    "T.float32(0)\n            B[0] = B[0] + S[v // 3]\n"),
            Verdict::kRefuted);
  EXPECT_EQ(verdict("            v = T.axis.opaque(12, f)\n            B[v // 3] = S[v // 3]\n"), Verdict::kRefuted);
}

// The reader's loop encloses a part of the fused one; quotient and remainder tell the reader's iterator.
TEST(FinalValues, ReadersInPartsOfAFusedLoop) {
  const auto verdict = [](const std::string& iterators, const std::string& statement) {
    return Worst(CheckFinalValues(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), S: T.Buffer((2, 2), "float32"), B: T.Buffer((12,), "float32")):
    for f in range(8):
        for g in range(3):
            with T.block("S"):
                vi = T.axis.spatial(4, (f * 3 + g) // 6)
                vk = T.axis.reduce(6, (f * 3 + g) % 6)
                with T.init():
                    S[vi // 2, vi % 2] = T.float32(0)
                S[vi // 2, vi % 2] = S[vi // 2, vi % 2] + A[vi, vk]
        with T.block("B"):
            v = )" + iterators + "\n            " + statement +
                                                     "\n")));
  };
  EXPECT_EQ(verdict("T.axis.spatial(4, f // 2)", "B[v] = S[v // 2, v % 2]"), Verdict::kProven);
  EXPECT_EQ(verdict("T.axis.spatial(8, f)", "B[v // 4 * 2 + v // 2 % 2] = S[v // 4, v // 2 % 2]"), Verdict::kProven);
  EXPECT_EQ(verdict("T.axis.spatial(8, f)", "B[v] = S[v // 4, v // 2 % 2]"), Verdict::kRefuted);
  EXPECT_EQ(verdict("T.axis.spatial(4, f // 2)", "B[v] = S[v // 2, (v + 1) % 2]"), Verdict::kRefuted);
  EXPECT_EQ(verdict("T.axis.spatial(4, f // 2)", "B[v] = S[v % 2, v // 2]"), Verdict::kRefuted);
}

TEST(FinalValues, ReadersOfTilesInAFusedLoop) {
  const auto verdict = [](const std::string& read, const std::string& written) {
    return Worst(CheckFinalValues(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16, 3), "float32"), S: T.Buffer((16,), "float32"), B: T.Buffer((64,), "float32")):
    for f in range(12):
        with T.block("S"):
            vi = T.axis.spatial(4, f // 3)
            vk = T.axis.reduce(3, f % 3)
            T.reads(A[vi * 2:vi * 2 + 2, vk])
            T.writes(S[vi * 2:vi * 2 + 2])
            with T.init():
                for u in range(2):
                    S[vi * 2 + u] = T.float32(0)
            for u in range(2):
                S[vi * 2 + u] = S[vi * 2 + u] + A[vi * 2 + u, vk]
        with T.block("B"):
            v = T.axis.spatial(12, f)
            for u in range(2):
                B[)" + written + "] = S[" + read + "]\n")));
  };
  EXPECT_EQ(verdict("v // 3 * 2 + u", "v // 3 * 2 + u"), Verdict::kProven);
  EXPECT_EQ(verdict("v // 3 * 2 + u", "v * 2 + u"), Verdict::kRefuted);
  EXPECT_EQ(verdict("v // 3 * 2 + u + 1", "v // 3 * 2 + u"), Verdict::kRefuted);
  EXPECT_EQ(verdict("v // 4 * 2 + u", "v // 4 * 2 + u"), Verdict::kRefuted);
}

// No rule about divisions of 23 by 6 tells that iterations of f add up the same sums; counting does.
TEST(FinalValues, LoopsThatAreCounted) {
  const std::string sums = R"(
@T.prim_func
def main(A: T.Buffer((5, 6), "float32"), S: T.Buffer((5,), "float32")):
    for i in range(5):
        with T.block("zero"):
            v = T.axis.spatial(5, i)
            S[v] = T.float32(0)
    for f, k in T.grid(23, 6):
        with T.block("S"):
            vi = T.axis.spatial(5, f % 6)
            vk = T.axis.reduce(6, k)
            T.where(f % 6 < 5)
            S[vi] = S[vi] + A[vi, vk]
)";
  EXPECT_THAT(Reasons(sums), ElementsAre(HasSubstr("adds to S again in each iteration of loop f")));
  EXPECT_THAT(Reasons(Replaced(sums, "23, 6", "6, 6")), IsEmpty());
}

}  // namespace
}  // namespace tilewright

#include "verify/regions/overwritten_values.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// Two blocks below loops i and j, and what follows them there.
std::string Reason(const std::string& zero, const std::string& sum, const std::string& condition = "0 <= i",
                   const std::string& loops = "i, j in T.grid(4, 4)", const std::string& more = "") {
  const Diagnostics found = CheckOverwrittenValues(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32"), D: T.Buffer((4, 4), "int32")):
    for )" + loops + R"(:
        with T.block("zero"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[)" + zero + R"(] = 0
        with T.block("sum"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where()" + condition + R"()
            C[)" + sum + "] = C[" + sum +
                                                                      R"(] + A[vi, vj]
)" + more));
  EXPECT_LE(found.size(), 1u);
  return found.empty() ? "" : found[0].reason;
}

TEST(OverwrittenValues, RefusesStartValuesThatComeTooLate) {
  EXPECT_EQ(
      Reason("vj, vi", "vi, vj"),
      "block zero overwrites C[0, 1], which block sum wrote in an earlier iteration of loop i, and which nobody has "
      "read");
  EXPECT_EQ(
      Reason("vi, vj", "vi, 1", "j < 1"),
      "block zero overwrites C[0, 1], which block sum wrote in an earlier iteration of loop i, and which nobody has "
      "read");
}

TEST(OverwrittenValues, AcceptsStartValuesThatComeBefore) {
  EXPECT_EQ(Reason("vi, vj", "vi, vj"), "");
  EXPECT_EQ(Reason("vi, vj", "vi, 0"), "");
  // What was overwritten is written anew: by the last iteration j.
  EXPECT_EQ(Reason("vi, vj", "vi, 3", "2 <= j"), "");
}

TEST(OverwrittenValues, AcceptsWhatWasReadBefore) {
  EXPECT_EQ(Reason("vj, vi", "vi, vj", "0 <= i", "i, j in T.grid(4, 4)", R"(
        with T.block("use"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj]
)"),
            "");
}

TEST(OverwrittenValues, SaysNothingOfLoopsWithoutAnOrderOrWithTooManyIterations) {
  EXPECT_EQ(Reason("vj, vi", "vi, vj", "0 <= i", "i in T.parallel(4):\n      for j in range(4)"), "");
  EXPECT_EQ(Reason("vj % 4, vi % 4", "vi % 4, vj % 4", "0 <= i", "i, j in T.grid(64, 64)"), "");
}

}  // namespace
}  // namespace tilewright

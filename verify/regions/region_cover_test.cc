// Reads of what no box holds, or of places that may lie outside.
#include "verify/regions/region_cover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Reasons(const std::string& text) {
  std::vector<std::string> reasons;
  for (const Diagnostic& d : CheckRegionCover(ParseFunctionOrDie(text))) reasons.push_back(d.reason);
  return reasons;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// n may be odd: what is written is no box.
constexpr char kDigits[] = R"(
@T.prim_func
def main(A: T.Buffer((n, 6), "float32"), C: T.Buffer((n, 6), "float32"), n: T.int32):
    B = T.alloc_buffer(((n + 1) // 2, 6, 2))
    for i, j in T.grid(n, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 2, vj, vi % 2] = A[vi, vj]
    for i, j in T.grid(n, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 2, vj, vi % 2]
)";

TEST(RegionCover, InstancesThatWroteWhatIsRead) {
  EXPECT_THAT(Reasons(kDigits), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(kDigits, "B = T.alloc_buffer(((n + 1) // 2, 6, 2))",
                               "B = T.alloc_buffer(((n + 1) // 2, 6, 2), scope=\"local\")")),
              IsEmpty());
}

TEST(RegionCover, InstancesThatDidNotRun) {
  const auto missing = ElementsAre(HasSubstr("which is not all written before"));
  // The digits of one more.
  EXPECT_THAT(Reasons(Replaced(kDigits, "C[vi, vj] = B[vi // 2, vj, vi % 2]",
                               "C[vi, vj] = B[(vi + 1) // 2, vj, (vi + 1) % 2]")),
              missing);
  EXPECT_THAT(Reasons(Replaced(kDigits, "C[vi, vj] = B[vi // 2, vj, vi % 2]", "C[vi, vj] = B[vi // 2, vj, vj % 2]")),
              missing);
  // Not all instances ran.
  const std::string binding = "vi, vj = T.axis.remap(\"SS\", [i, j])\n";
  EXPECT_THAT(Reasons(Replaced(kDigits, binding, binding + "            T.where(i < n - 1)\n")), missing);
  EXPECT_THAT(Reasons(Replaced(kDigits, "for i, j in T.grid(n, 6):", "for i, j in T.grid(n - 1, 6):")), missing);
  // One that ran need not have written.
  EXPECT_THAT(Reasons(Replaced(kDigits, "            B[vi // 2, vj, vi % 2] = A[vi, vj]",
                               "            T.writes(B[vi // 2, vj, vi % 2])\n"
                               "            if A[vi, vj] > T.float32(0):\n"
                               "                B[vi // 2, vj, vi % 2] = A[vi, vj]")),
              missing);
}

// Outside of the buffer there is nothing to write or to read; elsewhere the condition holds.
constexpr char kPlace[] = R"(
@T.prim_func
def main(A: T.Buffer((9, 6), "float32"), C: T.Buffer((6,), "float32"), source: T.int64):
    B = T.alloc_buffer((9, 6))
    for j in range(6):
        with T.block("B"):
            vj = T.axis.spatial(6, j)
            T.writes(B[source, vj])
            if T.int64(0) <= source and source < T.int64(9):
                B[source, vj] = A[source, vj]
        with T.block("C"):
            vj = T.axis.spatial(6, j)
            C[vj] = B[source, vj]
)";

TEST(RegionCover, PlacesAreInside) {
  EXPECT_THAT(Reasons(kPlace), IsEmpty());
  const auto missing = ElementsAre(HasSubstr("need not write all of B[source, vj]"));
  EXPECT_THAT(Reasons(Replaced(kPlace, "source < T.int64(9)", "source < T.int64(8)")), missing);
  EXPECT_THAT(Reasons(Replaced(kPlace, "T.int64(0) <= source", "T.int64(1) <= source")), missing);
  EXPECT_THAT(Reasons(Replaced(kPlace, "source < T.int64(9)", "vj < 5")), missing);
}

}  // namespace
}  // namespace tilewright

#include "verify/structure/exact_run.h"

#include <gtest/gtest.h>

#include <string_view>

#include "absl/strings/substitute.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// The elements of a parameter are counted without overflow, whatever its extents.
TEST(ExactRun, HugeParametersAreNotRun) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((T.int64(8), T.int64(9223372036854775807)), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[T.Cast("int64", vi), T.int64(0)]
)");
  EXPECT_EQ(RunExactly(function).outcome, ExactRun().outcome);
  EXPECT_EQ(RunExactly(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((T.int64(8), T.int64(9)), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[T.Cast("int64", vi), T.int64(0)]
)"))
                .outcome,
            ExactOutcome::kClean);
}

// A program whose second block writes by a table that the first one fills with `place`.
Function PlacesOfATable(const char* place, const char* outer = "range(1)") {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), O: T.Buffer((16,), "float32")):
    Tb = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("f"):
            v = T.axis.spatial(16, i)
            Tb[v] = $0
    for r in $1:
        for i, j in T.grid(4, 4):
            with T.block("o"):
                v = T.axis.spatial(16, i * 4 + j)
                O[Tb[v]] = A[v]
)",
                                             place, outer));
}

uint32_t IdOf(const Function& function, const char* name) {
  uint32_t id = 0;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize != nullptr && realize->block->name == std::string_view(name)) id = realize->block->id;
    return true;
  });
  return id;
}

TEST(ExactRun, SpatialInstancesWriteApart) {
  const auto apart = [](const Function& function) { return SpatialInstancesWriteApart(function, IdOf(function, "o")); };
  EXPECT_TRUE(apart(PlacesOfATable("(v * 3) % 16")));
  EXPECT_TRUE(apart(PlacesOfATable("15 - v")));
  EXPECT_FALSE(apart(PlacesOfATable("v // 2")));
  EXPECT_FALSE(apart(PlacesOfATable("(v * 2) % 16")));
  // Places that an input decides are not known.
  EXPECT_FALSE(apart(PlacesOfATable("T.Cast(\"int32\", A[v])")));
  // Memory that iterations do not share does not show whether they meet.
  EXPECT_FALSE(apart(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((19,), "float32"), C: T.Buffer((10,), "float32")):
    R = T.alloc_buffer((19,), scope="register")
    for i in range(19):
        with T.block("o"):
            v = T.axis.spatial(19, i)
            R[v // 2 * 2] = A[v]
    for i in range(10):
        with T.block("C"):
            v = T.axis.spatial(10, i)
            C[v] = R[v * 2]
)")));
  // Neither does memory that each iteration allocates.
  EXPECT_FALSE(apart(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("outer"):
            u = T.axis.spatial(4, i)
            B = T.alloc_buffer((2,), "float32")
            with T.block("o"):
                v = T.axis.spatial(4, u)
                B[v // 4] = A[v]
            with T.block("C"):
                v = T.axis.spatial(4, u)
                C[v] = B[0]
)")));
  // Instances that run again: what lies between the runs is not looked at.
  EXPECT_FALSE(apart(PlacesOfATable("(v * 3) % 16", "range(2)")));
}

TEST(ExactRun, TablesThatNameEachPlaceOnceAreProven) {
  EXPECT_EQ(VerifyProgram(PlacesOfATable("(v * 3) % 16")).verdict(), Verdict::kProven);
  EXPECT_EQ(VerifyProgram(PlacesOfATable("v // 2")).verdict(), Verdict::kRefuted);
}

}  // namespace
}  // namespace tilewright

// Programs in which a block that is inlined would make or read other elements than it does.
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/movement/compute_inline.h"
#include "schedule/movement/reverse_compute_inline.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::PartialCopy;
using testing::ReasonOf;

TEST(ComputeInline, RefusesTilesThatAreNotFull) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((127,), "float32"), C: T.Buffer((8, 16), "float32")):
          B = T.alloc_buffer((8, 16), "float32")
          for i in range(127):
              with T.block("B"):
                  vi = T.axis.spatial(127, i)
                  B[vi // 16, vi % 16] = A[vi]
          for i, j in T.grid(8, 16):
              with T.block("C"):
                  vi, vj = T.axis.remap("SS", [i, j])
                  C[vi, vj] = B[vi, vj])");
  EXPECT_EQ(ReasonOf(ComputeInline(f, BlockNamed(f, "B")), f), "B may not store all elements of B");
}

// A triangle is copied; the loops of the producer would fill all of C.
TEST(ReverseComputeInline, RefusesPartsThatLoopsLeaveOut) {
  const auto refused = [](const char* length) {
    const Function f = PartialCopy(length);
    const auto result = ReverseComputeInline(f, BlockNamed(f, "C"));
    return result.ok() ? "" : ReasonOf(result, f);
  };
  EXPECT_EQ(refused("8"), "");
  for (const char* length : {"i + 1", "8 - i", "7"}) {
    EXPECT_EQ(refused(length), "the loops of C may not run all instances that its domains allow") << length;
  }
}

TEST(ReverseComputeInline, RefusesPadding) {
  const Function padded = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8,), "float32"), C: T.Buffer((10,), "float32")):
          B = T.alloc_buffer((8,), "float32")
          for i in range(8):
              with T.block("B"):
                  vi = T.axis.spatial(8, i)
                  B[vi] = A[vi]
          for i in range(10):
              with T.block("C"):
                  vi = T.axis.spatial(10, i)
                  C[vi] = T.if_then_else(1 <= vi and vi < 9, B[vi - 1], T.float32(0)))");
  EXPECT_EQ(ReasonOf(ReverseComputeInline(padded, BlockNamed(padded, "C")), padded),
            "C may read elements of B that B does not write");
}

}  // namespace
}  // namespace tilewright

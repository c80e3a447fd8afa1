// Extents and conditions of the loops that compute_at makes.
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/movement/compute_at.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::LoopsOf;
using testing::ReasonOf;

// B computed at a loop of C.
Function AtLoop(const std::string& text, size_t loop) {
  const Function f = ParseFunctionOrDie(text);
  Outcome<ComputeAtResult> result = ComputeAt(f, BlockNamed(f, "B"), LoopsOf(f, "C")[loop], false, -1);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? result->function : f;
}

// (r + 1) // 2 - r // 2 is at most 1: two elements, not three.
TEST(ComputeAt, CountsQuotientsTogether) {
  const auto text = [](const char* index) {
    return std::string(R"(
@T.prim_func
def main(A: T.Buffer((40,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((40,))
    for i in range(40):
        with T.block("B"):
            vi = T.axis.spatial(40, i)
            B[vi] = A[vi] * T.float32(2)
    for i_0, r, i_1 in T.grid(8, 5, 2):
        with T.block("C"):
            vi = T.axis.spatial(16, i_0 * 2 + i_1)
            vr = T.axis.reduce(5, r)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[)") +
           index + "]\n";
  };
  for (const auto& [index, loop] : {std::pair("(vi + vr) // 2", "for ax0 in range(2):"),
                                    {"(vi * 2 + vr * 2) // 3", "for ax0 in range(2):"},
                                    {"(vi * 5 + vr) // 3", "for ax0 in range(3):"}}) {
    const Function g = AtLoop(text(index), 1);
    ExpectContains(g, loop);
    ExpectEquivalent(ParseFunctionOrDie(text(index)), g);
  }
}

// Rows and columns, fused into one loop, are inside of what they are digits of.
TEST(ComputeAt, KnowsDigitsOfSymbolicExtents) {
  const auto text = [](const char* loops, const char* index) {
    return std::string(R"(
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    B = T.alloc_buffer((n, m))
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for )") +
           loops +
           R"(:
        with T.block("C"):
            vi = T.axis.spatial(n, ()" +
           index + R"() // m)
            vj = T.axis.spatial(m, ()" +
           index + R"() % m)
            T.where()" +
           index + R"( < n * m)
            C[vi, vj] = B[vi, vj] + T.float32(1)
)";
  };
  ExpectContains(AtLoop(text("f in range(n * m)", "f"), 0), R"(
        vi = T.axis.spatial(n, f // m)
        vj = T.axis.spatial(m, f % m)
        T.reads(A[vi, vj]))");
  // The last tile goes beyond the last row.
  ExpectContains(AtLoop(text("f_0, f_1 in T.grid((n * m + 3) // 4, 4)", "f_0 * 4 + f_1"), 1),
                 "T.where(0 <= (f_0 * 4 + f_1) // m and (f_0 * 4 + f_1) // m < n)");
}

}  // namespace
}  // namespace tilewright

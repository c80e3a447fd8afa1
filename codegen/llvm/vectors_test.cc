// Vectors in the LLVM back end: each program computes what the interpreter computes.
#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "codegen/llvm/testing/equivalence.h"

namespace tilewright {
namespace {

using absl::Substitute;
using testing::CompareWithInterpreter;

TEST(Vectors, Masks) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((50,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((50,), "float32")):
    for o in range(4):
        for i in T.vectorized(16):
            with T.block("B"):
                vi = T.axis.spatial(64, o * 16 + i)
                B[vi] = T.if_then_else(2 <= vi and vi < 50, A[vi - 2], T.float32(5))
    for o in range(4):
        for i in T.vectorized(16):
            with T.block("C"):
                vi = T.axis.spatial(50, o * 16 + i)
                T.where(o * 16 + i < 50)
                C[vi] = B[vi] * T.float32(2)
)"),
            "");
}

TEST(Vectors, AcrossTwoOthers) {
  for (const char* type : {"float32", "float64", "int32", "float16"}) {
    for (const int lanes : {16, 64}) {
      EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((6, 131), "$0"), B: T.Buffer((4, 128), "$0")):
    for i0, j0 in T.grid(2, $1):
        for i1 in T.unroll(2):
            for j1 in T.vectorized($2):
                with T.block("B"):
                    vi = T.axis.spatial(4, i0 * 2 + i1)
                    vj = T.axis.spatial(128, j0 * $2 + j1)
                    B[vi, vj] = A[vi, vj + 1] + A[vi + 1, vj] - A[vi + 1, vj + 1] + A[vi + 1, vj + 3] + A[vi + 2, vj + 1]
)",
                                                  type, 128 / lanes, lanes)),
                "")
          << type << lanes;
    }
  }
}

TEST(Vectors, Variables) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((3, 40), "float32"), I: T.Buffer((40,), "int32"), V: T.Buffer((40,), "float32")):
    for k in range(3):
        for j in T.vectorized(40):
            with T.block("argmax"):
                vk, vj = T.axis.remap("RS", [k, j])
                with T.init():
                    I[vj] = -1
                    V[vj] = T.min_value("float32")
                t: T.int32 = T.Select(A[vk, vj] > V[vj], vk * 64 + vj, I[vj])
                u: T.int32 = t
                I[vj] = u + 3 * (t - u)
                V[vj] = T.max(A[vk, vj], V[vj])
)"),
            "");
}

}  // namespace
}  // namespace tilewright

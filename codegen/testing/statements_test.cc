// Programs of every kind of statement: compiled code computes what the interpreter computes.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "codegen/testing/equivalence.h"

namespace tilewright {
namespace {

using testing::CompareWithInterpreter;

TEST(Statements, BranchesLoopsAndLets) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            if A[vi] > 0:
                B[vi] = A[vi] * 3
            else:
                if vi % 2 == 0:
                    B[vi] = vi
                else:
                    B[vi] = T.if_then_else(vi > 20, A[vi - 20], 7)
)",
                                   {.low = -9, .high = 9}),
            "");
}

TEST(Statements, While) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            n = T.alloc_buffer((1,), "int32", scope="local")
            n[0] = A[vi]
            B[vi] = 0
            while n[0] > 0:
                B[vi] = B[vi] + n[0]
                n[0] = n[0] - 1
)",
                                   {.low = -3, .high = 9}),
            "");
}

TEST(Statements, GathersAndScatters) {
  for (const char* kind : {"serial", "vectorized"}) {
    EXPECT_EQ(CompareWithInterpreter(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), I: T.Buffer((48,), "int32"), B: T.Buffer((48,), "float32"),
         C: T.Buffer((48, 3), "float32")):
    for i in T.$0(48):
        with T.block("B"):
            vi = T.axis.spatial(48, i)
            B[vi] = A[I[vi]] + A[vi // 3]
            C[vi, 1] = A[63 - vi]
)",
                                                      kind),
                                     {.low = 0, .high = 40}),
              "")
        << kind;
  }
}

// Every other element, where a condition says that it is inside: elements of all sizes, most without a gather.
TEST(Statements, GathersUnderAMask) {
  for (const char* type : {"int8", "uint8", "float16", "bfloat16", "int16", "float32", "float64", "int64"}) {
    EXPECT_EQ(CompareWithInterpreter(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((40,), "$0"), I: T.Buffer((32,), "int32"), B: T.Buffer((32,), "$0"), C: T.Buffer((32,), "$0")):
    for i in T.vectorized(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = T.if_then_else(3 <= vi * 2 and vi * 2 < 43, A[vi * 2 - 3], T.Cast("$0", 1))
            C[vi] = T.if_then_else(0 <= I[vi] and I[vi] < 40, A[I[vi]], T.Cast("$0", 2))
)",
                                                      type),
                                     {.low = -30, .high = 60}),
              "")
        << type;
  }
}

TEST(Statements, ValuesThatLiveFromIterationToIteration) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((16,), "float32")
        for i in range(16):
            with T.block("X"):
                vi = T.axis.spatial(16, i)
                X[vi] = A[vi]
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = T.if_then_else(vi > 0, X[vi - 1], T.float32(0)) + X[vi]
)"),
            "");
}

TEST(Statements, TemporariesOfAllSizes) {
  // On the stack, in the workspace, in an iteration's part of it.
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((4, 20000), "float32"), B: T.Buffer((4, 20000), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((4, 20000), "float32")
        Y = T.alloc_buffer((4, 20000), "float32")
        Z = T.alloc_buffer((4, 20000), "float32")
        for i, j in T.grid(4, 20000):
            with T.block("X"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi, vj] = A[vi, vj] + T.float32(1)
        for i in T.parallel(4):
            for j in range(20000):
                with T.block("Y"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Y[vi, vj] = X[vi, 19999 - vj] * T.float32(2)
            for j in T.vectorized(20000):
                with T.block("Z"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Z[vi, vj] = Y[vi, 19999 - vj]
        for i, j in T.grid(4, 20000):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = Z[vi, vj]
)",
                                   {.parallel = true}),
            "");
}

TEST(Statements, SymbolicShapes) {
  const char* program = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i in T.parallel(n):
        for j in range(m):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                vj = T.axis.spatial(m, j)
                B[vj, vi] = A[vi, vj] * T.float32(2)
)";
  EXPECT_EQ(CompareWithInterpreter(program, {.variables = {17, 5}, .parallel = true}), "");
}

TEST(Statements, ScalarParameters) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), s: T.float32, n: T.int32, B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.if_then_else(vi < n, A[vi] * s, T.float32(0))
)"),
            "");
}

TEST(Statements, SubBuffers) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((3, 64, 64), "float32"), B: T.Buffer((3, 64, 64), "float32")):
    for n, i, j in T.grid(3, 4, 4):
        with T.block("tile"):
            vn, vi, vj = T.axis.remap("SSS", [n, i, j])
            T.reads(A[vn, vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            T.writes(B[vn, vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            s0 = T.int32()
            s1 = T.int32()
            X = T.match_buffer(A[vn, vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16], (16, 16), "float32", strides=[s0, 1], offset_factor=16)
            Y = T.match_buffer(B[vn, vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16], (16, 16), "float32", strides=[s1, 1], offset_factor=16)
            for a in T.unroll(16):
                for b in T.vectorized(16):
                    Y[a, b] = X[b, a] + T.Cast("float32", s0)
)"),
            "");
}

// What tensorize leaves: the implementation of a register tile over parts of the buffers.
// All of the array is written by rows of a view; of its own elements only the first columns are read.
TEST(Statements, SubBuffersOfViews) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((6, 12), "uint8"), B: T.Buffer((6, 3), "int64")):
    S = T.alloc_buffer((6, 12), "int64")
    V = T.decl_buffer((6, 96), "uint8", data=S.data)
    for i in range(6):
        with T.block("rows"):
            vi = T.axis.spatial(6, i)
            M = T.match_buffer(V[vi, 0:96], (96,), "uint8", strides=("s",), offset_factor=1)
            for k in range(96):
                M[k] = A[vi, k % 12]
    for i, j in T.grid(6, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = S[vi, vj]
)"),
            "");
}

TEST(Statements, RegisterTilesOfAnIntrinsic) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((50, 40), "float32"), B: T.Buffer((2, 40, 32), "float32"), C: T.Buffer((50, 64), "float32")):
    with T.block("root"):
        A_reg = T.alloc_buffer((60, 40), "float32", scope="register")
        C_reg = T.alloc_buffer((60, 64), "float32", scope="register")
        for j0 in T.parallel(2):
            for i0 in range(5):
                with T.block("init_o"):
                    vi, vj = T.axis.remap("SS", [i0, j0])
                    T.reads()
                    T.writes(C_reg[vi * 12:vi * 12 + 12, vj * 32:vj * 32 + 32])
                    for i1 in T.unroll(12):
                        for j1 in T.vectorized(32):
                            with T.block("init"):
                                a, b = T.axis.remap("SS", [i1, j1])
                                C_reg[vi * 12 + a, vj * 32 + b] = T.float32(0)
                for k in range(40):
                    for i1 in T.unroll(12):
                        with T.block("A_reg"):
                            vi = T.axis.spatial(60, i0 * 12 + i1)
                            vk = T.axis.spatial(40, k)
                            T.reads(A[vi, vk])
                            T.writes(A_reg[vi, vk])
                            A_reg[vi, vk] = T.if_then_else(vi < 50, A[vi, vk], T.float32(0))
                    with T.block("update_o"):
                        vi, vj, vk = T.axis.remap("SSR", [i0, j0, k])
                        T.reads(C_reg[vi * 12:vi * 12 + 12, vj * 32:vj * 32 + 32], A_reg[vi * 12:vi * 12 + 12, vk], B[vj, vk, 0:32])
                        T.writes(C_reg[vi * 12:vi * 12 + 12, vj * 32:vj * 32 + 32])
                        sa = T.int32()
                        sb = T.int32()
                        sc = T.int32()
                        X = T.match_buffer(A_reg[vi * 12:vi * 12 + 12, vk:vk + 1], (12, 1), "float32", offset_factor=1, strides=[sa, 1], scope="register")
                        Y = T.match_buffer(B[vj, vk:vk + 1, 0:32], (1, 32), "float32", offset_factor=1, strides=[sb, 1])
                        Z = T.match_buffer(C_reg[vi * 12:vi * 12 + 12, vj * 32:vj * 32 + 32], (12, 32), "float32", offset_factor=1, strides=[sc, 1], scope="register")
                        for kk in T.unroll(1):
                            for i in T.unroll(12):
                                for v in T.unroll(2):
                                    for l in T.vectorized(16):
                                        Z[i, v * 16 + l] = Z[i, v * 16 + l] + X[i, kk] * Y[kk, v * 16 + l]
                for i1 in T.unroll(12):
                    for j1 in T.vectorized(32):
                        with T.block("C"):
                            vi = T.axis.spatial(50, i0 * 12 + i1)
                            vj = T.axis.spatial(64, j0 * 32 + j1)
                            T.where(i0 * 12 + i1 < 50)
                            C[vi, vj] = C_reg[vi, vj]
)",
                                   {.tolerance = 1e-5, .parallel = true}),
            "");
}

}  // namespace
}  // namespace tilewright

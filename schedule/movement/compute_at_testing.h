// What the tests of compute_at and reverse_compute_at share: programs to move blocks in, and the check of a move.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/core/refusal.h"
#include "schedule/movement/compute_at.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright::testing {

// A two-element-wise producer and consumer around a matmul of shapes that tiles do not divide.
inline constexpr char kMatmul[] = R"(
@T.prim_func
def main(A: T.Buffer((30, 20), "float32"), B: T.Buffer((20, 26), "float32"), C: T.Buffer((30, 26), "float32")):
    A2 = T.alloc_buffer((30, 20))
    C2 = T.alloc_buffer((30, 26))
    for i, j in T.grid(30, 20):
        with T.block("A2"):
            vi, vj = T.axis.remap("SS", [i, j])
            A2[vi, vj] = A[vi, vj] * T.float32(2)
    for i_0, j_0, k_0, i_1, j_1, k_1 in T.grid(4, 4, 3, 8, 8, 8):
        with T.block("C2"):
            vi = T.axis.spatial(30, i_0 * 8 + i_1)
            vj = T.axis.spatial(26, j_0 * 8 + j_1)
            vk = T.axis.reduce(20, k_0 * 8 + k_1)
            T.where(i_0 * 8 + i_1 < 30 and j_0 * 8 + j_1 < 26 and k_0 * 8 + k_1 < 20)
            with T.init():
                C2[vi, vj] = T.float32(0)
            C2[vi, vj] = C2[vi, vj] + A2[vi, vk] * B[vk, vj]
    for i, j in T.grid(30, 26):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C2[vi, vj] + T.float32(1)
)";

// B[v] = A[v] * 2 over 66 elements, C[v] = B[v] + B[v + 1] + B[v + 2] over 64; `first` and `second` are their loops.
inline std::string Stencil(const std::string& first, const std::string& second) {
  return R"(
@T.prim_func
def main(A: T.Buffer((66,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((66,))
    for i_0, i_1 in T.grid()" +
         first + R"():
        with T.block("B"):
            v = T.axis.spatial(66, i_0 * 16 + i_1)
            T.where(i_0 * 16 + i_1 < 66)
            B[v] = A[v] * T.float32(2)
    for i_0, i_1 in T.grid()" +
         second + R"():
        with T.block("C"):
            v = T.axis.spatial(64, i_0 * 16 + i_1)
            C[v] = B[v] + B[v + 1] + B[v + 2]
)";
}

// The flat buffer B is written row by row and read in chunks.
inline std::string Flat(int chunks, int chunk) {
  const std::string n = std::to_string(chunks), m = std::to_string(chunk);
  return R"(
@T.prim_func
def main(A: T.Buffer((16, 64), "float32"), C: T.Buffer((1024,), "float32")):
    B = T.alloc_buffer((1024,))
    for i, j in T.grid(16, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 64 + vj] = A[vi, vj] * T.float32(2)
    for i_0, i_1 in T.grid()" +
         n + ", " + m + R"():
        with T.block("C"):
            v = T.axis.spatial(1024, i_0 * )" +
         m + R"( + i_1)
            T.where(i_0 * )" +
         m + R"( + i_1 < 1024)
            C[v] = B[v] + T.float32(1)
)";
}

// Applies, expects acceptance and equal results, returns the program.
inline Function Apply(const std::string& text, const char* block, const char* loops_of, size_t loop,
                      Outcome<ComputeAtResult> (*move)(const Function&, uint32_t, uint32_t, bool, int),
                      bool unit = false, int index = -1) {
  const Function f = ParseFunctionOrDie(text);
  Outcome<ComputeAtResult> result = move(f, BlockNamed(f, block), LoopsOf(f, loops_of)[loop], unit, index);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  if (!result.ok()) return f;
  ExpectEquivalent(f, result->function);
  EXPECT_EQ(BlockNamed(f, block), BlockNamed(result->function, block));
  return result->function;
}

}  // namespace tilewright::testing

// emit_memory.cc: loads, stores and vectors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/cuda/testing/emitted_lines.h"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TextOf;

TEST(EmitMemory, AdjacentLanesAreOneAccess) {
  const std::string text = TextOf("C[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)]");
  EXPECT_THAT(text, HasSubstr("const tw::Vec<float, 4> A_vec = tw::Load<tw::Vec<float, 4>>(A + i * 4);"));
  EXPECT_THAT(text, HasSubstr("tw::Store(C + i * 4, A_vec);"));
  EXPECT_THAT(text, Not(HasSubstr("A[")));
}

// An access has 16 bytes at most, and no more than the index is a multiple of.
TEST(EmitMemory, AccessesAreAsWideAsTheirAlignment) {
  const std::string wide = TextOf("C[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(i * 8, 1, 8)]");
  EXPECT_THAT(wide, HasSubstr("tw::Store(C + i * 8, A_vec);\n  tw::Store(C + (i * 8 + 4), A_vec_1);"));
  EXPECT_THAT(TextOf("C[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(i * 8, 1, 8)]", "float16"),
              HasSubstr("tw::Load<tw::Vec<tw::f16, 8>>(A + i * 8)"));
  EXPECT_THAT(TextOf("C[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 2, 1, 4)]"),
              HasSubstr("tw::Load<tw::Vec<float, 2>>(A + (i * 2 + 2))"));
}

TEST(EmitMemory, LanesWhoseAlignmentIsNotKnownAreApart) {
  EXPECT_THAT(TextOf("C[T.Ramp(i * 4 + n, 1, 4)] = A[T.Ramp(i * 4 + n, 1, 4)]"), Not(HasSubstr("tw::Vec")));
  EXPECT_THAT(TextOf("C[T.Ramp(i, 32, 2)] = A[T.Ramp(i, 32, 2)]"), HasSubstr("C[i] = A[i];\n  C[i + 32] = A[i + 32];"));
}

TEST(EmitMemory, LanesAreReadBeforeOneIsWritten) {
  EXPECT_THAT(TextOf("C[T.Ramp(i * 2 + 1, 1, 2)] = C[T.Ramp(i * 2, 1, 2)]"),
              HasSubstr("C_vec = tw::Load<tw::Vec<float, 2>>(C + i * 2);\n  C[i * 2 + 1] = C_vec[0];"));
  EXPECT_THAT(TextOf("C[T.Ramp(i + 1, 1, 2)] = C[T.Ramp(i, 1, 2)]"),
              HasSubstr("const float C_new = C[i];\n  const float C_new_1 = C[i + 1];\n"
                        "  C[i + 1] = C_new;\n  C[i + 2] = C_new_1;"));
}

TEST(EmitMemory, ScalarsOfAllLanesAreComputedOnce) {
  const std::string text = TextOf("C[T.Ramp(i * 2, 1, 2)] = A[T.Ramp(i * 2, 1, 2)] * T.Broadcast(B[i], 2)");
  EXPECT_THAT(text, HasSubstr("const float each = B[i];"));
  EXPECT_THAT(text, HasSubstr("tw::Vec<float, 2>{{A_vec[0] * each, A_vec[1] * each}}"));
}

// Under a condition nothing is loaded that the program does not load.
TEST(EmitMemory, VectorsOfABranchAreLoadedUnderItsCondition) {
  const std::string text =
      TextOf("C[T.Ramp(i * 4, 1, 4)] = T.if_then_else(i < n, A[T.Ramp(i * 4, 1, 4)], T.Broadcast(T.float32(0), 4))");
  EXPECT_THAT(text, HasSubstr("A_vec = i < n ? tw::Load<tw::Vec<float, 4>>(A + i * 4) : tw::Vec<float, 4>{};"));
  EXPECT_THAT(text, HasSubstr("tw::Store(C + i * 4, A_vec);"));
  // Each lane has a condition of its own: no lane is part of a wide access.
  const std::string apart = TextOf(
      "C[T.Ramp(i * 2, 1, 2)] = T.if_then_else(T.Ramp(i * 2, 1, 2) < T.Broadcast(n, 2), "
      "A[T.Ramp(i * 2, 1, 2)], T.Broadcast(T.float32(0), 2))");
  EXPECT_THAT(apart, HasSubstr("i * 2 < n ? float(A[i * 2]) : 0.0f"));
  EXPECT_THAT(apart, HasSubstr("i * 2 + 1 < n ? float(A[i * 2 + 1]) : 0.0f"));
}

TEST(EmitMemory, ALaneOfAVector) {
  EXPECT_THAT(TextOf("C[i] = T.Shuffle([A[T.Ramp(i * 4, 1, 4)]], [2])"), HasSubstr("C[i] = A_vec[2];"));
}

}  // namespace
}  // namespace tilewright::cuda

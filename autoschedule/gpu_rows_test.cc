// Reductions along rows on GPUs: several threads share a row, of any length, in chains of stages; in any type.
#include <gtest/gtest.h>

#include "autoschedule/gpu_testing.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "ir/functor.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using testing::ExpectRightOnGpus;
using testing::ExpectRightWhereDrawn;
using testing::SketchOfBlock;

constexpr DataType kF32 = DataType::Float(32), kF16 = DataType::Float(16), kBf16 = DataType::BFloat16();
constexpr DataType kS8 = DataType::Int(8), kS32 = DataType::Int(32);

// Loops over blocks: a kernel has one of them.
int KernelsOf(const Function& function) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(function), *NamedTarget("cuda-sm80"), &intrins);
  int kernels = 0;
  PreOrder(result.schedule.module().Main()->body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    kernels += loop != nullptr && loop->thread_tag == "blockIdx.x";
    return true;
  });
  return kernels;
}

TEST(GpuRows, ChainsAreOneKernel) {
  EXPECT_EQ(KernelsOf(ops::Softmax(64, 200)), 1);
  EXPECT_EQ(KernelsOf(ops::LayerNorm(64, 200, 1e-5)), 1);
  EXPECT_EQ(KernelsOf(ops::RowNorm(64, 200)), 1);
  EXPECT_EQ(SketchOfBlock(ops::Softmax(64, 200), "softmax_max"), "row_threads");
  EXPECT_EQ(SketchOfBlock(ops::RowNorm(64, 200), "squares"), "row_threads");
}

// Blocks that read an array, and blocks that compute exponentials.
std::pair<int, int> ReadsAndExponentials(const Function& function, const std::string& array,
                                         std::vector<Choice> given = {}) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::GivenOrPreferred(std::move(given));
  const AutoScheduled result = AutoSchedule(Module(function), *NamedTarget("cuda-sm90a"), &intrins, choices);
  int reads = 0, exponentials = 0;
  PreOrder(result.schedule.module().Main()->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->block->iter_vars.empty()) return true;
    for (const BufferRegion& read : realize->block->reads) reads += read.buffer->name == array;
    PreOrderExprs(realize->block->body, [&](const Expr& e) {
      const auto* call = dyn_cast<CallNode>(e);
      exponentials += call != nullptr && call->op == "exp";
      return true;
    });
    return true;
  });
  return {reads, exponentials};
}

// Threads keep their elements of rows that fit.
TEST(GpuRows, RowsThatFitAreReadOnce) {
  for (const int64_t columns : {32, 192, 1024, 8192}) {
    EXPECT_EQ(ReadsAndExponentials(ops::Softmax(64, columns), "A"), std::pair(1, 1)) << columns;
    EXPECT_EQ(ReadsAndExponentials(ops::LayerNorm(64, columns, 1e-5), "A").first, 1) << columns;
  }
  EXPECT_EQ(ReadsAndExponentials(ops::Softmax(64, 256, {kF16, kF16}), "A"), std::pair(1, 1));
  EXPECT_EQ(ReadsAndExponentials(ops::Softmax(64, 256), "A", {Choice::Of("softmax.kept", "nothing")}), std::pair(3, 2));
  EXPECT_EQ(ReadsAndExponentials(ops::Softmax(64, 256), "A", {Choice::Of("softmax.kept", "shared")}), std::pair(2, 1));
  for (const int64_t columns : {32, 192, 1024}) {
    ExpectRightOnGpus(ops::Softmax(5, columns), {.tolerance = 1e-5});
    ExpectRightOnGpus(ops::LayerNorm(5, columns, 1e-5), {.tolerance = 1e-4});
  }
  ExpectRightOnGpus(ops::Softmax(6, 256, {kF16, kF16}), {.tolerance = 1e-2});
}

// Whole vectors, a length that no vector divides, shorter than a warp, longer than a block's threads.
TEST(GpuRows, SoftmaxOfAnyLength) {
  for (const auto& [rows, columns] : {std::pair(5, 37), {8, 96}, {3, 1000}, {7, 5}, {12, 16}, {1, 1536}, {2, 1}}) {
    SCOPED_TRACE(columns);
    ExpectRightOnGpus(ops::Softmax(rows, columns), {.tolerance = 1e-5});
  }
}

TEST(GpuRows, SoftmaxOfHalfTypes) {
  for (const DataType type : {kF16, kBf16}) {
    ExpectRightOnGpus(ops::Softmax(6, 200, {type, type}), {.tolerance = 1e-2});
    ExpectRightOnGpus(ops::Softmax(3, 77, {type, kF32}), {.tolerance = 1e-4});
  }
}

TEST(GpuRows, Norms) {
  ExpectRightOnGpus(ops::RowNorm(3, 70), {.tolerance = 1e-5});
  ExpectRightOnGpus(ops::RowNorm(1, 2048), {.tolerance = 1e-4});
  ExpectRightOnGpus(ops::LayerNorm(4, 45, 1e-5), {.tolerance = 1e-4});
  ExpectRightOnGpus(ops::LayerNorm(9, 256, 1e-5), {.tolerance = 1e-4});
  ExpectRightOnGpus(ops::LayerNorm(5, 96, 1e-5, {kF16, kF16}), {.tolerance = 1e-2});
}

TEST(GpuRows, ProductsWithAVector) {
  ExpectRightOnGpus(ops::Matmul(1, 37, 200, {kF16, kF16, kF32}, true), {.tolerance = 2e-2});
  ExpectRightOnGpus(ops::Matmul(1, 40, 129, {kF32, kF32, kF32}, true), {.tolerance = 2e-2});
  ExpectRightOnGpus(ops::Matmul(1, 16, 96, {kS8, kS8, kS32}, true));
  EXPECT_EQ(SketchOfBlock(ops::Matmul(1, 64, 256, {kF16, kF16, kF32}, true), "C"), "row_threads");
}

constexpr const char* kSums = R"(
@T.prim_func
def main(A: T.Buffer((6, 9, 7), "float32"), B: T.Buffer((6,), "float32")):
    for i, k, l in T.grid(6, 9, 7):
        with T.block("B"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk, vl]
)";
constexpr const char* kPlaces = R"(
@T.prim_func
def main(A: T.Buffer((9, 100), "float32"), P: T.Buffer((9,), "int32"), M: T.Buffer((9,), "float32")):
    for i, k in T.grid(9, 100):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = -1
                M[vi] = T.min_value("float32")
            p: T.int32 = T.Select(M[vi] > A[vi, vk] or M[vi] == A[vi, vk] and P[vi] < vk, P[vi], vk)
            m: T.float32 = T.Select(M[vi] > A[vi, vk], M[vi], A[vi, vk])
            P[vi] = p
            M[vi] = m
)";
constexpr const char* kWhole = R"(
@T.prim_func
def main(A: T.Buffer((40, 30), "float32"), B: T.Buffer((1,), "float32")):
    S = T.alloc_buffer(())
    for i, k in T.grid(40, 30):
        with T.block("S"):
            vi, vk = T.axis.remap("RR", [i, k])
            with T.init():
                S[()] = T.float32(0)
            S[()] = S[()] + A[vi, vk]
    for i in range(1):
        with T.block("B"):
            vi = T.axis.spatial(1, i)
            B[vi] = S[()] / T.float32(1200)
)";
// Means of rows, which a later kernel reads, too.
constexpr const char* kReadOutside = R"(
@T.prim_func
def main(A: T.Buffer((20, 50), "float32"), B: T.Buffer((20, 50), "float32"), C: T.Buffer((50, 20), "float32")):
    S = T.alloc_buffer((20,))
    for i, k in T.grid(20, 50):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i, k in T.grid(20, 50):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] - S[vi]
    for k, i in T.grid(50, 20):
        with T.block("C"):
            vk, vi = T.axis.remap("SS", [k, i])
            C[vk, vi] = A[vi, vk] * S[19 - vi]
)";

TEST(GpuRows, OtherReductions) {
  ExpectRightOnGpus(ParseFunctionOrDie(kSums), {.tolerance = 1e-4});
  ExpectRightOnGpus(ParseFunctionOrDie(kPlaces));
  ExpectRightOnGpus(ParseFunctionOrDie(kWhole), {.tolerance = 1e-4});
  ExpectRightOnGpus(ParseFunctionOrDie(kReadOutside), {.tolerance = 1e-4});
}

// Sums over the first axis, with what reads them.
std::string ColumnSums(int64_t terms, int64_t columns, const std::string& type) {
  const std::string k = std::to_string(terms), n = std::to_string(columns);
  return "@T.prim_func\ndef main(A: T.Buffer((" + k + ", " + n + "), \"" + type + "\"), B: T.Buffer((" + n + ",), \"" +
         type + "\")):\n    S = T.alloc_buffer((" + n + ",), \"" + type + "\")\n    for j, k in T.grid(" + n + ", " +
         k + R"():
        with T.block("S"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                S[vj] = T.Cast(")" +
         type + R"(", 0)
            S[vj] = S[vj] + A[vk, vj]
    for j in range()" +
         n + R"():
        with T.block("B"):
            vj = T.axis.spatial()" +
         n + R"(, j)
            B[vj] = S[vj] * S[vj]
)";
}

TEST(GpuColumns, SharedByThreads) {
  EXPECT_EQ(SketchOfBlock(ParseFunctionOrDie(ColumnSums(100, 40, "float32")), "S"), "column_threads");
  EXPECT_EQ(KernelsOf(ParseFunctionOrDie(ColumnSums(100, 40, "float32"))), 1);
  ExpectRightOnGpus(ParseFunctionOrDie(ColumnSums(100, 40, "float32")), {.tolerance = 1e-4});
  ExpectRightOnGpus(ParseFunctionOrDie(ColumnSums(33, 5, "int32")));
  ExpectRightOnGpus(ops::GlobalAveragePool(2, 7, 7, 24), {.tolerance = 1e-4});
  ExpectRightOnGpus(ops::Matmul(1, 40, 129, {kF16, kF16, kF32}), {.tolerance = 2e-2});
  EXPECT_GE(ExpectRightWhereDrawn(ParseFunctionOrDie(ColumnSums(70, 33, "float32")), 1, 6, 1e-4), 3);
}

TEST(GpuRows, LongReductionsAreDivided) {
  const char* row = R"(
@T.prim_func
def main(A: T.Buffer((2, 49152), "float32"), B: T.Buffer((2,), "float32")):
    for i, k in T.grid(2, 49152):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.min_value("float32")
            B[vi] = T.max(B[vi], A[vi, vk])
)";
  EXPECT_EQ(KernelsOf(ParseFunctionOrDie(row)), 2);
  ExpectRightOnGpus(ParseFunctionOrDie(row));
  // All parts of three columns are of one block, which sums them too.
  EXPECT_EQ(KernelsOf(ParseFunctionOrDie(ColumnSums(32768, 3, "int32"))), 1);
  ExpectRightOnGpus(ParseFunctionOrDie(ColumnSums(32768, 3, "int32")));
  // Parts of a prime number of terms are not equal.
  EXPECT_EQ(KernelsOf(ParseFunctionOrDie(ColumnSums(32771, 3, "int32"))), 1);
}

TEST(GpuRows, SymbolicRows) {
  const char* text = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, k in T.grid(n, m):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)";
  ExpectRightOnGpus(ParseFunctionOrDie(text), {.tolerance = 1e-4, .variables = {7, 45}});
  ExpectRightOnGpus(ParseFunctionOrDie(text), {.tolerance = 1e-4, .variables = {1, 300}});
}

// Any numbers of threads and rows, elements kept or computed again.
TEST(GpuRows, WhatIsDrawnIsRight) {
  EXPECT_GE(ExpectRightWhereDrawn(ops::Softmax(10, 136, {kF16, kF16}), 1, 8, 1e-2), 4);
  EXPECT_GE(ExpectRightWhereDrawn(ops::LayerNorm(6, 44, 1e-5), 1, 6, 1e-4), 3);
  EXPECT_GE(ExpectRightWhereDrawn(ParseFunctionOrDie(kPlaces), 1, 6, -1), 3);
}

}  // namespace
}  // namespace tilewright

#include "autoschedule/measure/reference/fast_order.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// Both functions on the same integers, with all detectors on: their last parameters.
void ExpectSameResult(const Function& expected, const Function& actual) {
  std::vector<NDArray> outputs;
  for (const Function& function : {expected, actual}) {
    std::vector<interp::Argument> arguments;
    for (size_t i = 0; i < function->params.size(); ++i) {
      const Buffer& buffer = function->params[i].buffer;
      std::vector<int64_t> shape;
      for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
      NDArray array(buffer->dtype, std::move(shape));
      FillIntegers(array, i);
      arguments.push_back(array);
      if (i + 1 == function->params.size()) outputs.push_back(array);
    }
    absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
    ASSERT_TRUE(program.ok()) << program.status();
    const absl::Status status = program->Run(arguments);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(BitEqual(outputs[0], outputs[1]));
}

TEST(FastOrder, IsParallelOutsideWithTheLastSpatialLoopInside) {
  const Function matmul = ops::Matmul(5, 7, 6);
  const Function ordered = FastOrder(matmul);
  EXPECT_TRUE(StructuralEqual(ordered, ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 7), "float32"), C: T.Buffer((5, 7), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in T.parallel(5):
        for j in range(7):
            with T.block("C_init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)
        for k, j in T.grid(6, 7):
            with T.block("C_update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)")));
  ExpectSameResult(matmul, ordered);
}

TEST(FastOrder, FusesTheOuterLoopsOfEachBlock) {
  const Function products = ops::BatchMatmul(3, 4, 5, 6);
  const Function ordered = FastOrder(products);
  const auto* root = cast<BlockRealizeNode>(ordered->body);
  const auto* loop = dyn_cast<ForNode>(root->block->body);
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->kind, ForKind::kParallel);
  EXPECT_EQ(AsInt(loop->extent), 3 * 4);
  ExpectSameResult(products, ordered);
}

TEST(FastOrder, LeavesWhatItCannotOrder) {
  // Iterators that are not loops, and a block that a primitive refuses.
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i, j in T.grid(2, 4):
        with T.block("B"):
            vi = T.axis.spatial(8, i * 4 + j)
            B[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.opaque(8, i)
            C[vi] = B[vi]
)");
  EXPECT_TRUE(StructuralEqual(FastOrder(function), function));
}

}  // namespace
}  // namespace tilewright

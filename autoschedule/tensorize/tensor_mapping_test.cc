#include "autoschedule/tensorize/tensor_mapping.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "intrin/registry.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

// C[M, N] += A[M, K] * B[N, K], with the tile's extents.
TensorIntrin Tile(int m, int n, int k) {
  static constexpr absl::string_view kText = R"(
@T.prim_func
def tile(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ($0, $2), "float32", offset_factor=1)
    B = T.match_buffer(b, ($1, $2), "float32", offset_factor=1)
    C = T.match_buffer(c, ($0, $1), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$1, 0:$2])
        T.writes(C[0:$0, 0:$1])
        for i, j, k in T.grid($0, $1, $2):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)";
  const Function description = ParseFunctionOrDie(absl::Substitute(kText, m, n, k));
  return {.name = "tile", .description = description, .implementation = description};
}

const BlockNode& LastBlock(const Function& function) {
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  return *scope.children().back().realize->block;
}

TEST(TensorMapping, MatmulMapsDirectly) {
  const Function matmul = ops::Matmul(32, 48, 64);
  const TensorIntrin tile = Tile(16, 16, 16);
  const BlockNode& block = LastBlock(matmul);
  const TensorMappings mappings = FindTensorMappings(block, tile);
  // The factors of a product may change places: C^T = B^T A^T is the other mapping.
  ASSERT_EQ(mappings.found.size(), 2u) << mappings.refusal;
  EXPECT_EQ(mappings.found[0].padding_waste, 0);
  EXPECT_EQ(ToString(mappings.found[0], block), "vi = v_i; vj = v_j; vk = v_k");
  EXPECT_EQ(ToString(mappings.found[1], block), "vi = v_j; vj = v_i; vk = v_k");
  EXPECT_EQ(mappings.found[0].operands[0]->name, "A");
  EXPECT_EQ(mappings.found[1].operands[0]->name, "B");
}

TEST(TensorMapping, ConvolutionFusesIterators) {
  const Function conv =
      ops::Conv({.spatial = {14, 14}, .in_channels = 8, .out_channels = 16, .windows = ops::Same({3, 1, 1}, 2)});
  const TensorIntrin tile = Tile(4, 16, 8);
  const BlockNode& block = LastBlock(conv);
  const TensorMappings mappings = FindTensorMappings(block, tile);
  // i: (n, h, w), (h, w) or w; k: (kh, kw, c), (kw, c) or c; and the same with the factors exchanged.
  ASSERT_EQ(mappings.found.size(), 18u);
  EXPECT_EQ(mappings.found[0].padding_waste, 0);
  EXPECT_EQ(ToString(mappings.found[0], block), "vi = v_h, v_w; vj = v_co; vk = v_rc");
  EXPECT_EQ(mappings.found[0].outside, (std::vector<int>{0, 4, 5}));
  EXPECT_GT(mappings.found.back().padding_waste, 0.1);
}

TEST(TensorMapping, BatchStaysOutside) {
  const Function matmul = ops::BatchMatmul(3, 16, 16, 16);
  const TensorIntrin tile = Tile(16, 16, 16);
  const TensorMappings mappings = FindTensorMappings(LastBlock(matmul), tile);
  ASSERT_EQ(mappings.found.size(), 2u);
  EXPECT_EQ(mappings.found[0].outside, std::vector<int>{0});
}

TEST(TensorMapping, CountsPadding) {
  const Function matmul = ops::Matmul(17, 16, 16);
  const TensorIntrin tile = Tile(16, 16, 16);
  EXPECT_DOUBLE_EQ(FindTensorMappings(LastBlock(matmul), tile).found[0].padding_waste, 1 - 17.0 / 32);
}

TEST(TensorMapping, SaysWhyThereIsNone) {
  const TensorIntrin tile = Tile(16, 16, 16);
  const Function int8 = ops::Matmul(16, 16, 16, *ops::OperandTypes::Parse("u8s8"));
  EXPECT_EQ(FindTensorMappings(LastBlock(int8), tile).refusal,
            "C[v_i, v_j] + T.Cast(\"int32\", A[v_i, v_k]) * T.Cast(\"int32\", B[v_k, v_j]) is not of the form "
            "C[vi, vj] + A[vi, vk] * B[vj, vk]: C is int32, and C of the description float32");
}

}  // namespace
}  // namespace tilewright

#include "autoschedule/program/contraction.h"

#include <gtest/gtest.h>

#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

absl::StatusOr<Contraction> MatchLast(const Function& function) {
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  return MatchContraction(*scope.children().back().realize);
}

TEST(Contraction, ClassifiesIterators) {
  absl::StatusOr<Contraction> matmul = MatchLast(ops::BatchMatmul(2, 3, 4, 5));
  ASSERT_TRUE(matmul.ok()) << matmul.status();
  EXPECT_EQ(matmul->batch, std::vector<int>{0});
  EXPECT_EQ(matmul->rows, std::vector<int>{1});
  EXPECT_EQ(matmul->columns, std::vector<int>{2});
  EXPECT_EQ(matmul->inner, std::vector<int>{3});
  const Function conv =
      ops::Conv({.spatial = {8, 8}, .in_channels = 3, .out_channels = 4, .windows = ops::Same({3}, 2)});
  absl::StatusOr<Contraction> found = MatchLast(conv);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->rows, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(found->columns, std::vector<int>{3});
  EXPECT_EQ(found->inner, (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(found->column_operand->name, "weight");
}

// What has one value is no more summed than not: transform_block_layout calls it spatial.
TEST(Contraction, TakesSpatialIteratorsOfOneValueAsInner) {
  absl::StatusOr<Contraction> found = MatchLast(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((1, 6, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, j, r, k in T.grid(4, 8, 1, 6):
        with T.block("C"):
            vi, vj, vr, vk = T.axis.remap("SSSR", [i, j, r, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vr, vk, vj]
)"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->inner, (std::vector<int>{2, 3}));
}

std::string WhyNot(std::string_view statement) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, j, k in T.grid(4, 8, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            STATEMENT
)";
  text.replace(text.find("STATEMENT"), 9, statement);
  absl::StatusOr<Contraction> found = MatchLast(ParseOrDie(text).functions()[0]);
  return found.ok() ? "matched" : std::string(found.status().message());
}

TEST(Contraction, SaysWhatDoesNotMatch) {
  EXPECT_EQ(WhyNot("C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"), "matched");
  EXPECT_EQ(WhyNot("C[vi, vj] = B[vk, vj] * A[vi, vk] + C[vi, vj]"), "matched");
  EXPECT_EQ(WhyNot("C[vi, vj] = T.max(C[vi, vj], A[vi, vk] * B[vk, vj])"), "block C: it does not add to its output");
  EXPECT_EQ(WhyNot("C[vi, vj] = C[vi, vj] + A[vi, vk]"), "block C: what it adds is not a product");
  EXPECT_EQ(WhyNot("C[vi, vj] = C[vi, vj] + A[vi, vk] * T.float32(2)"),
            "block C: a factor is not an element of a buffer");
}

}  // namespace
}  // namespace tilewright

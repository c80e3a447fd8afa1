#include "schedule/layout/padded_extents.h"

#include <gtest/gtest.h>

#include "ir/functor.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// A nest beside the padded one stays as it is, and extents keep their types.
TEST(PaddedExtents, ReplaceThoseOfIteratorsLoopsAndBuffers) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((T.int64(127),), "float32"), B: T.Buffer((127,), "float32")):
    for i in T.serial(T.int64(127)):
        with T.block("C"):
            vi = T.axis.spatial(T.int64(127), i)
            A[vi] = T.float32(1)
    for j in range(127):
        with T.block("D"):
            vj = T.axis.spatial(127, j)
            B[vj] = T.float32(2)
)");
  PaddedExtents extents;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s); loop != nullptr && loop->var.name() == "i")
      extents.loops[loop->id] = Expr(128);
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize != nullptr && realize->block->name == "C")
      extents.iterators[realize->block->iter_vars[0].var] = Expr(128);
    return true;
  });
  const Buffer padded("A_pad", {Const(DataType::Int(64), 128)}, DataType::Float(32));
  ExtentRewriter rewriter(extents, {{function->params[0].buffer, padded}});
  const Stmt body = rewriter.Mutate(function->body);
  int padded_loops = 0, plain_loops = 0;
  PreOrder(body, [&](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) {
      const bool is_padded = loop->var.name() == "i";
      EXPECT_EQ(AsInt(loop->extent), is_padded ? 128 : 127);
      EXPECT_EQ(loop->extent.dtype(), DataType::Int(is_padded ? 64 : 32));
      ++(is_padded ? padded_loops : plain_loops);
    }
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s); realize != nullptr && !realize->block->iter_vars.empty()) {
      const bool is_padded = realize->block->name == "C";
      const IterVar& iter = realize->block->iter_vars[0];
      EXPECT_EQ(AsInt(iter.domain.extent), is_padded ? 128 : 127);
      EXPECT_EQ(iter.domain.extent.dtype(), iter.var.dtype());
      EXPECT_EQ(realize->block->writes[0].buffer->name, is_padded ? "A_pad" : "B");
      EXPECT_EQ(cast<StoreNode>(realize->block->body)->buffer->name, is_padded ? "A_pad" : "B");
    }
    return true;
  });
  EXPECT_EQ(padded_loops, 1);
  EXPECT_EQ(plain_loops, 1);
}

}  // namespace
}  // namespace tilewright

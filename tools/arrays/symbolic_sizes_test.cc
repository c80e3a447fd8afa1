#include "tools/arrays/symbolic_sizes.h"

#include "gtest/gtest.h"
#include "ir/expr.h"

namespace tilewright {
namespace {

using Sizes = std::map<std::string, int64_t>;

TEST(SymbolicSizes, OfShapes) {
  const Var n("n", DataType::Int(64)), m("m", DataType::Int(32));
  const Expr eight = Const(DataType::Int(64), 8);
  SymbolicSizes sizes;
  EXPECT_TRUE(sizes.Set("k", 2, "--dim k=2").ok());
  EXPECT_TRUE(sizes.SetExtents({n, eight, m}, {4, 8, 0}, "x.npy").ok());
  EXPECT_TRUE(sizes.SetExtents({n + n, n}, {8, 4}, "y.npy").ok());
  EXPECT_EQ(sizes.values(), Sizes({{"k", 2}, {"n", 4}, {"m", 0}}));
  EXPECT_EQ(sizes.SetExtents({n}, {5}, "z.npy").message(), "n is 5 in z.npy, 4 in x.npy");
  EXPECT_EQ(sizes.Set("k", 3, "k.npy").message(), "k is 3 in k.npy, 2 in --dim k=2");
  EXPECT_EQ(sizes.SetExtents({n}, {4, 1}, "z.npy").message(), "z.npy has rank 2, expected 1");
}

}  // namespace
}  // namespace tilewright

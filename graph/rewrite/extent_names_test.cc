// Which extents of a program's parameters get a name, and what is written by it.
#include "graph/rewrite/extent_names.h"

#include <gtest/gtest.h>

#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

Var Array(const std::string& name, const Expr& rows) {
  return Var(name, TensorType(DataType::Float(32), {rows, Extent(8)}));
}

class ExtentNamesTest : public testing::Test {
 protected:
  const Symbol n_{"n", DataType::Int(64)};
  const Expr half_ = FloorDiv(n_ + Extent(1), Extent(2));
  const Expr quarter_ = FloorDiv(half_ + Extent(1), Extent(2));
};

TEST_F(ExtentNamesTest, TheShortestOfThoseThatFollow) {
  const ExtentNames names(std::vector<Var>{Array("x", quarter_), Array("y", half_)});
  ASSERT_EQ(names.names().size(), 1);
  EXPECT_EQ(Print(names.Of(half_)), "d0");
  EXPECT_EQ(Print(names.Of(quarter_)), "(d0 + T.int64(1)) // T.int64(2)");
  EXPECT_TRUE(names.Hide(std::vector<Expr>{n_}));
  EXPECT_FALSE(names.Hide(std::vector<Expr>{Symbol("m", DataType::Int(64))}));
}

TEST_F(ExtentNamesTest, NoneWhereAnArrayGivesTheSymbol) {
  EXPECT_TRUE(ExtentNames(std::vector<Var>{Array("x", n_), Array("y", half_)}).names().empty());
  EXPECT_TRUE(ExtentNames(std::vector<Var>{Array("x", Extent(4))}).names().empty());
}

TEST_F(ExtentNamesTest, NamesAreNotTaken) {
  const ExtentNames names(std::vector<Var>{Array("x", half_), Array("y", Symbol("d0", DataType::Int(64)))});
  ASSERT_EQ(names.names().size(), 1);
  EXPECT_EQ(Print(names.Of(half_)), "d1");
}

}  // namespace
}  // namespace tilewright::graph

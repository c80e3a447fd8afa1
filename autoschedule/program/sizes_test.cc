#include "autoschedule/program/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

Function Copy(std::string_view attribute) {
  return ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    )") + std::string(attribute) +
                            R"(
    n = T.int64()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n * 4, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 4, vj] = A[vi, vj]
)");
}

const Buffer& Param(const Function& function, size_t i) { return function->params[i].buffer; }

TEST(LikelySizes, TypicalOnesWhereNoneIsNamed) {
  const Function function = Copy("T.evaluate(0)");
  const LikelySizes sizes = LikelySizes::Of(function);
  EXPECT_EQ(sizes.Likely(Param(function, 0)->shape[0]), 512);
  EXPECT_EQ(sizes.Likely(Param(function, 1)->shape[0]), 2048);
  EXPECT_EQ(sizes.Least(Param(function, 1)->shape[0]), 4);
  EXPECT_EQ(sizes.Likely(Expr(7)), 7);
}

TEST(LikelySizes, LargestAndLeastOfThoseNamed) {
  const Function named = WithLikelySizes(Copy("T.evaluate(0)"), {{"n", {1, 37, 100, 37}}});
  const LikelySizes sizes = LikelySizes::Of(named);
  EXPECT_EQ(sizes.Likely(Param(named, 0)->shape[0]), 100);
  EXPECT_EQ(sizes.Least(Param(named, 1)->shape[0]), 4);
  EXPECT_EQ(sizes.Likely(Param(named, 0)->shape[1]), 512);
}

TEST(LikelySizes, AreReadFromTheText) {
  const Function function = Copy(R"(T.func_attr({"tilewright.likely_sizes": {"n": [8, 64], "m": 5}}))");
  const LikelySizes sizes = LikelySizes::Of(function);
  EXPECT_EQ(sizes.Likely(Param(function, 0)->shape[0]), 64);
  EXPECT_EQ(sizes.Least(Param(function, 0)->shape[0]), 8);
  EXPECT_EQ(sizes.Likely(Param(function, 0)->shape[1]), 5);
}

// What a schedule makes of an extent, its quotient by a tile for example, is a number like the extent.
TEST(LikelySizes, LoopsOfOneSizeHaveConstantExtents) {
  const Function at = AtSizes(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i_0 in range((n + T.int64(63)) // T.int64(64)):
        for i_1 in range(T.int64(64)):
            with T.block("A"):
                vi = T.axis.spatial(n, i_0 * T.int64(64) + i_1)
                T.where(i_0 * T.int64(64) + i_1 < n)
                A[vi] = T.float32(0)
)"),
                              {{"n", 100}});
  EXPECT_THAT(Print(at), testing::HasSubstr("for i_0, i_1 in T.grid(T.int64(2), T.int64(64))"));
}

TEST(LikelySizes, OneSizeIsAConstant) {
  const Function function = Copy("T.evaluate(0)");
  EXPECT_EQ(SymbolicExtents(function), (std::vector<std::string>{"n", "m"}));
  const Function at = AtSizes(function, {{"n", 3}, {"m", 8}});
  EXPECT_TRUE(SymbolicExtents(at).empty());
  EXPECT_EQ(AsInt(Param(at, 1)->shape[0]), 12);
  EXPECT_THAT(Print(at), testing::HasSubstr("for i, j in T.grid(T.int64(3), 8)"));
  EXPECT_EQ(SymbolicExtents(AtSizes(function, {{"n", 3}})), std::vector<std::string>{"m"});
}

TEST(LikelySizes, DividesAtEverySize) {
  const Function function = Copy("T.evaluate(0)");
  const Expr n = Param(function, 0)->shape[0], four = Param(function, 1)->shape[0];
  EXPECT_TRUE(Divides(4, four));
  EXPECT_TRUE(Divides(2, four));
  EXPECT_FALSE(Divides(8, four));
  EXPECT_FALSE(Divides(4, n));
  EXPECT_TRUE(Divides(1, n));
  EXPECT_TRUE(Divides(4, Expr(12)));
  EXPECT_FALSE(Divides(4, Expr(14)));
}

// A loop that has the name of a size is none.
TEST(LikelySizes, LoopsMayHaveTheNamesOfSizes) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    h = T.int64()
    A = T.match_buffer(a, (h,), "float32")
    B = T.match_buffer(b, (h,), "float32")
    for i in range(h):
        with T.block("B"):
            vi = T.axis.spatial(h, i)
            B[vi] = A[vi]
)");
  const auto* root = cast<BlockRealizeNode>(function->body);
  const auto* loop = cast<ForNode>(root->block->body);
  const Var named("h", DataType::Int(64));
  FunctionNode::Fields fields = function->fields();
  ForNode::Fields renamed = loop->fields();
  renamed.var = named;
  renamed.body = Substitute(loop->body, {{loop->var, named}});
  BlockNode::Fields block = root->block->fields();
  block.body = For(std::move(renamed));
  fields.body = Realize({}, True(), Block(std::move(block)));
  const Function at = AtSizes(Function(std::move(fields)), {{"h", 3}});
  EXPECT_THAT(Print(at), testing::HasSubstr("vi = T.axis.spatial(T.int64(3), h)"));
}

TEST(LikelySizes, TypicalOnesFitInMemory) {
  const Function function = Copy("T.evaluate(0)");
  EXPECT_EQ(WithTypicalSizes(function, {}), (SizesByName{{"n", {512}}, {"m", {512}}}));
  EXPECT_EQ(WithTypicalSizes(function, {{"m", {100000}}}), (SizesByName{{"n", {32}}, {"m", {100000}}}));
  EXPECT_EQ(WithTypicalSizes(function, {{"m", {100000000}}}).at("n"), std::vector<int64_t>{1});
  // n * n * n floats in between.
  const Function cube = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((n,), "float32"), C: T.Buffer((n,), "float32"), n: T.int32):
    B = T.alloc_buffer((n, n, n))
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi]
)");
  EXPECT_EQ(WithTypicalSizes(cube, {}), (SizesByName{{"n", {128}}}));
}

}  // namespace
}  // namespace tilewright

#include "autoschedule/normalize/product_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/substitute.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;

const Target kZen4 = *NamedTarget("x86-znver4");

// Blocks after FormProducts; the function computes the same.
class ProductFormTest : public ::testing::Test {
 protected:
  void Form(const std::string& text, const Target& target = kZen4) {
    const Module module(ParseFunctionOrDie(text));
    sch_ = Schedule(module);
    converts_ = FormProducts(sch_, "main", target);
    testing::ExpectEquivalent(module.Main(), sch_.module().Main());
    names_.clear();
    for (const BlockRv& block : BlocksInRoot(sch_, "main")) names_.push_back(RealizeOf(sch_, block).block->name);
  }
  const BlockRealizeNode& Realize(const char* name) { return RealizeOf(sch_, *sch_.GetBlock(name)); }

  Schedule sch_{Module()};
  std::vector<std::string> names_;
  bool converts_ = false;
};

TEST_F(ProductFormTest, ContractionsStay) {
  Form(R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 24), "float32"), C: T.Buffer((16, 24), "float32")):
    for i, j, k in T.grid(16, 24, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)");
  EXPECT_THAT(names_, ElementsAre("C"));
  EXPECT_FALSE(converts_);
}

// Three factors: those of the rows are multiplied ahead, 24 times used.
TEST_F(ProductFormTest, FactorsOfASideAreMultipliedAhead) {
  Form(R"(
@T.prim_func
def main(X: T.Buffer((16, 32), "float32"), Z: T.Buffer((16, 32), "float32"), W: T.Buffer((32, 24), "float32"), Y: T.Buffer((16, 24), "float32")):
    for i, j, k in T.grid(16, 24, 32):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vk, vj] * Z[vi, vk]
)");
  ASSERT_EQ(names_.size(), 2u);
  EXPECT_EQ(names_.back(), "Y");
  const auto contraction = MatchContraction(Realize("Y"));
  ASSERT_TRUE(contraction.ok()) << contraction.status();
  EXPECT_EQ(contraction->column_operand->name, "W");
}

// Used by two columns only: not worth a block.
TEST_F(ProductFormTest, WhatIsUsedTwiceIsNotMultipliedAhead) {
  Form(R"(
@T.prim_func
def main(X: T.Buffer((16, 32), "float32"), Z: T.Buffer((16, 32), "float32"), W: T.Buffer((32, 2), "float32"), Y: T.Buffer((16, 2), "float32")):
    for i, j, k in T.grid(16, 2, 32):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vk, vj] * Z[vi, vk]
)");
  EXPECT_THAT(names_, ElementsAre("Y"));
}

constexpr char kAccumulation[] = R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 24), "float32"), C: T.Buffer((16, 24), "float32")):
    for i, j, k in T.grid(16, 24, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";
// A sum without an init adds to what was there.
TEST_F(ProductFormTest, AccumulationsBecomeSums) {
  Form(kAccumulation);
  EXPECT_EQ(names_.size(), 2u);
  int sums = 0;
  for (const BlockRv& block : BlocksInRoot(sch_, "main")) sums += RealizeOf(sch_, block).block->init ? 1 : 0;
  EXPECT_EQ(sums, 1);
}

// A zero point: the product of bytes is a contraction by vpdpbusd, and the sums of B have a block of their own.
TEST_F(ProductFormTest, ZeroPointsAreSplitOff) {
  Form(R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "uint8"), B: T.Buffer((32, 24), "int8"), C: T.Buffer((16, 24), "int32")):
    for i, j, k in T.grid(16, 24, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + (T.Cast("int32", A[vi, vk]) - 3) * T.Cast("int32", B[vk, vj])
)");
  EXPECT_EQ(names_.size(), 3u);
  int products = 0;
  for (const BlockRv& block : BlocksInRoot(sch_, "main")) {
    const auto contraction = MatchContraction(RealizeOf(sch_, block));
    if (!contraction.ok() || contraction->rows.empty()) continue;
    ++products;
    EXPECT_EQ(contraction->row_operand->name, "A");
    EXPECT_EQ(contraction->column_operand->name, "B");
  }
  EXPECT_EQ(products, 1);
}

constexpr char kHalf[] = R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float16"), B: T.Buffer((32, 24), "float16"), C: T.Buffer((16, 24), "float32")):
    for i, j, k in T.grid(16, 24, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
)";
// Zen 4 has no product of f16: copies of both operands are converted.
TEST_F(ProductFormTest, OperandsWithoutATileAreConverted) {
  Form(kHalf);
  EXPECT_TRUE(converts_);
  ASSERT_EQ(names_.size(), 3u);
  const auto contraction = MatchContraction(Realize("C"));
  ASSERT_TRUE(contraction.ok()) << contraction.status();
  EXPECT_EQ(contraction->row_operand->dtype, DataType::Float(32));
  EXPECT_EQ(contraction->column_operand->dtype, DataType::Float(32));
}

// Bytes that AVX2 multiplies by taking them apart stay bytes where each is used by few rows only.
TEST_F(ProductFormTest, BytesOfManyRowsAreConverted) {
  for (const auto& [a, rows, converts] :
       {std::tuple("uint8", 1, false), {"int8", 3, false}, {"uint8", 4, true}, {"int8", 16, true}}) {
    const std::string text = absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0, 32), "$1"), B: T.Buffer((32, 24), "int8"), C: T.Buffer(($0, 24), "int32")):
    T.func_attr({"tilewright.constant_params": [1]})
    for i, j, k in T.grid($0, 24, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
)",
                                              rows, a);
    Form(text, *NamedTarget("x86-znver3"));
    EXPECT_EQ(converts_, converts) << a << " " << rows;
    EXPECT_EQ(names_.size(), converts ? 3u : 1u) << a << " " << rows;
  }
}

}  // namespace
}  // namespace tilewright

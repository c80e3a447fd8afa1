// The blocks that importers put together, against plain loops.
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/broadcast.h"
#include "ir/ops/determinant.h"
#include "ir/ops/indexing.h"
#include "ir/ops/movement.h"
#include "ir/ops/product.h"
#include "ir/ops/reduction.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"
#include "ir/ops/selection.h"
#include "ir/ops/window_nd.h"
#include "ir/structural.h"

namespace tilewright::ops {
namespace {

constexpr DataType kF32 = DataType::Float(32);
constexpr DataType kInt64 = DataType::Int(64);
const double kNan = std::nan(""), kInf = std::numeric_limits<double>::infinity();

NDArray Array(DataType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  NDArray array(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.Set(static_cast<int64_t>(i), values[i]);
  return array;
}

// The only output of a function on these inputs; `shape` is the output's.
NDArray ResultOf(const Function& f, const std::vector<NDArray>& inputs, std::vector<int64_t> shape) {
  std::vector<interp::Argument> arguments(inputs.begin(), inputs.end());
  NDArray result(f->params.back().buffer->dtype, std::move(shape));
  arguments.emplace_back(result);
  const auto program = interp::Compile(f, interp::CompileOptions::AllChecks());
  EXPECT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(arguments);
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

std::vector<double> Numbers(const NDArray& array) {
  std::vector<double> values;
  for (int64_t i = 0; i < array.size(); ++i) values.push_back(array.Get(i));
  return values;
}

// One program at sizes that broadcast and at equal ones.
TEST(Blocks, SymbolicExtentsBroadcastWhenTheProgramRuns) {
  const Var n("n", kInt64), m("m", kInt64);
  FunctionBuilder f;
  Buffer a = f.Input("a", {n}, kF32), b = f.Input("b", {m}, kF32);
  const Function sum = f.Build({Map(f, "sum", {a, b}, [](const std::vector<Expr>& e) { return e[0] + e[1]; })});
  const NDArray three = Array(kF32, {3}, {1, 2, 3}), one = Array(kF32, {1}, {10});
  EXPECT_EQ(Numbers(ResultOf(sum, {three, one}, {3})), (std::vector<double>{11, 12, 13}));
  EXPECT_EQ(Numbers(ResultOf(sum, {one, three}, {3})), (std::vector<double>{11, 12, 13}));
  EXPECT_EQ(Numbers(ResultOf(sum, {three, three}, {3})), (std::vector<double>{2, 4, 6}));
}

TEST(Blocks, BroadcastShape) {
  const Var n("n", kInt64);
  EXPECT_FALSE(BroadcastShape({{Expr(2)}, {Expr(3)}}).has_value());
  const auto shape = BroadcastShape({{n, Expr(1)}, {Expr(4)}});
  ASSERT_TRUE(shape.has_value());
  EXPECT_TRUE((*shape)[0].same_as(n));
  EXPECT_EQ(AsInt((*shape)[1]), 4);
}

// A length and the part of a table of that length are equal where one of them is one: nothing else is left to decide.
TEST(Blocks, ALengthAndItsBoundAreEqual) {
  const Var n("n", kInt64), m("m", kInt64);
  const Expr bounded = Min(n, Const(kInt64, 512)), one = Const(kInt64, 1);
  for (const auto& [a, b] : {std::pair<Expr, Expr>(n, bounded), {bounded, n}}) {
    const std::vector<Expr> conditions = BroadcastConditions({{a}, {b}});
    ASSERT_EQ(conditions.size(), 1u);
    EXPECT_TRUE(StructuralEqual(conditions[0], a == b));
    EXPECT_TRUE(StructuralEqual((*BroadcastShape({{a}, {b}}))[0], b.same_as(n) ? bounded : Expr(n)));
  }
  EXPECT_TRUE(StructuralEqual(BroadcastConditions({{n}, {m}})[0], Or(Or(n == m, n == one), m == one)));
}

TEST(Blocks, MaximaPassNanOn) {
  FunctionBuilder f;
  Buffer x = f.Input("x", {2, 3}, kF32);
  const Function largest = f.Build({Reduce(f, "largest", Reduction::kMax, x, {1}, false)});
  const NDArray result = ResultOf(largest, {Array(kF32, {2, 3}, {1, kNan, 2, -kInf, -kInf, -kInf})}, {2});
  EXPECT_TRUE(std::isnan(result.Get(0)));
  EXPECT_EQ(result.Get(1), -kInf);
}

TEST(Blocks, PositionsOfExtremes) {
  for (const bool last : {false, true}) {
    FunctionBuilder f;
    Buffer x = f.Input("x", {2, 4}, kF32);
    const Function position = f.Build({ArgExtreme(f, x, 1, false, true, last)});
    const NDArray result = ResultOf(position, {Array(kF32, {2, 4}, {1, 5, 5, 0, kNan, 1, 2, 3})}, {2});
    EXPECT_EQ(Numbers(result), (std::vector<double>{last ? 2.0 : 1.0, 0}));
  }
}

TEST(Blocks, RunningSums) {
  const auto run = [](bool exclusive, bool reverse) {
    FunctionBuilder f;
    Buffer x = f.Input("x", {4}, kF32);
    const Function sums = f.Build({CumulativeSum(f, x, 0, exclusive, reverse)});
    return Numbers(ResultOf(sums, {Array(kF32, {4}, {1, 2, 3, 4})}, {4}));
  };
  EXPECT_EQ(run(false, false), (std::vector<double>{1, 3, 6, 10}));
  EXPECT_EQ(run(true, false), (std::vector<double>{0, 1, 3, 6}));
  EXPECT_EQ(run(false, true), (std::vector<double>{10, 9, 7, 4}));
  EXPECT_EQ(run(true, true), (std::vector<double>{9, 7, 4, 0}));
}

TEST(Blocks, Conversions) {
  const auto convert = [](DataType from, DataType to, const std::vector<double>& values) {
    FunctionBuilder f;
    const auto size = static_cast<int64_t>(values.size());
    Buffer x = f.Input("x", {Expr(size)}, from);
    const Function cast = f.Build({Map(f, "cast", {x}, [&](const std::vector<Expr>& e) { return Convert(to, e[0]); })});
    return Numbers(ResultOf(cast, {Array(from, {size}, values)}, {size}));
  };
  EXPECT_EQ(convert(kF32, DataType::Int(8), {-1.9, 1.9, 300, 3e9}), (std::vector<double>{-1, 1, 44, 0}));
  const double least = -std::ldexp(1.0, 31);
  EXPECT_EQ(convert(kF32, DataType::Int(32), {-1.9, 2147483520, 3e9, -3e9, kNan}),
            (std::vector<double>{-1, 2147483520, least, least, least}));
  EXPECT_EQ(convert(DataType::Float(64), DataType::Int(32), {2147483647, -2147483648, 2147483648}),
            (std::vector<double>{2147483647, least, least}));
  EXPECT_EQ(convert(kF32, DataType::UInt(32), {3e9}), (std::vector<double>{3e9}));
  EXPECT_EQ(convert(kF32, DataType::Int(64), {kNan, 1e30}), (std::vector<double>(2, -std::ldexp(1.0, 63))));
  EXPECT_EQ(convert(kF32, DataType::Bool(), {0, 0.5, kNan}), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(convert(DataType::Bool(), kF32, {0, 1}), (std::vector<double>{0, 1}));
}

TEST(Blocks, DivisionOfIntegers) {
  const DataType i32 = DataType::Int(32);
  FunctionBuilder f;
  Buffer a = f.Input("a", {6}, i32), b = f.Input("b", {6}, i32);
  Buffer quotient = Map(f, "q", {a, b}, [](const std::vector<Expr>& e) { return IntegerQuotient(e[0], e[1]); });
  const Function divide = f.Build({quotient});
  const NDArray x = Array(i32, {6}, {7, -7, 7, -7, 5, 5}), y = Array(i32, {6}, {2, 2, -2, -2, 0, -1});
  EXPECT_EQ(Numbers(ResultOf(divide, {x, y}, {6})), (std::vector<double>{3, -3, -3, 3, 0, -5}));
}

TEST(Blocks, PadModes) {
  const auto pad = [](PadMode mode, int64_t before, int64_t after, size_t size) {
    FunctionBuilder f;
    Buffer x = f.Input("x", {4}, kF32);
    const Function padded = f.Build({PadAround(f, x, {Expr(before)}, {Expr(after)}, mode, ConstFloat(kF32, 9))});
    return Numbers(ResultOf(padded, {Array(kF32, {4}, {0, 1, 2, 3})}, {static_cast<int64_t>(size)}));
  };
  EXPECT_EQ(pad(PadMode::kConstant, 1, 2, 7), (std::vector<double>{9, 0, 1, 2, 3, 9, 9}));
  EXPECT_EQ(pad(PadMode::kConstant, -1, -1, 2), (std::vector<double>{1, 2}));
  EXPECT_EQ(pad(PadMode::kEdge, 2, 1, 7), (std::vector<double>{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(pad(PadMode::kReflect, 2, 3, 9), (std::vector<double>{2, 1, 0, 1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(pad(PadMode::kWrap, 1, 2, 7), (std::vector<double>{3, 0, 1, 2, 3, 0, 1}));
}

TEST(Blocks, ScatterTakesTurns) {
  FunctionBuilder f;
  Buffer x = f.Input("x", {3}, kF32), i = f.Input("i", {4}, kInt64), u = f.Input("u", {4}, kF32);
  const Function scatter = f.Build({ScatterElements(f, x, i, u, 0, ScatterMode::kAdd)});
  const NDArray result = ResultOf(
      scatter, {Array(kF32, {3}, {0, 0, 0}), Array(kInt64, {4}, {0, -1, 0, 2}), Array(kF32, {4}, {1, 2, 3, 4})}, {3});
  EXPECT_EQ(Numbers(result), (std::vector<double>{4, 0, 6}));
}

// Equal elements stand in the order of their positions; NaN is larger than all numbers.
TEST(Blocks, FirstElementsOfLines) {
  const auto run = [](const std::vector<double>& x, int64_t count, bool largest, bool places) {
    FunctionBuilder f;
    const auto n = static_cast<int64_t>(x.size());
    const Buffer in = f.Input("x", {Const(kInt64, n), Const(kInt64, 1)}, kF32);
    const Selected best = TopK(f, in, 0, count, largest);
    // The results' other one is an inner value.
    const Function top = f.Build({places ? best.positions : best.values});
    return Numbers(ResultOf(top, {Array(kF32, {n, 1}, x)}, {count, 1}));
  };
  EXPECT_EQ(run({1, 3, -2, 3, 0}, 3, true, false), (std::vector<double>{3, 3, 1}));
  EXPECT_EQ(run({1, 3, -2, 3, 0}, 3, true, true), (std::vector<double>{1, 3, 0}));
  EXPECT_EQ(run({1, 3, -2, 3, 0}, 5, false, true), (std::vector<double>{2, 4, 0, 1, 3}));
  EXPECT_EQ(run({1, kNan, kInf, kNan}, 3, true, true), (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(run({kNan, 1, kInf, kNan}, 4, false, true), (std::vector<double>{1, 2, 0, 3}));
  EXPECT_EQ(run({-0.0, 0, -0.0}, 2, false, true), (std::vector<double>{0, 1}));
}

TEST(Blocks, Determinants) {
  const auto run = [](int64_t n, const std::vector<double>& x) {
    FunctionBuilder f;
    const auto batch = n == 0 ? 1 : static_cast<int64_t>(x.size()) / (n * n);
    const Buffer in = f.Input("x", {Const(kInt64, batch), Const(kInt64, n), Const(kInt64, n)}, kF32);
    const Function determinant = f.Build({Determinant(f, in)});
    return Numbers(ResultOf(determinant, {Array(kF32, {batch, n, n}, x)}, {batch}));
  };
  EXPECT_EQ(run(1, {5, -2}), (std::vector<double>{5, -2}));
  EXPECT_EQ(run(2, {0, 1, 1, 0, 1, 2, 3, 4}), (std::vector<double>{-1, -2}));
  // Upper triangular behind two exchanges; singular; a column of zeros in front of an infinity.
  EXPECT_EQ(run(3, {0, 0, 4, 2, 7, 1, 0, 3, 5}), (std::vector<double>{24}));
  EXPECT_EQ(run(3, {1, 2, 3, 2, 4, 6, 1, 0, 1}), (std::vector<double>{0}));
  EXPECT_EQ(run(2, {0, kInf, 0, 1}), (std::vector<double>{0}));
  EXPECT_TRUE(std::isnan(run(2, {kNan, 1, 1, 1})[0]));
  EXPECT_EQ(run(0, {}), (std::vector<double>{1}));
}

TEST(Blocks, EinsteinSums) {
  EXPECT_FALSE(ParseEinsum("ij,jk->ik", {2}).has_value());
  EXPECT_FALSE(ParseEinsum("ij->iz", {2}).has_value());
  EXPECT_FALSE(ParseEinsum("ijk->i", {2}).has_value());
  const auto run = [](const char* equation, std::vector<int64_t> shape) {
    FunctionBuilder f;
    Buffer x = f.Input("x", {2, 2}, kF32);
    const auto labels = ParseEinsum(equation, {2});
    EXPECT_TRUE(labels.has_value()) << equation;
    const auto extents = EinsumExtents(*labels, {x->shape});
    const Function einsum = f.Build({Einsum(f, *labels, *extents, {x})});
    return Numbers(ResultOf(einsum, {Array(kF32, {2, 2}, {1, 2, 3, 4})}, std::move(shape)));
  };
  EXPECT_EQ(run("ii", {}), (std::vector<double>{5}));
  EXPECT_EQ(run("i i -> i", {2}), (std::vector<double>{1, 4}));
  EXPECT_EQ(run("ba", {2, 2}), (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(run("...j->...", {2}), (std::vector<double>{3, 7}));
}

TEST(Blocks, LastWindowDoesNotBeginInThePadding) {
  const Window window{.kernel = 2, .stride = 3, .after = 1};
  EXPECT_EQ(AsInt(Positions(Expr(3), window, /*ceil=*/true)), 1);
  EXPECT_EQ(AsInt(Positions(Expr(4), window, /*ceil=*/true)), 2);
  EXPECT_EQ(AsInt(Positions(Expr(5), {.kernel = 2, .stride = 2}, /*ceil=*/true)), 3);
}

TEST(Blocks, WindowsThatOverlapAreAdded) {
  const Var n("n", kInt64);
  FunctionBuilder f;
  Buffer x = f.Input("x", {n, 4, 3}, kInt64);
  const Function fold = f.Build({FoldWindows(f, x, {{.kernel = 2}}, {4}, kInt64)});
  const NDArray windows = Array(kInt64, {1, 4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(Numbers(ResultOf(fold, {windows}, {1, 2, 4})), (std::vector<double>{1, 6, 8, 6, 7, 18, 20, 12}));
}

TEST(Blocks, SoftmaxOfMaskedRows) {
  FunctionBuilder f;
  Buffer x = f.Input("x", {2, 2}, kF32);
  const Function softmax = f.Build({SoftmaxOver(f, x, {1})});
  const NDArray result = ResultOf(softmax, {Array(kF32, {2, 2}, {-kInf, 0, -kInf, -kInf})}, {2, 2});
  EXPECT_EQ(result.Get(0), 0);
  EXPECT_EQ(result.Get(1), 1);
  EXPECT_TRUE(std::isnan(result.Get(2)));
}

}  // namespace
}  // namespace tilewright::ops

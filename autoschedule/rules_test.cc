// Every operator of ir/ops, and programs of other forms, through AutoSchedule: the result is verified, computes what
// the unscheduled program does, and runs as machine code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autoschedule/normalize/normal_form.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "ir/builder.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/ops/requantize.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/layout/hoist_prepack.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ops::OperandTypes;
constexpr DataType kF32 = DataType::Float(32);

// What interp cannot know: reordered sums of inexact terms and the polynomials' last places.
constexpr double kTolerance = 1e-5;
constexpr double kBFloat16Place = 0x1p-7;  // relative: values in between are rounded up or down

NDArray ArrayFor(const Buffer& buffer, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  NDArray array(buffer->dtype, std::move(shape));
  FillIntegers(array, seed);
  return array;
}

void RunWithAllChecks(const Function& function, const std::vector<interp::Argument>& arguments) {
  absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(arguments);
  ASSERT_TRUE(status.ok()) << status;
}

int CountLoops(const Function& function, ForKind kind) {
  int count = 0;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    count += loop != nullptr && loop->kind == kind;
    return true;
  });
  return count;
}

struct Expected {
  bool exact = true;  // the same numbers bit for bit, on small integers
  bool vectorized = true, parallel = true;
  bool in_place = false;  // the last parameter has values that count
};

void ExpectRight(const Function& op, const Expected& expected = {}) {
  for (const char* target_name : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
    SCOPED_TRACE(target_name);
    const Target target = *NamedTarget(target_name);
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Module module(op);
    const AutoScheduled result = AutoSchedule(module, target, &intrins);
    const Function main = result.schedule.module().Find("main");
    const VerifyResult verified = VerifyProgram(main);
    ASSERT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, main);
    if (expected.vectorized) EXPECT_GT(CountLoops(main, ForKind::kVectorized), 0);
    if (expected.parallel) EXPECT_GT(CountLoops(main, ForKind::kParallel), 0);

    std::vector<interp::Argument> before, after;
    const size_t outputs = op->params.size() - 1;
    for (size_t i = 0; i < op->params.size(); ++i) {
      const NDArray array = ArrayFor(op->params[i].buffer, i);
      before.emplace_back(array);
      after.emplace_back(i < outputs ? array : ArrayFor(op->params[i].buffer, expected.in_place ? i : 99));
    }
    RunWithAllChecks(op, before);
    RunWithAllChecks(main, after);
    const NDArray &want = before.back().array, &got = after.back().array;
    if (expected.exact) {
      EXPECT_TRUE(BitEqual(want, got)) << MaxError(want, got).position;
    } else {
      const double place = want.dtype() == DataType::BFloat16() ? kBFloat16Place : 0;
      for (int64_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(want.Get(i), got.Get(i), kTolerance + place * std::abs(want.Get(i))) << i;
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(op), HostTarget(), &intrins);
  EXPECT_EQ(testing::CompareWithInterpreter(result.schedule.module(), {.tolerance = 1e-4, .parallel = true}), "");
}

// Programs whose blocks have an order.
TEST(Rules, BlocksThatReadWhatTheyWrite) {
  // Channels run at once, steps of time in turn.
  ExpectRight(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((64, 128), "float32"), Y: T.Buffer((64, 129), "float32")):
    for c in range(64):
        with T.block("start"):
            vc = T.axis.spatial(64, c)
            Y[vc, 0] = X[vc, 0]
    for c, t in T.grid(64, 128):
        with T.block("Y"):
            vc, vt = T.axis.remap("SS", [c, t])
            Y[vc, vt + 1] = X[vc, vt] - Y[vc, vt]
)"),
              {.vectorized = false, .parallel = false});
  ExpectRight(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), A: T.Buffer((34, 66), "float32")):
    for i, j in T.grid(32, 64):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj + 1] = A[vi, vj + 1] - A[vi + 1, vj] + A[vi + 1, vj + 2]
)"),
              {.vectorized = false, .parallel = false, .in_place = true});
}

TEST(Rules, ReductionsThatKeepTheirOrder) {
  const auto row = [](const char* update) {
    return ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((64, 96), "int32"), R: T.Buffer((64,), "int32")):
    for i, k in T.grid(64, 96):
        with T.block("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = 0
            R[vi] = )") + update +
                              "\n");
  };
  constexpr Expected kAny = {.vectorized = false, .parallel = false};
  ExpectRight(row("A[vi, vk] - R[vi]"), kAny);
  ExpectRight(row("R[vi] % 1000 * 31 + A[vi, vk]"), kAny);
  ExpectRight(row("T.if_then_else(A[vi, vk] > 1, vk, R[vi])"), kAny);
  // The first of the greatest, of which there are many.
  ExpectRight(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 96), "int32"), V: T.Buffer((64,), "int32"), J: T.Buffer((64,), "int32")):
    for i, k in T.grid(64, 96):
        with T.block("J"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                J[vi] = -1
                V[vi] = -100
            j: T.int32 = T.Select(V[vi] >= A[vi, vk], J[vi], vk)
            x: T.int32 = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
            J[vi] = j
            V[vi] = x
)"),
              kAny);
}

constexpr Expected kInexact = {.exact = false};
// Too little work for threads.
constexpr Expected kSmall = {.parallel = false};

TEST(Rules, Elementwise) {
  ExpectRight(ops::Add({37, 131}));
  ExpectRight(ops::Relu({5, 1031}));
  ExpectRight(ops::Relu({7}), {.vectorized = true, .parallel = false});
  ExpectRight(ops::Gelu({33, 129}), kInexact);
  ExpectRight(ops::BiasAdd({3, 17, 19, 23}));
  ExpectRight(ops::Add({64, 80}, DataType::Int(8)));
  ExpectRight(ops::Add({16, 300}, DataType::Float(64)));
}

TEST(Rules, Pooling) {
  ExpectRight(ops::MaxPool(2, 13, 11, 19, {.kernel = 3, .stride = 2, .padding = 1}));
  ExpectRight(ops::AveragePool(1, 9, 9, 40, {.kernel = 2, .stride = 2}), kInexact);
  ExpectRight(ops::GlobalAveragePool(1, 7, 7, 133), kInexact);
  ExpectRight(ops::MaxPool(3, 7, 9, 5, {.kernel = 5, .stride = 1, .padding = 2}));
}

TEST(Rules, Depthwise) {
  ExpectRight(ops::Depthwise(1, 11, 13, 32, {.kernel = 3, .stride = 1, .padding = 1}));
  ExpectRight(ops::Depthwise(1, 14, 14, 24, {.kernel = 3, .stride = 2, .padding = 1}));
  ExpectRight(ops::Depthwise(2, 9, 7, 5, {.kernel = 3, .stride = 1, .padding = 0, .dilation = 2}), kSmall);
  // Channels that fill no whole vectors, windows too large to be written out.
  ExpectRight(ops::Depthwise(1, 12, 13, 3, {.kernel = 3, .stride = 1, .padding = 1}));
  ExpectRight(ops::Depthwise(1, 13, 13, 40, {.kernel = 5, .stride = 2, .padding = 2}));
  ExpectRight(ops::Depthwise(3, 9, 10, 33, {.kernel = 7, .stride = 1, .padding = 3}));
  ExpectRight(ops::Depthwise(1, 6, 6, 8, {.kernel = 1}, 6), {.vectorized = false, .parallel = true});
}

TEST(Rules, Rows) {
  ExpectRight(ops::Softmax(19, 133), kInexact);
  ExpectRight(ops::RowNorm(37, 131), kInexact);
  ExpectRight(ops::RowNorm(37, 3), {.exact = false, .vectorized = false, .parallel = false});
  ExpectRight(ops::RowNorm(37, 136), kInexact);
  ExpectRight(ops::Softmax(19, 128), kInexact);
  ExpectRight(ops::LayerNorm(23, 192), kInexact);
  ExpectRight(ops::LayerNorm(23, 129), kInexact);
  ExpectRight(ops::Softmax(37, 7), kInexact);
  ExpectRight(ops::Softmax(5, 333), kInexact);
  for (const ops::RowTypes& types : {ops::RowTypes{DataType::BFloat16(), DataType::BFloat16()},
                                     ops::RowTypes{DataType::UInt(8)}, ops::RowTypes{DataType::Int(8)}}) {
    ExpectRight(ops::Softmax(19, 133, types), kInexact);
    ExpectRight(ops::RowNorm(37, 131, types), kInexact);
    ExpectRight(ops::LayerNorm(23, 192, 1e-5, types), kInexact);
    ExpectRight(ops::LayerNorm(23, 129, 1e-5, types), kInexact);
  }
}

TEST(Rules, Convolutions) {
  ExpectRight(
      ops::ConvBnRelu({.spatial = {9, 9}, .in_channels = 5, .out_channels = 19, .windows = ops::Same({3, 1, 1}, 2)}));
  ExpectRight(ops::Conv(
      {.spatial = {7, 9}, .in_channels = 8, .out_channels = 12, .windows = ops::Same({3, 2, 1}, 2), .groups = 4}));
  // Several groups in a vector.
  ExpectRight(ops::Conv(
      {.spatial = {9, 7}, .in_channels = 32, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 2), .groups = 8}));
  ExpectRight(ops::Conv(
      {.spatial = {9, 7}, .in_channels = 16, .out_channels = 32, .windows = ops::Same({5, 2, 2}, 2), .groups = 8}));
  ExpectRight(ops::Conv(
      {.spatial = {9, 7}, .in_channels = 48, .out_channels = 48, .windows = ops::Same({1, 1, 0}, 2), .groups = 24}));
  ExpectRight(
      ops::Conv({.spatial = {5, 6, 7}, .in_channels = 3, .out_channels = 18, .windows = ops::Same({3, 1, 1}, 3)}));
  // Windows of which some lie outside of the image as a whole, and of which tiles see both ends.
  ExpectRight(
      ops::Conv({.spatial = {5, 7}, .in_channels = 8, .out_channels = 24, .windows = ops::Same({2, 1, 4, 3}, 2)}));
  ExpectRight(
      ops::Conv({.spatial = {4, 13}, .in_channels = 3, .out_channels = 40, .windows = ops::Same({5, 2, 6, 1}, 2)}));
  ExpectRight(ops::ConvTranspose(1, 5, 7, 6, 20, {.kernel = 4, .stride = 2, .padding = 1}));
  ExpectRight(ops::ConvTranspose(2, 4, 3, 5, 9, {.kernel = 3, .stride = 1, .padding = 0}));
  ExpectRight(ops::ConvTranspose(1, 4, 5, 6, 17, {.kernel = 5, .stride = 3, .padding = 2}));
  ExpectRight(ops::ConvTranspose(1, 5, 4, 6, 17, {.kernel = 3, .stride = 2, .padding = 1}));
}

// Phases are columns beside the few channels, and what is cut off of the output is not stored at all.
TEST(Rules, JoinsPhasesOfFewChannels) {
  struct Case {
    int64_t batch, channels;
    ops::Window window;
    int64_t columns, taps;  // of the product
  };
  for (const Case& c : {Case{1, 3, {.kernel = 4, .stride = 2, .padding = 1}, 12, 3},
                        Case{2, 3, {.kernel = 3, .stride = 2, .padding = 1}, 12, 2},
                        Case{1, 8, {.kernel = 4, .stride = 2, .padding = 1}, 16, 2},
                        Case{1, 3, {.kernel = 2, .stride = 2, .padding = 0}, 12, 0},
                        Case{1, 5, {.kernel = 5, .stride = 3, .padding = 1}, 15, 0},
                        Case{1, 1, {.kernel = 4, .stride = 2, .padding = 1}, 4, 3},
                        // Nothing is saved.
                        Case{1, 16, {.kernel = 4, .stride = 2, .padding = 1}, 16, 2}}) {
    SCOPED_TRACE(c.channels * 100 + c.window.kernel * 10 + c.window.stride);
    const Function op = MarkConstant(ops::ConvTranspose(c.batch, 5, 7, 6, c.channels, c.window), {1});
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Target target = *NamedTarget("x86-znver4");
    Schedule sch{Module(op)};
    Choices choices = Choices::Preferred();
    BringIntoNormalForm(sch, "main", target, choices);
    const Block product = RealizeOf(sch, *sch.GetBlock("conv2d_transpose_nhwc")).block;
    std::vector<int64_t> columns, taps;
    for (const IterVar& iter : product->iter_vars) {
      (iter.kind == IterKind::kReduce ? taps : columns).push_back(*ExtentOf(iter));
    }
    EXPECT_EQ(columns.back(), c.columns);
    if (c.taps != 0) EXPECT_EQ(taps[0], c.taps);

    const AutoScheduled result = AutoSchedule(Module(op), target, &intrins);
    const Function main = result.schedule.module().Find("main"),
                   prepack = result.schedule.module().Find("main_prepack");
    ASSERT_TRUE(prepack);
    EXPECT_EQ(CountLoops(main, ForKind::kParallel), 1);
    const VerifyResult verified = VerifyProgram(main);
    EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, main);
    const NDArray a = ArrayFor(op->params[0].buffer, 1), b = ArrayFor(op->params[1].buffer, 2);
    const NDArray packed = ArrayFor(prepack->params[1].buffer, 5);
    const NDArray want = ArrayFor(op->params[2].buffer, 3), got = ArrayFor(op->params[2].buffer, 4);
    RunWithAllChecks(op, {a, b, want});
    RunWithAllChecks(prepack, {b, packed});
    RunWithAllChecks(main, {a, packed, got});
    EXPECT_TRUE(BitEqual(want, got)) << MaxError(want, got).position;
    EXPECT_EQ(testing::CompareWithInterpreter(result.schedule.module(), {.tolerance = 1e-4, .parallel = true}), "");
  }
}

TEST(Rules, Products) {
  ExpectRight(ops::TransposeBatchMatmul(2, 13, 3, 20));
  ExpectRight(ops::Matmul(23, 37, 28, OperandTypes::Float32(), true));
  ExpectRight(ops::Matmul(1, 67, 129));
  ExpectRight(ops::Matmul(67, 1, 129), {.vectorized = false});
  ExpectRight(ops::Matmul(23, 40, 17, *OperandTypes::Parse("bf16")));
  ExpectRight(ops::Matmul(23, 40, 17, *OperandTypes::Parse("u8s8")));
  ExpectRight(ops::MatmulRequantize(9, 33, 20, *OperandTypes::Parse("u8s8"), {.scale = 0.0625, .zero_point = 3}));
  ExpectRight(
      ops::ConvRequantize({.spatial = {6, 6}, .in_channels = 8, .out_channels = 20, .windows = ops::Same({3, 1, 1}, 2)},
                          *OperandTypes::Parse("s8s8"), {.scale = 0.03125, .to = DataType::Int(8)}));
}

// Sums over any axes.
TEST(Rules, Reductions) {
  for (const std::vector<int>& reduced :
       {std::vector<int>{0}, {1}, {2}, {3}, {0, 1}, {1, 3}, {0, 3}, {0, 2}, {2, 3}, {0, 1, 2, 3}}) {
    FunctionBuilder f;
    const std::vector<int64_t> shape = {8, 7, 11, 36};
    Buffer a = f.Input("A", {8, 7, 11, 36}, kF32);
    std::vector<ReduceAxis> axes;
    std::vector<Expr> kept;
    for (int d = 0; d < 4; ++d) {
      const bool is_reduced = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
      if (is_reduced) axes.emplace_back("k" + std::to_string(d), shape[static_cast<size_t>(d)]);
      if (!is_reduced) kept.emplace_back(shape[static_cast<size_t>(d)]);
    }
    Buffer b = f.Compute("B", kept, [&](const std::vector<Var>& v) {
      std::vector<Expr> at;
      size_t next_kept = 0, next_axis = 0;
      for (int d = 0; d < 4; ++d) {
        const bool is_reduced = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
        at.push_back(is_reduced ? Expr(axes[next_axis++]) : Expr(v[next_kept++]));
      }
      return Sum(a.Load(at), axes);
    });
    ExpectRight(f.Build({b}));
  }
}

// Rows that continue each other are summed over the outer dimension as one, where that is by whole vectors and there is
// enough to sum.
TEST(Rules, SumsPlanesFirst) {
  struct Case {
    int64_t planes, rows, row;
    bool first;
  };
  for (const Case& c : {Case{6, 8, 12, true}, {4, 3, 32, true}, {2, 8, 12, false}, {6, 10, 7, false}}) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {c.planes, 5, c.rows, c.row}, kF32);
    const ReduceAxis n("n", c.planes), w("w", c.row);
    Buffer b = f.Compute("B", {5, static_cast<int>(c.rows)},
                         [&](const std::vector<Var>& v) { return Sum(a.Load({n, v[0], v[1], w}), {n, w}); });
    const Function op = f.Build({b});
    ExpectRight(op, {.parallel = c.planes * c.rows * c.row * 5 >= 1024});
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-znver4"), &intrins);
    const std::string text = Print(result.schedule.module().Find("main"));
    const std::string plane = "T.alloc_buffer((5, " + std::to_string(c.rows) + ", " + std::to_string(c.row) + "))";
    EXPECT_EQ(text.find(plane) != text.npos, c.first) << text;
  }
}

TEST(Rules, SumsThatAreAddedToAnArray) {
  ExpectRight(ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((19, 33), "float32"), Y: T.Buffer((19, 47), "float32"), A: T.Buffer((33, 47), "float32")):
          for k, i, j in T.grid(19, 33, 47):
              with T.block("A"):
                  vk, vi, vj = T.axis.remap("RSS", [k, i, j])
                  A[vi, vj] = A[vi, vj] + X[vk, vi] * Y[vk, vj])"),
              {.in_place = true});
  ExpectRight(ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((33, 67), "float32"), A: T.Buffer((33,), "float32")):
          for i, k in T.grid(33, 67):
              with T.block("A"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  A[vi] = A[vi] + X[vi, vk])"),
              {.in_place = true});
}

TEST(Rules, ProductsOfManyFactors) {
  ExpectRight(ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((13, 7), "float32"), W: T.Buffer((18, 7, 9), "float32"), Z: T.Buffer((13, 9), "float32"), Y: T.Buffer((13, 18), "float32")):
          for b, o, i, j in T.grid(13, 18, 7, 9):
              with T.block("Y"):
                  vb, vo, vi, vj = T.axis.remap("SSRR", [b, o, i, j])
                  with T.init():
                      Y[vb, vo] = T.float32(0)
                  Y[vb, vo] = Y[vb, vo] + X[vb, vi] * W[vo, vi, vj] * Z[vb, vj])"));
  // Factors that are not elements, on both sides.
  ExpectRight(ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((13, 7), "float32"), W: T.Buffer((7, 18), "float32"), s: T.Buffer((18,), "float32"), Y: T.Buffer((13, 18), "float32")):
          for b, o, k in T.grid(13, 18, 7):
              with T.block("Y"):
                  vb, vo, vk = T.axis.remap("SSR", [b, o, k])
                  with T.init():
                      Y[vb, vo] = T.float32(0)
                  Y[vb, vo] = Y[vb, vo] + (X[vb, vk] - T.float32(1)) * (W[vk, vo] * s[vo]) * T.float32(2))"));
  // Padding inside of the sum.
  ExpectRight(ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((11, 5), "float32"), W: T.Buffer((3, 5, 20), "float32"), Y: T.Buffer((11, 20), "float32")):
          for x, o, r, c in T.grid(11, 20, 3, 5):
              with T.block("Y"):
                  vx, vo, vr, vc = T.axis.remap("SSRR", [x, o, r, c])
                  with T.init():
                      Y[vx, vo] = T.float32(0)
                  Y[vx, vo] = Y[vx, vo] + T.if_then_else(1 <= vx + vr and vx + vr < 12, X[vx + vr - 1, vc], T.float32(0)) * W[vr, vc, vo])"));
}

TEST(Rules, ZeroPoints) {
  const Function program = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((13, 22), "uint8"), B: T.Buffer((22, 18), "int8"), z: T.Buffer((18,), "int32"), C: T.Buffer((13, 18), "int32")):
          for i, j, k in T.grid(13, 18, 22):
              with T.block("C"):
                  vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                  with T.init():
                      C[vi, vj] = 0
                  C[vi, vj] = C[vi, vj] + (T.Cast("int32", A[vi, vk]) - 128) * (T.Cast("int32", B[vk, vj]) - z[vj]))");
  ExpectRight(program);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(program), *NamedTarget("x86-znver4"), &intrins);
  EXPECT_NE(Print(result.schedule.module()).find("T.dot_add("), std::string::npos);
}

TEST(Rules, Requantization) {
  const OperandTypes u8s8 = *OperandTypes::Parse("u8s8"), s8s8 = *OperandTypes::Parse("s8s8");
  const ops::Requantization to_u8 = {.scale = 0.01}, to_s8 = {.scale = 0.01, .to = DataType::Int(8)};
  for (const auto& [types, how] : {std::pair(u8s8, to_u8), std::pair(s8s8, to_s8)}) {
    ExpectRight(ops::WithRequantization(ops::BatchMatmul(2, 9, 40, 24, types), how));
    ExpectRight(ops::WithRequantization(
        ops::ConvTranspose(1, 4, 4, 8, 16, {.kernel = 4, .stride = 2, .padding = 1}, types), how));
  }
}

TEST(Rules, BroadcastTransposeStencil) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {35, 66}, kF32), b = f.Input("B", {66}, kF32);
  Buffer t = f.Compute("T", {66, 35}, [&](Var i, Var j) { return a(j, i) * b(i); });
  ExpectRight(f.Build({t}));

  FunctionBuilder g;
  Buffer x = g.Input("X", {34, 67}, kF32);
  Buffer y = g.Compute("Y", {32, 65}, [&](Var i, Var j) {
    return x(i, j + 1) + x(i + 2, j + 1) + x(i + 1, j) + x(i + 1, j + 2) - x(i + 1, j + 1) * 4;
  });
  ExpectRight(g.Build({y}));
}

// If vectors overlap in one row alone, rows are long runs, which lowering aligns; elsewhere a tile has several rows.
TEST(Rules, TilesOfStencils) {
  const auto stencil = [](bool corners) {
    FunctionBuilder f;
    Buffer x = f.Input("X", {34, 302}, kF32);
    Buffer y = f.Compute("Y", {32, 300}, [&](Var i, Var j) {
      Expr sum = x(i, j + 1) + x(i + 2, j + 1) + x(i + 1, j) + x(i + 1, j + 2) - x(i + 1, j + 1) * 4;
      return corners ? sum + x(i, j) + x(i, j + 2) * 2 + x(i + 2, j) * 3 - x(i + 2, j + 2) : sum;
    });
    return f.Build({y});
  };
  const Target zen4 = *NamedTarget("x86-znver4");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const bool corners : {false, true}) {
    const Function op = stencil(corners);
    const Function scheduled = AutoSchedule(Module(op), zen4, &intrins).schedule.module().Find("main");
    EXPECT_EQ(CountLoops(scheduled, ForKind::kUnrolled), corners ? 1 : 0) << Print(scheduled);
    ExpectRight(op);
  }
}

}  // namespace
}  // namespace tilewright

#include "ir/interp/interp.h"

#include <cmath>
#include <limits>

#include "ir/float_format.h"
#include "ir/interp/testing.h"
#include "ir/ops/matmul.h"

namespace tilewright::interp {
namespace {

TEST(Interp, MatmulInEveryType) {
  for (const char* types : {"f32", "bf16", "f16", "f16f32", "u8s8", "s8s8"}) {
    const ops::OperandTypes operands = *ops::OperandTypes::Parse(types);
    NDArray a(operands.input, {7, 9}), b(operands.weight, {9, 5}), c(operands.output, {7, 5});
    FillIntegers(a, 1);
    FillIntegers(b, 2);
    const absl::Status status = RunOnce(ops::Matmul(7, 5, 9, operands), {a, b, Uninitialized(c)});
    ASSERT_TRUE(status.ok()) << types << status;
    for (int64_t i = 0; i < 7; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 9; ++k) sum += a.Get(i * 9 + k) * b.Get(k * 5 + j);
        EXPECT_EQ(c.Get(i * 5 + j), sum) << types;
      }
    }
  }
}

TEST(Interp, SymbolicExtentsComeFromTheArrays) {
  Var m("m"), n("n"), k("k");
  const Function f = ops::Matmul(m, n, k);
  NDArray a(kF32, {2, 3}), b(kF32, {3, 4}), c(kF32, {2, 4}), wrong(kF32, {5, 4});
  FillIntegers(a, 1);
  FillIntegers(b, 2);
  EXPECT_TRUE(RunOnce(f, {a, b, c}).ok());
  EXPECT_EQ(Text(RunOnce(f, {a, wrong, c})), "INVALID_ARGUMENT: extent 0 of buffer B and of its argument: 3 and 5");
}

TEST(Interp, ArgumentsMustFit) {
  const Function f = ops::Matmul(2, 2, 2);
  NDArray a(kF32, {2, 2}), i(kI32, {2, 2});
  EXPECT_EQ(Text(RunOnce(f, {a, a})), "INVALID_ARGUMENT: function main takes 3 arguments, not 2");
  EXPECT_EQ(Text(RunOnce(f, {a, i, a})),
            "INVALID_ARGUMENT: argument B is int32(2, 2), not a float32 array of 2 dimensions");
  EXPECT_EQ(Text(RunOnce(f, {a, 3, a})),
            "INVALID_ARGUMENT: argument B is a number, not a float32 array of 2 dimensions");
}

TEST(Interp, EachOperationIsRoundedToItsType) {
  // 1 + 2^-9 + 2^-9: in bfloat16 each sum rounds back to 1.
  const DataType bf16 = DataType::BFloat16();
  FunctionBuilder f;
  Buffer in = f.Input("in", {2}, bf16), out = f.Input("out", {1}, bf16);
  f.Store(out, in(0) + in(1) + in(1), {0});
  NDArray a(bf16, {2}), b(bf16, {1});
  a.Set(0, 1);
  a.Set(1, std::ldexp(1.0, -9));
  ASSERT_TRUE(RunOnce(f.Build(), {a, b}).ok());
  EXPECT_EQ(b.Get(0), 1);
}

// All pairs of bit patterns of the 8-bit types and many of the 16-bit ones, against ir/float_format.
TEST(Interp, NarrowFloatArithmetic) {
  for (const char* name : {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}) {
    const DataType type = *DataType::Parse(name);
    constexpr int64_t kCount = 256;
    const int step = type.bits() == 8 ? 1 : 257;
    FunctionBuilder f;
    Buffer a = f.Input("a", {kCount}, type);
    Buffer sum = f.Compute("sum", {kCount, kCount}, [&](Var i, Var j) { return a(i) + a(j); });
    Buffer product = f.Compute("product", {kCount, kCount}, [&](Var i, Var j) { return a(i) * a(j); });
    NDArray in(type, {kCount}), s(type, {kCount, kCount}), p(type, {kCount, kCount});
    for (int64_t i = 0; i < kCount; ++i) in.Set(i, FromBits(type, static_cast<uint64_t>(i * step)));
    ASSERT_TRUE(RunOnce(f.Build({sum, product}), {in, s, p}, {}).ok());
    for (int64_t i = 0; i < kCount * kCount; ++i) {
      const double x = in.Get(i / kCount), y = in.Get(i % kCount);
      const double expected_sum = RoundTo(type, x + y), expected_product = RoundTo(type, x * y);
      if (!std::isnan(expected_sum)) EXPECT_EQ(s.Get(i), expected_sum) << name << " " << x << " + " << y;
      if (!std::isnan(expected_product)) EXPECT_EQ(p.Get(i), expected_product) << name << " " << x << " * " << y;
      EXPECT_EQ(std::isnan(s.Get(i)), std::isnan(expected_sum)) << name << " " << x << " + " << y;
      EXPECT_EQ(std::isnan(p.Get(i)), std::isnan(expected_product)) << name << " " << x << " * " << y;
    }
  }
}

TEST(Interp, MinAndMaxGiveTheSecondOperandForNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Expr number = ConstFloat(kF32, 2), not_a_number = ConstFloat(kF32, nan);
  EXPECT_EQ(ValueOf(Min(not_a_number, number))->Get(0), 2);
  EXPECT_EQ(ValueOf(Max(not_a_number, number))->Get(0), 2);
  EXPECT_TRUE(std::isnan(ValueOf(Min(number, not_a_number))->Get(0)));
  EXPECT_TRUE(std::isnan(ValueOf(Max(number, not_a_number))->Get(0)));
}

TEST(Interp, IntegerDivision) {
  for (int a : {-7, 7}) {
    for (int b : {-2, 2}) {
      const Expr x(a), y(b);
      EXPECT_EQ(ValueOf(Div(x, y))->GetInt(0), a / b);
      EXPECT_EQ(ValueOf(Mod(x, y))->GetInt(0), a % b);
      EXPECT_EQ(ValueOf(FloorDiv(x, y))->GetInt(0), static_cast<int64_t>(std::floor(a / static_cast<double>(b))));
      EXPECT_EQ(ValueOf(FloorMod(x, y))->GetInt(0), a - b * std::floor(a / static_cast<double>(b)));
    }
  }
  EXPECT_EQ(Text(ValueOf(FloorDiv(Expr(1), Expr(0))).status()), "OUT_OF_RANGE: division by zero");
}

TEST(Interp, OverflowOfSignedIsAnErrorOfUnsignedIsNot) {
  const Expr most = Const(kI32, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(Text(ValueOf(most + 1).status()), "OUT_OF_RANGE: signed overflow");
  EXPECT_EQ(Text(ValueOf(Const(DataType::Int(64), INT64_MIN) - Const(DataType::Int(64), 1)).status()),
            "OUT_OF_RANGE: signed overflow");
  EXPECT_EQ(ValueOf(most + 1, {.wrap_signed = true})->GetInt(0), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(ValueOf(Const(DataType::UInt(8), 200) + Const(DataType::UInt(8), 100))->GetInt(0), 44);
  EXPECT_EQ(ValueOf(Const(DataType::UInt(32), 0) - Const(DataType::UInt(32), 1))->GetInt(0), 0xffffffff);
  EXPECT_EQ(ValueOf(Const(DataType::Int(8), 100) + Const(DataType::Int(8), 100))->GetInt(0), -56);
}

TEST(Interp, Casts) {
  const auto cast = [](DataType to, const Expr& value) { return Expr(new CastNode(to, value)); };
  EXPECT_EQ(ValueOf(cast(DataType::Int(8), Expr(200)))->GetInt(0), -56);
  EXPECT_EQ(ValueOf(cast(DataType::UInt(8), Expr(-1)))->GetInt(0), 255);
  EXPECT_EQ(ValueOf(cast(kI32, ConstFloat(kF32, -2.75)))->GetInt(0), -2);
  EXPECT_EQ(ValueOf(cast(DataType::Bool(), Expr(3)))->GetInt(0), 1);
  EXPECT_EQ(ValueOf(cast(kF32, Expr(16777217)))->Get(0), 16777216);
  EXPECT_EQ(Text(ValueOf(cast(DataType::Int(8), ConstFloat(kF32, 300))).status()),
            "OUT_OF_RANGE: conversion of 300 to int8");
}

TEST(Interp, Builtins) {
  const auto call = [](std::string name, std::vector<Expr> args) {
    const DataType dtype = args[0].dtype();
    return Call(dtype, std::move(name), std::move(args));
  };
  const DataType f64 = DataType::Float(64), u8 = DataType::UInt(8), s8 = DataType::Int(8);
  EXPECT_EQ(ValueOf(call("exp", {ConstFloat(f64, 1)}))->Get(0), std::exp(1.0));
  EXPECT_EQ(ValueOf(call("round", {ConstFloat(f64, 2.5)}))->Get(0), 2);
  EXPECT_EQ(ValueOf(call("nearbyint", {ConstFloat(f64, 2.5)}))->Get(0), 2);
  EXPECT_EQ(ValueOf(call("pow", {ConstFloat(f64, 2), ConstFloat(f64, 10)}))->Get(0), 1024);
  const double tiny = std::ldexp(1.0, -24);
  EXPECT_EQ(ValueOf(call("fma", {ConstFloat(kF32, 1 + 0x1p-12), ConstFloat(kF32, 1 - 0x1p-12), ConstFloat(kF32, -1)}))
                ->Get(0),
            -tiny);
  EXPECT_EQ(ValueOf(call("shift_left", {Const(u8, 3), Const(u8, 7)}))->GetInt(0), 128);
  EXPECT_EQ(ValueOf(call("shift_right", {Const(s8, -8), Const(s8, 1)}))->GetInt(0), -4);
  EXPECT_EQ(ValueOf(call("popcount", {Const(s8, -1)}))->GetInt(0), 8);
  EXPECT_EQ(ValueOf(call("clz", {Const(kI32, 1)}))->GetInt(0), 31);
  EXPECT_EQ(ValueOf(call("abs", {Const(kI32, -5)}))->GetInt(0), 5);
  EXPECT_EQ(ValueOf(Call(kI32, "reinterpret", {ConstFloat(kF32, 1)}))->GetInt(0), 0x3f800000);
  EXPECT_EQ(ValueOf(Call(kF32, "reinterpret", {Const(kI32, 0x40000000)}))->Get(0), 2);
  EXPECT_EQ(ValueOf(Call(DataType::Bool(), "isnan", {ConstFloat(kF32, 1)}))->GetInt(0), 0);
  EXPECT_EQ(ValueOf(Call(DataType::Bool(), "isinf", {Call(kF32, "infinity", {})}))->GetInt(0), 1);
}

TEST(Interp, Vectors) {
  const absl::StatusOr<NDArray> ramp = ValueOf(Ramp(3, 2, 4) * Broadcast(Expr(10), 4));
  ASSERT_TRUE(ramp.ok());
  EXPECT_EQ(ramp->GetInt(0), 30);
  EXPECT_EQ(ramp->GetInt(3), 90);
  const absl::StatusOr<NDArray> picked = ValueOf(Expr(new ShuffleNode({Ramp(0, 1, 4), Ramp(10, 1, 4)}, {7, 0, 4})));
  EXPECT_EQ(picked->GetInt(0), 13);
  EXPECT_EQ(picked->GetInt(1), 0);
  EXPECT_EQ(picked->GetInt(2), 10);
  const absl::StatusOr<NDArray> chosen =
      ValueOf(Select(Ramp(0, 1, 4) < Broadcast(Expr(2), 4), Ramp(0, 1, 4), Broadcast(Expr(-1), 4)));
  EXPECT_EQ(chosen->GetInt(1), 1);
  EXPECT_EQ(chosen->GetInt(2), -1);
}

TEST(Interp, MaskedAccessesTouchNoOtherMemory) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {3}, kF32), b = f.Input("B", {3}, kF32);
  const Expr at = Ramp(0, 1, 4), mask = at < Broadcast(Expr(3), 4);
  f.Add(Store(b, a.Load({at}, mask) + 1, {at}, mask));
  NDArray in(kF32, {3}), out(kF32, {3});
  FillIntegers(in, 1);
  ASSERT_EQ(Text(RunOnce(f.Build(), {in, Uninitialized(out)})), "OK");
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(out.Get(i), in.Get(i) + 1);
}

TEST(Interp, OnlyTheChosenValueOfIfThenElseIsEvaluated) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kF32);
  Buffer b =
      f.Compute("B", {6}, [&](Var i) { return IfThenElse(And(Expr(1) <= i, i < 5), a(i - 1), ConstFloat(kF32, 0)); });
  NDArray in(kF32, {4}), out(kF32, {6});
  FillUniform(in, 1);
  ASSERT_EQ(Text(RunOnce(f.Build({b}), {in, Uninitialized(out)})), "OK");
  EXPECT_EQ(out.Get(0), 0);
  EXPECT_EQ(out.Get(1), in.Get(0));
  EXPECT_EQ(out.Get(5), 0);
}

TEST(Interp, LogicEvaluatesTheSecondOperandOnlyWhenNeeded) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kI32), b = f.Input("B", {6}, kI32);
  f.Loop("i", 6, [&](Var i) {
    f.If(And(i < 4, a(i) > 0), [&] { f.Store(b, 1, {i}); });
    f.If(Or(i >= 4, a(i) <= 0), [&] { f.Store(b, 2, {i}); });
  });
  NDArray in(kI32, {4}), out(kI32, {6});
  in.SetInt(1, 5);
  ASSERT_EQ(Text(RunOnce(f.Build(), {in, Uninitialized(out)})), "OK");
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(out.GetInt(i), i == 1 ? 1 : 2);
}

TEST(Interp, LanesMustAgree) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {8, 8}, kI32);
  f.Add(Ref<StoreNode>(new StoreNode(a, Ramp(0, 1, 4), {Ramp(0, 1, 4), Ramp(0, 1, 8)})));
  NDArray x(kI32, {8, 8});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})), "INVALID_ARGUMENT: indices of buffer A of 4 and 8 lanes");
  FunctionBuilder g;
  Buffer b = g.Input("A", {8, 8}, kI32);
  g.Add(Ref<StoreNode>(new StoreNode(b, Ramp(0, 1, 4), {0, Ramp(0, 1, 8)})));
  EXPECT_EQ(Text(RunOnce(g.Build(), {x})), "INVALID_ARGUMENT: 4 lanes are stored into 8 elements of buffer A");
}

TEST(Interp, WhileLetIfAndScalars) {
  // The number of steps of the Collatz sequence of n.
  FunctionBuilder f;
  Var n = f.Scalar("n");
  Buffer out = f.Input("out", {1}, kI32);
  Buffer x = f.Alloc("x", {1}, kI32);
  f.Store(x, n, {0});
  f.Store(out, 0, {0});
  f.While(x(0) != 1, [&] {
    Var old("old");
    f.Add(LetStmt(old, x(0), f.Collect([&] {
      f.If(FloorMod(old, 2) == 0, [&] { f.Store(x, FloorDiv(old, 2), {0}); }, [&] { f.Store(x, old * 3 + 1, {0}); });
    })));
    f.Store(out, out(0) + 1, {0});
  });
  const Function function = f.Build();
  NDArray steps(kI32, {1});
  ASSERT_EQ(Text(RunOnce(function, {27, steps})), "OK");
  EXPECT_EQ(steps.GetInt(0), 111);
  EXPECT_EQ(Text(RunOnce(function, {0, steps}, {}, {.max_steps = 1000})),
            "RESOURCE_EXHAUSTED: the program takes too many steps");
}

TEST(Interp, AssertionsStopTheProgram) {
  FunctionBuilder f;
  Var n = f.Scalar("n");
  f.Add(Stmt(Ref<AssertNode>(new AssertNode(n < 3, "n is small"))));
  const Function function = f.Build();
  EXPECT_TRUE(RunOnce(function, {2}).ok());
  EXPECT_EQ(Text(RunOnce(function, {3})), "FAILED_PRECONDITION: assertion failed: n is small");
}

TEST(Interp, LayoutsSayWhereElementsLie) {
  // A 4x4 buffer in 2x2 tiles; a view of the same memory shows the order.
  Var i("i"), j("j");
  BufferNode::Fields tiled;
  tiled.name = "T";
  tiled.dtype = kI32;
  tiled.shape = {4, 4};
  tiled.layout = {IndexMap({i, j}, {FloorDiv(i, 2), FloorDiv(j, 2), FloorMod(i, 2), FloorMod(j, 2)}), 0, {2, 2, 2, 2}};
  FunctionBuilder f;
  Buffer out = f.Input("out", {16}, kI32);
  f.Block("all", [&](BlockBuilder& block) {
    Buffer t{tiled};
    f.Add(Ref<AllocateNode>(new AllocateNode(t, {}, f.Collect([&] {
      f.Grid({4, 4}, [&](const std::vector<Var>& v) { f.Store(t, v[0] * 4 + v[1], {v[0], v[1]}); });
      BufferNode::Fields flat;
      flat.name = "F";
      flat.dtype = kI32;
      flat.shape = {16};
      flat.data = t->data;
      Buffer view{flat};
      f.Add(Ref<DeclBufferNode>(
          new DeclBufferNode(view, f.Collect([&] { f.Loop("k", 16, [&](Var k) { f.Store(out, view(k), {k}); }); }))));
    }))));
    block.Reads({});
    block.Writes({BufferRegion::Full(out)});
  });
  NDArray order(kI32, {16});
  ASSERT_EQ(Text(RunOnce(f.Build(), {order}, {.check_uninitialized = true})), "OK");
  const int expected[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
  for (int64_t k = 0; k < 16; ++k) EXPECT_EQ(order.GetInt(k), expected[k]);
}

TEST(Interp, UndefinedNamesAreErrors) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4}, kF32), other("other", {4}, kF32);
  Var stray("stray");
  f.Block("b", [&](BlockBuilder& block) {
    block.Reads({});
    f.Store(a, ConstFloat(kF32, 0), {stray});
  });
  NDArray array(kF32, {4});
  EXPECT_EQ(Text(RunOnce(f.Build(), {array})), "INVALID_ARGUMENT: variable stray is not defined");
  FunctionBuilder g;
  Buffer b = g.Input("B", {4}, kF32);
  g.Store(b, other(0), {0});
  EXPECT_EQ(Text(RunOnce(g.Build(), {array})), "INVALID_ARGUMENT: buffer other is not defined where it is used");
}

TEST(Interp, MemoryIsBounded) {
  FunctionBuilder f;
  Var n = f.Scalar("n", DataType::Int(64));
  Buffer t = f.Alloc("t", {n}, kF32);
  f.Store(t, ConstFloat(kF32, 0), {Const(DataType::Int(64), 0)});
  const Function function = f.Build();
  EXPECT_TRUE(RunOnce(function, {100}).ok());
  EXPECT_EQ(Text(RunOnce(function, {int64_t{1} << 40}, {})),
            "RESOURCE_EXHAUSTED: buffer t of 4398046511104 bytes does not fit into the memory that the run may take");
  EXPECT_EQ(Text(RunOnce(function, {-1}, {})), "OUT_OF_RANGE: buffer t has -1 elements");
}

}  // namespace
}  // namespace tilewright::interp

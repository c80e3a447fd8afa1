// Calls: C functions, machine instructions, intrinsics by their description; sub-buffers and pointers.
#include "ir/interp/testing.h"

namespace tilewright::interp {
namespace {

Expr AccessPtr(const Buffer& buffer, Expr offset, int extent, int mask) {
  return Call(DataType::Handle(), "tvm_access_ptr",
              {Call(buffer->dtype, "type_annotation", {}), buffer->data, std::move(offset), Expr(extent), Expr(mask)});
}

// C[16, 16] += 1-d tiles: multiplies a 4x4 tile of A by a scalar, with strides.
extern "C" void scale_tile(float* a, float factor, int64_t rows, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < rows; ++j) a[i * stride + j] *= factor;
  }
}
extern "C" double many_arguments(int64_t a, double b, int64_t c, float d, int32_t e, int64_t f, int64_t g, double h,
                                 int64_t i, int64_t j) {
  return static_cast<double>(a + 2 * c + 3 * e + 4 * f + 5 * g + 6 * i + 7 * j) + b + static_cast<double>(d) + h;
}

TEST(Extern, CFunctionsGetPointersAndNumbers) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {8, 8}, kF32);
  f.Loop("i", 2, [&](Var i) {
    f.Block("scale", [&](BlockBuilder& block) {
      Var v = block.Spatial(2, i);
      block.Reads({{a, {{v * 4, 4}, {4, 4}}}});
      block.Writes({{a, {{v * 4, 4}, {4, 4}}}});
      f.Add(Evaluate(
          Call(kI32, "call_extern",
               {String("scale_tile"), AccessPtr(a, v * 32 + 4, 28, 3), ConstFloat(kF32, 2.5), Expr(4), Expr(8)})));
    });
  });
  NDArray x(kF32, {8, 8});
  FillIntegers(x, 1);
  const NDArray before = x.Clone();
  CompileOptions options = CompileOptions::AllChecks();
  options.environment.externs["scale_tile"] = NativeFunction(reinterpret_cast<void*>(&scale_tile));
  ASSERT_EQ(Text(RunOnce(f.Build(), {x}, options)), "OK");
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(x.Get(i), before.Get(i) * (i % 8 >= 4 ? 2.5 : 1));
}

TEST(Extern, ManyArgumentsOfBothSorts) {
  const DataType i64 = DataType::Int(64), f64 = DataType::Float(64);
  const auto i = [&](int64_t v) { return Const(i64, v); };
  const Expr call = Call(f64, "call_pure_extern",
                         {String("many"), i(1), ConstFloat(f64, 0.5), i(2), ConstFloat(kF32, 0.25), Expr(3), i(4), i(5),
                          ConstFloat(f64, 0.125), i(6), i(7)});
  CompileOptions options;
  options.environment.externs["many"] = NativeFunction(reinterpret_cast<void*>(&many_arguments));
  EXPECT_EQ(ValueOf(call, options)->Get(0), 1 + 4 + 9 + 16 + 25 + 36 + 49 + 0.875);
}

TEST(Extern, MachineInstructionsOnVectors) {
  // Pairs of lanes are added.
  const Expr call = Call(kI32.with_lanes(2), "call_llvm_pure_intrin",
                         {String("llvm.pairs"), Const(DataType::UInt(32), 1), Ramp(1, 1, 4)});
  CompileOptions options;
  options.environment.externs["llvm.pairs"] = [](absl::Span<const ExternArg> args, DataType type,
                                                 absl::Span<Scalar> result) {
    EXPECT_EQ(args.size(), 1u);
    EXPECT_EQ(type, kI32.with_lanes(2));
    for (size_t i = 0; i < result.size(); ++i) result[i].i = args[0].lanes[2 * i].i + args[0].lanes[2 * i + 1].i;
    return absl::OkStatus();
  };
  EXPECT_EQ(ValueOf(call, options)->GetInt(0), 3);
  EXPECT_EQ(ValueOf(call, options)->GetInt(1), 7);
}

TEST(Extern, UnknownNamesAreErrors) {
  const Expr call = Call(kI32, "call_extern", {String("nothing"), Expr(1)});
  EXPECT_EQ(Text(ValueOf(call).status()), "UNIMPLEMENTED: a call of nothing, of which no meaning is known");
}

TEST(Extern, ErrorsOfTheFunctionNameIt) {
  CompileOptions options;
  options.environment.externs["bad"] = [](absl::Span<const ExternArg>, DataType, absl::Span<Scalar>) {
    return absl::InvalidArgumentError("no");
  };
  EXPECT_EQ(Text(ValueOf(Call(kI32, "call_extern", {String("bad")}), options).status()), "INVALID_ARGUMENT: bad: no");
}

TEST(Extern, PointersStayInTheirBuffer) {
  for (int64_t offset : {int64_t{-1}, int64_t{17}, int64_t{1} << 60}) {
    FunctionBuilder f;
    Buffer a = f.Input("A", {16}, kF32);
    f.Block("b", [&](BlockBuilder& block) {
      block.Writes({BufferRegion::Full(a)});
      f.Add(Evaluate(Call(kI32, "call_extern", {String("f"), AccessPtr(a, Expr(offset), 1, 3)})));
    });
    CompileOptions options;
    options.environment.externs["f"] = [](absl::Span<const ExternArg>, DataType, absl::Span<Scalar>) {
      return absl::OkStatus();
    };
    NDArray x(kF32, {16});
    EXPECT_EQ(Text(RunOnce(f.Build(), {x}, options)),
              "OUT_OF_RANGE: out of bounds: a pointer outside of its buffer's memory");
  }
}

// dot: C[0] += sum of A[0:4] * B[0:4], strides of B as in the caller.
Function DotDescription() {
  BufferNode::Fields b_fields;
  b_fields.name = "B";
  b_fields.dtype = kF32;
  b_fields.shape = {4, 1};
  b_fields.strides = {Var("sb"), Var("one")};
  b_fields.elem_offset = Var("b_offset");
  FunctionBuilder f("dot");
  Buffer a = f.Input("A", {4}, kF32), b = f.Input(Buffer(b_fields)), c = f.Input("C", {1}, kF32);
  f.Block("root", [&](BlockBuilder& block) {
    block.Reads({BufferRegion::Full(a), BufferRegion::Full(b), BufferRegion::Full(c)});
    block.Writes({BufferRegion::Full(c)});
    f.Loop("k", 4, [&](Var k) {
      f.Block("dot", [&](BlockBuilder& inner) {
        Var v = inner.Reduce(4, k);
        f.Store(c, c(0) + a(v) * b(v, 0), {0});
      });
    });
  });
  return f.Build();
}

TEST(Intrinsics, MeanWhatTheirDescriptionSays) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {2, 8}, kF32), b = f.Input("B", {8, 3}, kF32), c = f.Input("C", {2, 3}, kF32);
  f.Grid({2, 3, 2}, [&](const std::vector<Var>& v) {
    f.Block("C", [&](BlockBuilder& block) {
      Var i = block.Spatial(2, v[0]), j = block.Spatial(3, v[1]), k = block.Reduce(2, v[2]);
      block.Reads({{a, {{i, 1}, {k * 4, 4}}}, {b, {{k * 4, 4}, {j, 1}}}});
      block.Writes({BufferRegion::Point(c, {i, j})});
      block.Init([&] { f.Store(c, ConstFloat(kF32, 0), {i, j}); });
      f.Add(Evaluate(Call(kI32, "dot",
                          {AccessPtr(a, i * 8 + k * 4, 4, 1), Call(DataType::Handle(), "address_of", {b(k * 4, j)}),
                           AccessPtr(c, i * 3 + j, 1, 3)})));
    });
  });
  const Function description = DotDescription();
  CompileOptions options = CompileOptions::AllChecks();
  options.environment.find_function = [&](std::string_view name) { return name == "dot" ? description : Function(); };
  NDArray x(kF32, {2, 8}), y(kF32, {8, 3}), z(kF32, {2, 3});
  FillIntegers(x, 1);
  FillIntegers(y, 2);
  ASSERT_EQ(Text(RunOnce(f.Build(), {x, y, Uninitialized(z)}, options)), "OK");
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k) sum += x.Get(i * 8 + k) * y.Get(k * 3 + j);
      EXPECT_EQ(z.Get(i * 3 + j), sum);
    }
  }
}

TEST(DotAdd, AddsProductsOfGroups) {
  const auto u8 = [](int v) { return Const(DataType::UInt(8), v); };
  const Expr a = Broadcast(Expr(new ShuffleNode({u8(1), u8(2), u8(3), u8(255)}, {0, 1, 2, 3})), 2);
  const Expr b = Broadcast(Const(DataType::Int(8), -128), 8);
  const Expr c = Ramp(Expr(10), Expr(1), 2);
  const auto value = ValueOf(Call(DataType::Int(32, 2), "dot_add", {c, a, b}));
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->GetInt(0), 10 - 128 * 261);
  EXPECT_EQ(value->GetInt(1), 11 - 128 * 261);
}

TEST(DotAdd, RefusesLanesThatDoNotFit) {
  const Expr a = Broadcast(Const(DataType::Int(8), 1), 6);
  EXPECT_EQ(Text(ValueOf(Call(DataType::Int(32, 4), "dot_add", {Ramp(Expr(0), Expr(1), 4), a, a})).status()),
            "INVALID_ARGUMENT: dot_add of int32x4, int8x6 and int8x6");
}

// Calls that are expanded while a statement is compiled do not answer for each other.
TEST(Lookup, PicksEntriesOfEachTable) {
  const DataType type = DataType::Int(32, 4);
  const auto lookup = [&](int first, int number) {
    return Call(type, "lookup", {Ramp(Expr(first), Expr(1), 2), Ramp(Expr(number), Expr(1), 4)});
  };
  const auto value = ValueOf(lookup(10, 0) * lookup(20, 3) + lookup(5, -1));
  ASSERT_TRUE(value.ok()) << value.status();
  const int64_t expected[] = {10 * 21 + 6, 11 * 20 + 5, 10 * 21 + 6, 11 * 20 + 5};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(value->GetInt(i), expected[i]) << i;
}

TEST(SubBuffers, TakeStridesAndOffsetFromTheirSource) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4, 8, 6}, kI32);
  Var stride("s0"), offset("off");
  BufferNode::Fields with_offset;
  with_offset.name = "W";
  with_offset.dtype = kI32;
  with_offset.shape = {2, 3};
  with_offset.strides = {stride, 1};
  with_offset.elem_offset = offset;
  with_offset.offset_factor = 1;
  BufferNode::Fields without = with_offset;
  without.elem_offset = {};
  without.strides = {Var("s1"), 1};
  Buffer w{with_offset}, v{without};
  f.Loop("i", 4, [&](Var i) {
    f.Block("b", [&](BlockBuilder& block) {
      Var n = block.Spatial(4, i);
      const BufferRegion region{a, {{n, 1}, {n + 1, 2}, {2, 3}}};
      block.Match(w, region);
      block.Match(v, region);
      block.Reads({region});
      block.Writes({region});
      f.Store(w, n * 100 + stride, {1, 2});
      f.Store(v, offset, {0, 0});
    });
  });
  NDArray x(kI32, {4, 8, 6});
  ASSERT_EQ(Text(RunOnce(f.Build(), {x})), "OK");
  for (int64_t n = 0; n < 4; ++n) {
    EXPECT_EQ(x.GetInt((n * 8 + n + 2) * 6 + 4), n * 100 + 6);
    EXPECT_EQ(x.GetInt((n * 8 + n + 1) * 6 + 2), (n * 8 + n + 1) * 6 + 2);
  }
}

TEST(SubBuffers, OfABufferWithALayout) {
  // T lies transposed in memory; a 2x2 part of it is written through a sub-buffer.
  Var i("i"), j("j");
  BufferNode::Fields transposed;
  transposed.name = "T";
  transposed.dtype = kI32;
  transposed.shape = {4, 6};
  transposed.layout = {IndexMap({i, j}, {j, i}), 0, {6, 4}};
  Buffer t{transposed}, part("P", {2, 2}, kI32);
  FunctionBuilder f;
  Buffer out = f.Input("out", {4, 6}, kI32);
  f.Block("all", [&](BlockBuilder& block) {
    block.Reads({});
    block.Writes({BufferRegion::Full(out)});
    f.Add(Ref<AllocateNode>(new AllocateNode(t, {}, f.Collect([&] {
      f.Grid({4, 6}, [&](const std::vector<Var>& v) { f.Store(t, Expr(0), {v[0], v[1]}); });
      f.Block("part", [&](BlockBuilder& inner) {
        const BufferRegion region{t, {{1, 2}, {3, 2}}};
        inner.Match(part, region);
        inner.Writes({region});
        f.Grid({2, 2}, [&](const std::vector<Var>& v) { f.Store(part, v[0] * 10 + v[1] + 1, {v[0], v[1]}); });
      });
      f.Grid({4, 6}, [&](const std::vector<Var>& v) { f.Store(out, t(v[0], v[1]), {v[0], v[1]}); });
    }))));
  });
  NDArray x(kI32, {4, 6});
  ASSERT_EQ(Text(RunOnce(f.Build(), {Uninitialized(x)})), "OK");
  EXPECT_EQ(x.GetInt(1 * 6 + 3), 1);
  EXPECT_EQ(x.GetInt(2 * 6 + 4), 12);
  EXPECT_EQ(x.GetInt(2 * 6 + 5), 0);
}

TEST(SubBuffers, DeclaredStridesMustBeThoseOfTheSource) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {8, 6}, kI32);
  Buffer compact("W", {2, 3}, kI32);
  f.Block("b", [&](BlockBuilder& block) {
    const BufferRegion region{a, {{0, 2}, {0, 3}}};
    block.Match(compact, region);
    block.Writes({region});
    f.Store(compact, Expr(1), {0, 0});
  });
  NDArray x(kI32, {8, 6});
  EXPECT_EQ(Text(RunOnce(f.Build(), {x})), "INVALID_ARGUMENT: stride 0 of the compact W and of its part of A: 3 and 6");
}

}  // namespace
}  // namespace tilewright::interp

// Arguments of calls are bound, or refused with the sentence that says why.
#include "codegen/cuda/call_arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "codegen/abi/abi_type.h"
#include "ir/script/parse_or_die.h"

namespace tilewright::cuda {
namespace {

// A function whose kernel writes the parameters of these names.
DeviceFunction FunctionOf(const std::string& signature, const std::vector<std::string>& written = {}) {
  const Function parsed = ParseFunctionOrDie("@T.prim_func\n" + signature);
  DeviceFunction function{.name = parsed->name, .params = parsed->params};
  Kernel kernel;
  for (const Param& param : parsed->params) {
    if (!param.buffer) continue;
    const bool writes = std::ranges::find(written, param.buffer->name) != written.end();
    kernel.params.push_back({.var = param.buffer->data, .buffer = param.buffer, .written = writes});
  }
  function.kernels.push_back(std::move(kernel));
  return function;
}

struct Argument {
  DataType type = DataType::Float(32);
  std::vector<int64_t> shape = {}, strides = {};
  void* data = nullptr;
  uint64_t byte_offset = 0;
  TwDeviceType device = kTwCpu;
};

class Call {
 public:
  explicit Call(const DeviceFunction& function) {
    auto compiled = CallArguments::Compile(function, &slots_);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    arguments_ = *std::move(compiled);
    values_.assign(slots_.size(), -77);
  }

  Refusal Bind(std::vector<Argument> arguments, TwDeviceType device = kTwCpu) {
    std::vector<TwTensor> tensors;
    for (Argument& a : arguments) {
      tensors.push_back({.data = a.data,
                         .device = {a.device, 0},
                         .ndim = static_cast<int32_t>(a.shape.size()),
                         .dtype = AbiType(a.type),
                         .shape = a.shape.data(),
                         .strides = a.strides.empty() ? nullptr : a.strides.data(),
                         .byte_offset = a.byte_offset});
    }
    std::vector<TwTensor*> args;
    for (TwTensor& tensor : tensors) args.push_back(&tensor);
    return Bind(args, device);
  }
  Refusal Bind(const std::vector<TwTensor*>& args, TwDeviceType device = kTwCpu) {
    arrays_.clear();
    return arguments_.Bind(args.data(), static_cast<int32_t>(args.size()), device, values_.data(), &arrays_);
  }

  int64_t ValueOf(const Var& var) const { return values_[static_cast<size_t>(slots_.at(var.get()))]; }
  const CallArguments& arguments() const { return arguments_; }
  const CallArguments::Arrays& arrays() const { return arrays_; }

 private:
  Slots slots_;
  CallArguments arguments_;
  CallArguments::Arrays arrays_;
  std::vector<int64_t> values_;
};

void ExpectRefused(const Refusal& refusal, TwError code, const std::string& message) {
  EXPECT_EQ(refusal.code, code);
  EXPECT_EQ(refusal.message, message);
}

alignas(64) char memory[4096];

constexpr char kSized[] = R"(def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n * 4,), "float32")
    B[0] = A[0, 0]
)";

TEST(CallArguments, ShapesBindVariablesAndAreChecked) {
  const DeviceFunction function = FunctionOf(kSized, {"B"});
  Call call(function);
  const Argument a = {.shape = {3, 4}, .data = memory}, b = {.shape = {12}, .data = memory + 2048};
  EXPECT_EQ(call.Bind({a, b}).message, "");
  EXPECT_EQ(call.ValueOf(Var(cast<VarNode>(function.params[0].buffer->shape[0]))), 3);
  EXPECT_EQ(call.arrays()[0].data, memory);
  EXPECT_EQ(call.arrays()[0].bytes, 48);
  EXPECT_EQ(call.arrays()[1].bytes, 48);
  ExpectRefused(call.Bind({a, {.shape = {11}, .data = memory + 2048}}), kTwErrorShape,
                "argument 1 (B): dimension 0 has extent 11, expected 12");
  ExpectRefused(call.Bind({{.shape = {3, 5}, .data = memory}, b}), kTwErrorShape,
                "argument 0 (A): dimension 1 has extent 5, expected 4");
  ExpectRefused(call.Bind({{.shape = {-1, 4}, .data = memory}, {.shape = {-4}, .data = memory + 2048}}), kTwErrorShape,
                "argument 0 (A): dimension 0 has extent -1, expected -1");
}

TEST(CallArguments, EachFaultHasItsCode) {
  Call call(FunctionOf(kSized, {"B"}));
  const Argument a = {.shape = {3, 4}, .data = memory}, b = {.shape = {12}, .data = memory + 2048};
  ExpectRefused(call.Bind({a}), kTwErrorArgumentCount, "main takes 2 arguments, got 1");
  ExpectRefused(call.Bind(std::vector<TwTensor*>{nullptr, nullptr}), kTwErrorNullArgument, "argument 0 (A) is null");
  ExpectRefused(call.Bind({{.shape = {12}, .data = memory}, b}), kTwErrorRank,
                "argument 0 (A) has 1 dimensions, expected 2");
  ExpectRefused(call.Bind({{.type = DataType::Int(32), .shape = {3, 4}, .data = memory}, b}), kTwErrorType,
                "argument 0 (A) has another element type than float32");
  ExpectRefused(call.Bind({a, {.shape = {12}}}), kTwErrorNullArgument, "argument 1 (B) has no data");
  ExpectRefused(call.Bind({a, b}, kTwCuda), kTwErrorDevice, "argument 0 (A) lies on a device of type 1, not on a GPU");
  ExpectRefused(call.Bind({a, {.shape = {12}, .data = memory, .device = kTwCuda}}), kTwErrorDevice,
                "argument 1 (B) lies on a device of type 2, not on the CPU");
  ExpectRefused(call.Bind({a, {.shape = {12}, .data = memory + 2048, .byte_offset = 4}}), kTwErrorAlignment,
                "argument 1 (B) is not aligned to 64 bytes");
}

// Only what is written may not overlap, and an array without elements overlaps nothing.
TEST(CallArguments, OverlapsAreRefusedWhereOneIsWritten) {
  const Argument a = {.shape = {16, 4}, .data = memory}, b = {.shape = {64}, .data = memory + 192};
  Call writes(FunctionOf(kSized, {"B"}));
  ExpectRefused(writes.Bind({a, b}), kTwErrorAliasing,
                "argument 0 (A) and argument 1 (B) overlap, and one of them is written");
  ExpectRefused(writes.Bind({{.shape = {16, 4}, .data = memory + 192}, {.shape = {64}, .data = memory}}),
                kTwErrorAliasing, "argument 0 (A) and argument 1 (B) overlap, and one of them is written");
  EXPECT_EQ(writes.Bind({a, {.shape = {64}, .data = memory + 256}}).message, "");
  EXPECT_EQ(writes.Bind({{.shape = {16, 4}, .data = memory + 256}, {.shape = {64}, .data = memory}}).message, "");
  EXPECT_EQ(Call(FunctionOf(kSized)).Bind({a, b}).message, "");
  EXPECT_EQ(writes.Bind({{.shape = {0, 4}, .data = memory}, {.shape = {0}, .data = memory}}).message, "");
  EXPECT_EQ(writes.Bind({{.shape = {0, 4}}, {.shape = {0}}}).message, "");
  EXPECT_EQ(writes.arrays()[1].bytes, 0);
}

constexpr char kStrided[] = R"(def main(a: T.handle):
    s = T.int64()
    A = T.match_buffer(a, (3, 4), "float32", strides=(s, 1), align=4)
    A[0, 0] = T.float32(0)
)";

TEST(CallArguments, StridesBindVariablesAndAreChecked) {
  const DeviceFunction function = FunctionOf(kStrided);
  Call call(function);
  const Var stride(cast<VarNode>(function.params[0].buffer->strides[0]));
  EXPECT_EQ(call.Bind({{.shape = {3, 4}, .strides = {10, 1}, .data = memory, .byte_offset = 4}}).message, "");
  EXPECT_EQ(call.ValueOf(stride), 10);
  EXPECT_EQ(call.arrays()[0].data, memory + 4);
  EXPECT_EQ(call.arrays()[0].bytes, (2 * 10 + 3 + 1) * 4);
  // Strides that are not given are those of a compact array.
  EXPECT_EQ(call.Bind({{.shape = {3, 4}, .data = memory}}).message, "");
  EXPECT_EQ(call.ValueOf(stride), 4);
  ExpectRefused(call.Bind({{.shape = {3, 4}, .strides = {10, 2}, .data = memory}}), kTwErrorStrides,
                "argument 0 (A): dimension 1 has stride 2, expected 1");
  // Those of dimensions of one element say nothing.
  Call compact(FunctionOf("def main(A: T.Buffer((1, 4), \"float32\")):\n    A[0, 0] = T.float32(0)\n"));
  EXPECT_EQ(compact.Bind({{.shape = {1, 4}, .strides = {99, 1}, .data = memory}}).message, "");
}

TEST(CallArguments, ScalarsAreReadByTheirTypes) {
  const DeviceFunction function = FunctionOf(
      "def main(A: T.Buffer((4,), \"float32\"), i: T.int8, u: T.uint16, w: T.int64, h: T.float16, f: T.float32, "
      "b: T.bool):\n    A[0] = f\n");
  Call call(function);
  const int8_t i = -5;
  const uint16_t u = 65535, half = 0xc000;  // -2
  const int64_t w = -(int64_t{1} << 40);
  const float f = 1.5f;
  const uint8_t b = 1;
  const auto scalar = [](DataType type, const void* value) {
    return Argument{.type = type, .data = const_cast<void*>(value)};
  };
  const std::vector<Argument> arguments = {{.shape = {4}, .data = memory, .device = kTwCuda},
                                           scalar(DataType::Int(8), &i),
                                           scalar(DataType::UInt(16), &u),
                                           scalar(DataType::Int(64), &w),
                                           scalar(DataType::Float(16), &half),
                                           scalar(DataType::Float(32), &f),
                                           scalar(DataType::Bool(), &b)};
  // Scalars lie on the CPU, wherever arrays do.
  EXPECT_EQ(call.Bind(arguments, kTwCuda).message, "");
  EXPECT_EQ(call.ValueOf(function.params[1].var), -5);
  EXPECT_EQ(call.ValueOf(function.params[2].var), 65535);
  EXPECT_EQ(call.ValueOf(function.params[3].var), w);
  EXPECT_EQ(call.ValueOf(function.params[4].var), std::bit_cast<int32_t>(-2.0f) & 0xffffffff);
  EXPECT_EQ(call.ValueOf(function.params[5].var), std::bit_cast<int32_t>(1.5f));
  EXPECT_EQ(call.ValueOf(function.params[6].var), 1);
  EXPECT_TRUE(call.arguments().IsArray(0));
  EXPECT_FALSE(call.arguments().IsArray(1));
  EXPECT_FALSE(call.arguments().IsArray(7));
  std::vector<Argument> wrong = arguments;
  wrong[1].data = nullptr;
  ExpectRefused(call.Bind(wrong, kTwCuda), kTwErrorNullArgument, "argument 1 (i) has no data");
  wrong = arguments;
  wrong[2].device = kTwCuda;
  ExpectRefused(call.Bind(wrong, kTwCuda), kTwErrorDevice, "argument 2 (u) lies on a device of type 2, not on the CPU");
  wrong = arguments;
  wrong[3].shape = {1};
  ExpectRefused(call.Bind(wrong, kTwCuda), kTwErrorRank, "argument 3 (w) has 1 dimensions, expected 0");
}

TEST(CallArguments, TypesWithoutWholeBytesAreRefused) {
  Slots slots;
  EXPECT_EQ(CallArguments::Compile(
                FunctionOf("def main(A: T.Buffer((4,), \"int4\"), x: T.float32):\n    A[0] = T.int4(0)\n"), &slots)
                .status()
                .message(),
            "function main: parameter A has type int4");
}

}  // namespace
}  // namespace tilewright::cuda

// The bounds of reference programs against what single precision really does.
#include "autoschedule/measure/reference/reference_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/substitute.h"
#include "autoschedule/measure/reference/param_specs.h"
#include "autoschedule/measure/reference/reference.h"
#include "ir/interp/interp.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// Runs a program and its reference on the same inputs; the largest error as a part of what is allowed.
struct Outcome {
  double max_error = 0;
  bool exact = true;
  std::string failure;
};
Outcome Check(const Function& program, double spoil = 0) {
  const auto reference = MakeReferenceProgram(program);
  EXPECT_TRUE(reference.ok()) << reference.status();
  if (!reference.ok()) return {.failure = "no reference"};
  const auto specs = ParamSpecs(program);
  EXPECT_TRUE(specs.ok()) << specs.status();
  std::vector<interp::Argument> arguments;
  std::vector<interp::Argument> expected(reference->function->params.size(), interp::Argument(0));
  for (size_t i = 0; i < specs->size(); ++i) {
    const NDArray seeded = SeededTensor((*specs)[i], 1, i);
    arguments.emplace_back(seeded.Clone());
    NDArray value = seeded.Clone();
    if (reference->written[i] && seeded.dtype().is_float()) {
      value = NDArray(DataType::Float(64), seeded.shape());
      for (int64_t k = 0; k < value.size(); ++k) value.Set(k, seeded.Get(k));
    }
    expected[static_cast<size_t>(reference->value[i])] = interp::Argument(value);
    if (reference->error[i] >= 0) {
      expected[static_cast<size_t>(reference->error[i])] =
          interp::Argument(NDArray(DataType::Float(64), seeded.shape()));
    }
  }
  auto run = interp::Compile(program, {});
  auto run_reference = interp::Compile(reference->function, {});
  EXPECT_TRUE(run.ok() && run_reference.ok()) << run.status() << run_reference.status();
  EXPECT_TRUE(run->Run(arguments).ok());
  EXPECT_TRUE(run_reference->Run(expected).ok());
  Outcome outcome;
  for (size_t i = 0; i < specs->size(); ++i) {
    if (!reference->written[i]) continue;
    ReferenceResult result{.value = expected[static_cast<size_t>(reference->value[i])].array};
    if (reference->error[i] >= 0) {
      outcome.exact = false;
      result.error = expected[static_cast<size_t>(reference->error[i])].array;
    }
    const NDArray& array = arguments[i].array;
    const int64_t spoiled = array.size() / 2;
    const double right = array.Get(spoiled);
    array.Set(spoiled, array.dtype().is_bool() && spoil != 0 ? 1 - right : right + spoil);
    const ResultComparison comparison = CompareResult((*specs)[i], array, result);
    outcome.max_error = std::max(outcome.max_error, comparison.max_error);
    if (outcome.failure.empty()) outcome.failure = comparison.failure;
  }
  return outcome;
}

// The result is within the bound, and the bound not so wide that anything is.
void ExpectBounded(const Function& program, double spoil) {
  const Outcome good = Check(program);
  EXPECT_EQ(good.failure, "");
  EXPECT_LT(good.max_error, 1);
  EXPECT_NE(Check(program, spoil).failure, "") << "an error of " << spoil << " is allowed";
}

TEST(ReferenceProgram, BoundsSums) {
  ExpectBounded(ops::Matmul(8, 8, 64), 1e-4);
  ExpectBounded(ops::Matmul(8, 8, 64, *ops::OperandTypes::Parse("bf16")), 1e-4);
  ExpectBounded(ops::BatchMatmul(2, 8, 8, 16, ops::OperandTypes::Float32(), true), 1e-4);
}

// What is added to may be much larger than what is added.
TEST(ReferenceProgram, BoundsSumsThatDoNotStartAtZero) {
  for (const char* init : {"", "with T.init():\n                B[vi] = T.float32(1000)\n            "}) {
    const Outcome outcome = Check(ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((64, 5), "float32"), B: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 5):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            )") + init + "B[vi] = B[vi] + A[vi, vk] * T.float32(0.0001)\n"));
    EXPECT_EQ(outcome.failure, "");
    EXPECT_GT(outcome.max_error, 0.01);
  }
}

TEST(ReferenceProgram, BoundsEveryOperator) {
  const ops::Window window{.kernel = 3, .stride = 2, .padding = 1};
  const ops::ConvShape conv1{
      .batch = 1, .spatial = {12}, .in_channels = 4, .out_channels = 6, .windows = ops::Same(window, 1)};
  ops::ConvShape conv3{
      .batch = 1, .spatial = {4, 5, 6}, .in_channels = 3, .out_channels = 4, .windows = ops::Same(window, 3)};
  ops::ConvShape grouped{
      .batch = 1, .spatial = {6, 6}, .in_channels = 8, .out_channels = 8, .windows = ops::Same(window, 2), .groups = 2};
  const Function programs[] = {
      ops::Conv(conv1),
      ops::Conv(conv3),
      ops::Conv(grouped),
      ops::ConvBnRelu(grouped),
      ops::ConvTranspose(1, 4, 4, 4, 6, window),
      ops::Depthwise(1, 8, 8, 4, window),
      ops::TransposeBatchMatmul(1, 6, 2, 8),
      ops::Softmax(4, 30),
      ops::RowNorm(4, 30),
      ops::LayerNorm(4, 30),
      ops::Softmax(4, 30, {DataType::Int(8)}),
      ops::LayerNorm(4, 30, 1e-5, {DataType::BFloat16()}),
      ops::MaxPool(1, 8, 8, 4, window),
      ops::AveragePool(1, 8, 8, 4, window),
      ops::GlobalAveragePool(1, 4, 4, 4),
      ops::Gelu({64}),
      ops::BiasAdd({4, 16}),
  };
  for (const Function& program : programs) {
    SCOPED_TRACE(Print(program));
    ExpectBounded(program, 1e-4);
  }
}

TEST(ReferenceProgram, IntegersAreExact) {
  const Outcome outcome = Check(ops::Matmul(8, 8, 64, *ops::OperandTypes::Parse("u8s8")));
  EXPECT_TRUE(outcome.exact);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_THAT(Check(ops::Matmul(8, 8, 64, *ops::OperandTypes::Parse("u8s8")), 1).failure, HasSubstr("allowed error 0"));
}

TEST(ReferenceProgram, BoundsFunctionsAndChoices) {
  const auto elementwise = [](const char* value) {
    return ParseOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = )") +
                      value + "\n")
        .Main();
  };
  for (const char* value :
       {"T.exp(A[vi] * B[vi])", "A[vi] / (B[vi] + T.float32(2))", "T.tanh(A[vi] + B[vi]) * A[vi]",
        "T.max(A[vi] * B[vi], T.float32(0))", "T.Select(A[vi] * B[vi] > T.float32(0), A[vi], B[vi])",
        "T.sqrt(A[vi] * A[vi] + T.float32(1))", "T.if_then_else(vi < 60, A[vi + 4 - 4] * B[vi], T.float32(0))",
        "T.erf(A[vi]) + T.sigmoid(B[vi])", "T.sin(A[vi] * B[vi]) * T.cos(A[vi] + B[vi])", "T.tan(A[vi] * B[vi])",
        "T.pow(A[vi], T.float32(2)) - B[vi]", "T.abs(A[vi] - B[vi])"}) {
    SCOPED_TRACE(value);
    ExpectBounded(elementwise(value), 1e-3);
  }
}

// An angle that rounding moves by some turns.
TEST(ReferenceProgram, BoundsFunctionsThatAreNotMonotone) {
  for (const char* function : {"sin", "cos", "tan"}) {
    const Outcome outcome = Check(ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in range(256):
        with T.block("B"):
            vi = T.axis.spatial(256, i)
            B[vi] = T.$0(A[vi] / T.float32(3) * T.float32(100000000))
)",
                                                                      function)));
    EXPECT_EQ(outcome.failure, "") << function;
  }
}

// Expressions outside of stores: what they are made of has to be bound where they stand.
TEST(ReferenceProgram, BoundsVariablesAndConditionsOfStatements) {
  ExpectBounded(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16, 50), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 50):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            t: T.float32 = T.max(A[vi, vk], B[vi]) * T.exp(B[vi])
            u: T.float32 = t * t
            if T.max(A[vi, vk], B[vi]) > T.float32(0.25) or T.Select(vk > 3, vi, vk) == 2:
                C[vi] = C[vi] + u
)")
                    .Main(),
                1e-3);
}

TEST(ReferenceProgram, AllowsBothSidesOfARounding) {
  const Function program = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "int8")):
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = T.Cast("int8", T.round(T.max(T.min(A[vi] * T.float32(100), T.float32(127)), T.float32(-128))))
)")
                               .Main();
  const Outcome outcome = Check(program);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_FALSE(outcome.exact);
  EXPECT_NE(Check(program, 1).failure, "");
}

TEST(ReferenceProgram, Refuses) {
  const auto refusal = [](const char* statement) {
    const Function program = ParseOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            )") + statement + "\n")
                                 .Main();
    return std::string(MakeReferenceProgram(program).status().message());
  };
  EXPECT_EQ(refusal("C[vi] = T.call_extern(\"float32\", \"f\", A[vi])"), "no reference for a call of call_extern");
  EXPECT_EQ(refusal("C[T.Cast(\"int32\", A[vi] * T.float32(3) + T.float32(9))] = T.float32(1)"),
            "no reference for an index or a number of iterations that depends on rounding");
}

// The program's main reads A and writes C, both (64,); the interpreter's result is within the bounds, and a result that
// is off by one is not.
void ExpectReference(const std::string& type, const std::string& body) {
  const std::string text = "@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"" + type +
                           "\")):\n    for i in range(64):\n        with T.block(\"C\"):\n            vi = "
                           "T.axis.spatial(64, i)\n" +
                           body;
  const Function program = ParseOrDie(text).Main();
  EXPECT_EQ(Check(program).failure, "") << text;
  EXPECT_NE(Check(program, 1).failure, "") << text;
}

TEST(ReferenceProgram, KnowsConditionsOfComputedNumbers) {
  ExpectReference("bool", "            C[vi] = A[vi] * T.float32(2) > T.float32(0.5)\n");
  ExpectReference("float32", "            C[vi] = T.Cast(\"float32\", A[vi] * T.float32(3) > T.float32(1)) * A[vi]\n");
  ExpectReference("int32", R"(            C[vi] = 0
            if A[vi] * T.float32(3) > T.float32(1):
                C[vi] = 5
)");
  ExpectReference(
      "float32",
      R"(            C[vi] = T.if_then_else(vi >= 1 and A[vi - 1] * T.float32(3) > T.float32(1), A[vi - 1], A[vi])
)");
  ExpectReference("float32",
                  "            C[vi] = T.if_then_else(T.isnan(A[vi] / A[vi]), T.float32(0), A[vi] * T.float32(3))\n");
}

// One of two sides that rounding may choose from may divide by zero; a number without an error chooses one.
TEST(ReferenceProgram, KnowsDivisionsBehindConditionsOfComputedNumbers) {
  ExpectReference("int32",
                  "            C[vi] = T.if_then_else(T.Cast(\"int32\", A[vi] * T.float32(3)) != 0, 1000 // "
                  "T.Cast(\"int32\", A[vi] * T.float32(3)), 7)\n");
  ExpectReference("int32", R"(            C[vi] = 7
            if T.Cast("int32", A[vi] * T.float32(3)) != 0:
                C[vi] = 1000 % T.Cast("int32", A[vi] * T.float32(3))
)");
}

TEST(ReferenceProgram, KnowsLocalVariablesLoopsAndBits) {
  ExpectReference("int32", R"(            x: T.int32 = vi
            C[vi] = 0
            while x > 1:
                x = T.if_then_else(x % 2 == 0, x // 2, 3 * x + 1)
                C[vi] = C[vi] + 1
)");
  ExpectReference("int32", "            C[vi] = T.reinterpret(\"int32\", A[vi]) & 255\n");
  ExpectReference("float32", R"(            T.evaluate(A[vi] + T.float32(1))
            C[vi] = T.pow(T.abs(A[vi]) + T.float32(1), A[vi] * T.float32(3))
)");
  ExpectReference("int32", "            C[vi] = T.Cast(\"int32\", A[vi] * T.float32(1000)) // 7\n");
}

TEST(ReferenceProgram, KnowsWhatOverflows) {
  // Some elements are infinite, and what is added to those changes nothing.
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "$0")):
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = T.exp(T.Cast("$0", A[vi]) * T.$0($1))
)";
  EXPECT_EQ(Check(ParseOrDie(absl::Substitute(text, "float16", 20)).Main()).failure, "");
  EXPECT_EQ(Check(ParseOrDie(absl::Substitute(text, "float32", 200)).Main()).failure, "");
}

}  // namespace
}  // namespace tilewright

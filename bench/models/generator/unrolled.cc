// What exporters write where a model has a loop: its steps, one after the other. These are models that are short to run
// and long to load.
#include <array>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/families.h"
#include "bench/models/generator/onnx_builder.h"

namespace tilewright::bench {
namespace {

using Dims = OnnxBuilder::Dims;
using Ints = std::vector<int64_t>;

OnnxBuilder::Dim BatchOf(const GeneratorOptions& options) {
  return options.symbolic ? OnnxBuilder::Dim("batch") : OnnxBuilder::Dim(options.batch);
}

}  // namespace

GeneratedModel GenerateUnrolledLstm(const GeneratorOptions& options) {
  const int64_t steps = options.tiny ? 5 : 40, width = options.tiny ? 8 : 64, inputs = options.tiny ? 4 : 32;
  OnnxBuilder b("lstm_unrolled", options.seed);
  const OnnxBuilder::Dim batch = BatchOf(options);
  const std::string x = b.Input("x", onnx::TensorProto::FLOAT, {batch, steps, inputs});
  const std::string first = b.Input("state", onnx::TensorProto::FLOAT, {batch, width});
  const std::string weight = b.Weight("weight", {4 * width, inputs + width}, 0.3);
  const std::string bias = b.Weight("bias", {4 * width}, 0.1);
  std::string hidden = first, cell = first;
  std::vector<std::string> all;
  for (int64_t t = 0; t < steps; ++t) {
    b.set_scope(absl::StrCat("/step", t));
    const std::string part = b.Node("Gather", {x, b.Int64Scalar(t)}, {{"axis", int64_t{1}}});
    const std::string joined = b.Node("Concat", {part, hidden}, {{"axis", int64_t{1}}});
    const std::string sums = b.Node("Gemm", {joined, weight, bias}, {{"transB", int64_t{1}}});
    const auto gate = [&](int64_t i) {
      return b.Node("Slice", {sums, b.Int64s({i * width}), b.Int64s({(i + 1) * width}), b.Int64s({1})});
    };
    const std::string kept = b.Node("Mul", {b.Node("Sigmoid", {gate(1)}), cell});
    const std::string added = b.Node("Mul", {b.Node("Sigmoid", {gate(0)}), b.Node("Tanh", {gate(3)})});
    cell = b.Node("Add", {kept, added});
    hidden = b.Node("Mul", {b.Node("Sigmoid", {gate(2)}), b.Node("Tanh", {cell})});
    all.push_back(b.Node("Unsqueeze", {hidden, b.Int64s({1})}));
  }
  b.set_scope("");
  b.Output("y", b.Node("Concat", all, {{"axis", int64_t{1}}}), {batch, steps, width});
  return {.proto = b.Finish()};
}

// A dense layer of each step of a tensor: Slice, Squeeze, MatMul, Add, Unsqueeze, and one Concat.
GeneratedModel GenerateUnrolledDense(const GeneratorOptions& options) {
  const int64_t steps = options.tiny ? 5 : 189, width = options.tiny ? 8 : 64, units = options.tiny ? 4 : 32;
  OnnxBuilder b("dense_unrolled", options.seed);
  const OnnxBuilder::Dim batch = BatchOf(options);
  const std::string x = b.Input("x", onnx::TensorProto::FLOAT, {batch, steps, width});
  const std::string weight = b.Weight("weight", {width, units}, 0.2);
  const std::string bias = b.Weight("bias", {units}, 0.1);
  std::vector<std::string> all;
  for (int64_t t = 0; t < steps; ++t) {
    b.set_scope(absl::StrCat("/step", t));
    const std::string part = b.Node("Slice", {x, b.Int64s({t}), b.Int64s({t + 1}), b.Int64s({1})});
    const std::string product = b.Node("MatMul", {b.Node("Squeeze", {part, b.Int64s({1})}), weight});
    all.push_back(b.Node("Unsqueeze", {b.Node("Add", {product, bias}), b.Int64s({1})}));
  }
  b.set_scope("");
  b.Output("y", b.Node("Concat", all, {{"axis", int64_t{1}}}), {batch, steps, units});
  return {.proto = b.Finish()};
}

GeneratedModel GenerateElementwiseChain(const GeneratorOptions& options) {
  const int64_t nodes = options.tiny ? 12 : 1000, width = options.tiny ? 8 : 64;
  OnnxBuilder b("elementwise_chain", options.seed);
  const OnnxBuilder::Dim batch = BatchOf(options);
  const std::string x = b.Input("x", onnx::TensorProto::FLOAT, {batch, width, width});
  constexpr std::array kFunctions = {"Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Softsign", "Elu"};
  std::string value = x;
  for (int64_t i = 0; i < nodes; ++i) {
    if (i % 5 == 4) {
      value = b.Node("Add", {value, x});  // what the functions squeeze together comes apart again
    } else if (i % 5 == 2) {
      value = b.Node("Mul", {value, b.Scalar(0.5f + 0.0005f * static_cast<float>(i))});
    } else {
      value = b.Node(kFunctions[static_cast<size_t>(i) % kFunctions.size()], {value});
    }
  }
  b.Output("y", value, {batch, width, width});
  return {.proto = b.Finish()};
}

}  // namespace tilewright::bench

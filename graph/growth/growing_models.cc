#include "graph/growth/growing_models.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using Dim = ModelWriter::Dim;

constexpr int kWidth = 16;

// A model that is written from its input on.
class Writer {
 public:
  Writer() : m(17) {}

  std::string Input(const std::vector<Dim>& dims, int32_t type = TensorProto::FLOAT) {
    const std::string name = Name();
    m.Input(name, type, dims);
    return name;
  }
  std::string Weights(const std::vector<int64_t>& dims) {
    int64_t size = 1;
    for (int64_t dim : dims) size *= dim;
    std::vector<float> values(static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.3f * std::sin(static_cast<float>(i + next_ * size_t{7}));
    const std::string name = Name();
    m.Floats(name, dims, values);
    return name;
  }
  std::string Ints(const std::vector<int64_t>& values) {
    const std::string name = Name();
    m.Int64s(name, values);
    return name;
  }
  std::string Node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, int64_t>>& attributes = {}) {
    return Nodes(op, inputs, 1, attributes)[0];
  }
  std::vector<std::string> Nodes(const std::string& op, const std::vector<std::string>& inputs, int outputs,
                                 const std::vector<std::pair<std::string, int64_t>>& attributes = {}) {
    std::vector<std::string> names;
    for (int i = 0; i < outputs; ++i) names.push_back(Name());
    onnx::NodeProto* node = m.Node(op, inputs, names);
    for (const auto& [name, value] : attributes) ModelWriter::SetInt(node, name, value);
    return names;
  }
  std::string Transpose(const std::string& x, const std::vector<int64_t>& permutation) {
    const std::string name = Name();
    auto* attribute = m.Node("Transpose", {x}, {name})->add_attribute();
    attribute->set_name("perm");
    attribute->set_type(onnx::AttributeProto::INTS);
    for (int64_t axis : permutation) attribute->add_ints(axis);
    return name;
  }
  std::string Slice(const std::string& x, int64_t from, int64_t to, int64_t axis) {
    return Node("Slice", {x, Ints({from}), Ints({to}), Ints({axis})});
  }
  ModelWriter Finish(const std::string& output) {
    m.Output(output);
    return std::move(m);
  }

  ModelWriter m;

 private:
  std::string Name() { return absl::StrCat("v", next_++); }
  size_t next_ = 0;
};

// x, changed n times by `step`.
template <class Step>
ModelWriter Repeat(int n, const std::vector<Dim>& dims, Step step) {
  Writer w;
  const std::string x = w.Input(dims);
  std::string value = x;
  for (int k = 0; k < n; ++k) value = step(w, value, x, k);
  return w.Finish(value);
}

std::string Elementwise(Writer& w, const std::string& value, const std::string&, int k) {
  static constexpr const char* kFunctions[] = {"Tanh", "Abs", "Exp", "Neg", "Sigmoid"};
  return w.Node(kFunctions[k % 5], {value});
}

ModelWriter WideJoin(int n, const Dim& rows) {
  Writer w;
  std::string sum;
  for (int k = 0; k < n; ++k) {
    const std::string x = w.Input({rows, kWidth});
    sum = k == 0 ? x : w.Node("Add", {sum, x});
  }
  return w.Finish(sum);
}

ModelWriter Concatenation(int n, int axis) {
  Writer w;
  std::vector<std::string> parts;
  for (int k = 0; k < n; ++k) {
    parts.push_back(w.Node("Relu", {w.Input({axis == 0 ? 4 + k % 3 : 4, axis == 1 ? 4 + k % 3 : 4})}));
  }
  return w.Finish(w.Node("Sigmoid", {w.Node("Concat", parts, {{"axis", axis}})}));
}

ModelWriter Parts(int n) {
  Writer w;
  const std::vector<std::string> parts = w.Nodes("Split", {w.Input({4, 4 * n})}, n, {{"axis", 1}});
  for (int k = 0; k + 1 < n; ++k) w.m.Output(w.Node("Tanh", {parts[static_cast<size_t>(k)]}));
  return w.Finish(w.Node("Abs", {parts.back()}));
}

ModelWriter ManyOutputs(int n) {
  Writer w;
  const std::string x = w.Input({8, kWidth});
  for (int k = 1; k < n; ++k) w.m.Output(w.Node("Mul", {w.Node("Tanh", {x}), w.Weights({kWidth})}));
  return w.Finish(w.Node("Abs", {x}));
}

ModelWriter Gathers(int n) {
  Writer w;
  const std::string x = w.Input({64, kWidth});
  std::string sum;
  for (int k = 0; k < n; ++k) {
    const std::string part = w.Node("Gather", {x, w.Input({8}, TensorProto::INT64)}, {{"axis", 0}});
    sum = k == 0 ? part : w.Node("Add", {sum, part});
  }
  return w.Finish(sum);
}

// Steps of a recurrence: h = tanh(x[t] + h W).
ModelWriter Steps(int n, const Dim& batch) {
  Writer w;
  const std::string x = w.Input({batch, n, kWidth}), weights = w.Weights({kWidth, kWidth}), axis = w.Ints({1});
  std::string state = w.Input({batch, kWidth});
  for (int k = 0; k < n; ++k) {
    const std::string part = w.Node("Squeeze", {w.Slice(x, k, k + 1, 1), axis});
    state = w.Node("Tanh", {w.Node("Add", {part, w.Node("MatMul", {state, weights})})});
  }
  return w.Finish(state);
}

// Steps of an LSTM: four gates of one product, split.
ModelWriter GatedSteps(int n) {
  Writer w;
  const std::string x = w.Input({1, n, kWidth}), axis = w.Ints({1});
  const std::string weights = w.Weights({2 * kWidth, 4 * kWidth}), bias = w.Weights({4 * kWidth});
  std::string state = w.Input({1, kWidth}), cell = w.Input({1, kWidth});
  for (int k = 0; k < n; ++k) {
    const std::string part = w.Node("Squeeze", {w.Slice(x, k, k + 1, 1), axis});
    const std::string product = w.Node("Gemm", {w.Node("Concat", {part, state}, {{"axis", 1}}), weights, bias});
    const std::vector<std::string> gates = w.Nodes("Split", {product}, 4, {{"axis", 1}});
    const std::string kept = w.Node("Mul", {w.Node("Sigmoid", {gates[0]}), cell});
    const std::string entered = w.Node("Mul", {w.Node("Sigmoid", {gates[1]}), w.Node("Tanh", {gates[2]})});
    cell = w.Node("Add", {kept, entered});
    state = w.Node("Mul", {w.Node("Sigmoid", {gates[3]}), w.Node("Tanh", {cell})});
  }
  return w.Finish(state);
}

ModelWriter DenseOfSlices(int n, const Dim& batch, bool has_bias) {
  Writer w;
  const std::string x = w.Input({batch, n, kWidth}), axis = w.Ints({1});
  const std::string weights = w.Weights({kWidth, kWidth}), bias = has_bias ? w.Weights({kWidth}) : "";
  std::vector<std::string> all;
  for (int k = 0; k < n; ++k) {
    const std::string part = w.Node("Squeeze", {w.Slice(x, k, k + 1, 1), axis});
    const std::string product = w.Node("MatMul", {part, weights});
    all.push_back(w.Node("Unsqueeze", {has_bias ? w.Node("Add", {product, bias}) : product, axis}));
  }
  return w.Finish(w.Node("Concat", all, {{"axis", 1}}));
}

ModelWriter SlicesOfOne(int n) {
  Writer w;
  const std::string x = w.Input({4 * n, kWidth});
  std::string sum;
  for (int k = 0; k < n; ++k) {
    const std::string part = w.Slice(x, 4 * k, 4 * k + 4, 0);
    sum = k == 0 ? part : w.Node("Add", {sum, w.Node("Tanh", {part})});
  }
  return w.Finish(sum);
}

// Lengths that are not known, one for each input.
ModelWriter SymbolicLengths(int n) {
  Writer w;
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> all;
    for (int k = 0; k < 64; ++k) all.push_back(absl::StrCat("n", k));
    return all;
  }());
  std::vector<std::string> parts;
  for (int k = 0; k < n; ++k) {
    parts.push_back(w.Node("Relu", {w.Input({names[static_cast<size_t>(k)].c_str(), kWidth})}));
  }
  return w.Finish(w.Node("Concat", parts, {{"axis", 0}}));
}

std::string Product(Writer& w, const std::string& value, const std::string&, int) {
  return w.Node("MatMul", {value, w.Weights({kWidth, kWidth})});
}

// A layer: a product, what is around it, and a norm.
std::string Layer(Writer& w, const std::string& value, const std::string&, int) {
  const std::string product = w.Node("MatMul", {value, w.Weights({kWidth, kWidth})});
  const std::string sum = w.Node("Add", {w.Node("Add", {product, w.Weights({kWidth})}), value});
  return w.Node("LayerNormalization", {sum, w.Weights({kWidth}), w.Weights({kWidth})}, {{"axis", -1}});
}

// Attention of one head over tokens, whose number may not be known.
std::string Attention(Writer& w, const std::string& value, const std::string&, int) {
  const auto project = [&] { return w.Node("MatMul", {value, w.Weights({kWidth, kWidth})}); };
  const std::string queries = project(), keys = w.Transpose(project(), {0, 2, 1}), values = project();
  const std::string scores = w.Node("Softmax", {w.Node("MatMul", {queries, keys})}, {{"axis", -1}});
  return w.Node("Add", {w.Node("MatMul", {scores, values}), value});
}

std::string NestedWhere(Writer& w, const std::string& value, const std::string& x, int) {
  return w.Node("Where", {w.Node("Less", {x, w.Weights({kWidth})}), value, w.Node("Neg", {x})});
}

std::string Softmax(Writer& w, const std::string& value, const std::string& x, int) {
  return w.Node("Add", {w.Node("Softmax", {value}, {{"axis", -1}}), x});
}

std::string MeanOver(Writer& w, const std::string& value, const std::string&, int k) {
  onnx::NodeProto* node;
  const std::string mean = absl::StrCat("mean", k);
  node = w.m.Node("ReduceMean", {value}, {mean});
  auto* axes = node->add_attribute();
  axes->set_name("axes");
  axes->set_type(onnx::AttributeProto::INTS);
  axes->add_ints(k % 2);
  return w.Node("Sub", {value, mean});
}

std::string Turn(Writer& w, const std::string& value, const std::string&, int k) {
  return w.Node(k % 2 == 0 ? "Tanh" : "Abs", {w.Transpose(value, {1, 0})});
}

std::string Pad(Writer& w, const std::string& value, const std::string&, int) {
  return w.Slice(w.Node("Pad", {w.Node("Tanh", {value}), w.Ints({1, 0, 0, 0})}), 0, 8, 0);
}

std::string Convolution(Writer& w, const std::string& value, const std::string&, int) {
  const std::string name = w.Node("Conv", {value, w.Weights({8, 8, 3, 3})});
  return w.Node("Relu", {w.Node("Pad", {name, w.Ints({0, 0, 1, 1, 0, 0, 1, 1})})});
}

}  // namespace

const std::vector<GrowingModel>& GrowingModels() {
  const std::vector<Dim> fixed = {8, kWidth}, symbolic = {"n", kWidth};
  static const auto& models = *new std::vector<GrowingModel>{
      {"elementwise chain", [=](int n) { return Repeat(n, fixed, Elementwise); }},
      {"symbolic elementwise chain", [=](int n) { return Repeat(n, symbolic, Elementwise); }},
      {"elementwise chain of one batch", [](int n) { return Repeat(n, {1, 8, kWidth}, Elementwise); }},
      {"wide join", [](int n) { return WideJoin(n, 8); }},
      {"symbolic wide join", [](int n) { return WideJoin(n, "n"); }},
      {"concat of rows", [](int n) { return Concatenation(n, 0); }},
      {"concat of columns", [](int n) { return Concatenation(n, 1); }},
      {"parts of a split", Parts},
      {"many outputs", ManyOutputs},
      {"gathers", Gathers},
      {"unrolled steps", [](int n) { return Steps(n, 2); }},
      {"symbolic unrolled steps", [](int n) { return Steps(n, "n"); }},
      {"unrolled gated steps", GatedSteps},
      {"products of slices", [](int n) { return DenseOfSlices(n, 2, false); }},
      {"symbolic products of slices", [](int n) { return DenseOfSlices(n, "n", false); }},
      {"dense layers of slices", [](int n) { return DenseOfSlices(n, 2, true); }},
      {"symbolic dense layers of slices", [](int n) { return DenseOfSlices(n, "n", true); }},
      {"slices of one tensor", SlicesOfOne},
      {"symbolic lengths", SymbolicLengths},
      {"products", [=](int n) { return Repeat(n, fixed, Product); }},
      {"layers", [=](int n) { return Repeat(n, fixed, Layer); }},
      {"symbolic layers", [=](int n) { return Repeat(n, symbolic, Layer); }},
      {"attention", [](int n) { return Repeat(n, {1, 8, kWidth}, Attention); }},
      {"symbolic attention", [](int n) { return Repeat(n, {1, "n", kWidth}, Attention); }},
      {"nested Where", [=](int n) { return Repeat(n, fixed, NestedWhere); }},
      {"softmax", [=](int n) { return Repeat(n, fixed, Softmax); }},
      {"means", [=](int n) { return Repeat(n, fixed, MeanOver); }},
      {"transposes", [](int n) { return Repeat(n, {kWidth, kWidth}, Turn); }},
      {"pads", [=](int n) { return Repeat(n, fixed, Pad); }},
      {"convolutions", [](int n) { return Repeat(n, {1, 8, 12, 12}, Convolution); }},
  };
  return models;
}

}  // namespace tilewright::graph

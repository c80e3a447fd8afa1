#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/fuzz/model_generator.h"

namespace tilewright::graph {
namespace {

using G = ModelGenerator;

bool MakeMatMul(G& g) {
  const RandomValue x = g.Any(true, 8000);
  if (x.rank() < 2) return false;
  const int64_t depth = x.shape.back(), columns = g.OneOf<int64_t>({1, 3, 8, 16, 24, 33});
  RandomValue out = x;
  RandomValue weights;
  if (x.rank() > 2 && g.Chance(30)) {  // with the value's own transpose
    auto* transpose = g.Node("Transpose", {x.name});
    Dims order;
    for (size_t d = 0; d < x.rank(); ++d) order.push_back(static_cast<int64_t>(d));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    G::Set(transpose, "perm", order);
    weights = G::Result(transpose, x);
    out.shape.back() = x.shape[x.rank() - 2];
  } else {
    weights = g.Constant({depth, columns}, -1, 1, x.type);
    out.shape.back() = columns;
  }
  if (!Bound(out, static_cast<double>(depth) * Most(x) * Most(weights)) || out.size() > 40000) return false;
  auto* product = g.Node("MatMul", {x.name, weights.name});
  if (g.Chance(50)) {
    product = g.Node("Add", {product->output(0), g.Constant({out.shape.back()}, -1, 1, x.type).name});
    out.low -= 1, out.high += 1;
  }
  g.Add(G::Result(product, out));
  return true;
}

// Several products of one value, as attention has them.
bool MakeSiblings(G& g) {
  const RandomValue x = g.Any(true, 8000);
  if (x.rank() < 2 || x.type != onnx::TensorProto::FLOAT) return false;
  const int64_t depth = x.shape.back();
  for (int64_t i = g.Pick(2, 3); i > 0; --i) {
    RandomValue out = x;
    out.shape.back() = g.OneOf<int64_t>({4, 8, 16});
    if (!Bound(out, static_cast<double>(depth) * Most(x) + 1)) return false;
    auto* product = g.Node("MatMul", {x.name, g.Constant({depth, out.shape.back()}, -1, 1).name});
    if (g.Chance(60)) product = g.Node("Add", {product->output(0), g.Constant({out.shape.back()}, -1, 1).name});
    g.Add(G::Result(product, out));
  }
  return true;
}

// 0 for keys up to the row's own, a large negative number or -infinity behind it.
std::string CausalMask(G& g, int64_t rows, int64_t keys) {
  const float hidden = g.Chance(50) ? -std::numeric_limits<float>::infinity() : -1e9f;
  std::vector<float> mask;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < keys; ++j) mask.push_back(j <= i ? 0 : hidden);
  }
  return g.Floats(mask, {rows, keys});
}

// Attention as exporters write it: heads before or behind tokens, a scale, a mask, a softmax between two products.
bool MakeAttention(G& g) {
  const int64_t heads = g.Pick(1, 3), rows = g.OneOf<int64_t>({4, 16, 19, 32, 40}),
                keys = g.OneOf<int64_t>({8, 24, 37, 64});
  const int64_t depth = g.OneOf<int64_t>({4, 8, 20}), width = g.OneOf<int64_t>({4, 16, 24});
  const bool by_tokens = g.Chance(50);
  const auto operand = [&](int64_t tokens, int64_t size, const Dims& order) {
    const RandomValue x = g.Input(by_tokens ? Dims{1, tokens, heads, size} : Dims{1, heads, tokens, size});
    const bool moves = by_tokens || order.back() == 1;
    if (!moves) return x.name;
    auto* transpose = g.Node("Transpose", {x.name});
    G::Set(transpose, "perm", by_tokens ? order : Dims{0, 1, 3, 2});
    return transpose->output(0);
  };
  const std::string q = operand(rows, depth, {0, 2, 1, 3}), k = operand(keys, depth, {0, 2, 3, 1});
  std::string scores = g.Node("MatMul", {q, k})->output(0);
  if (g.Chance(70)) scores = g.Node("Mul", {scores, g.Scalar(0.35, onnx::TensorProto::FLOAT)})->output(0);
  if (g.Chance(30)) scores = g.Node("Add", {scores, CausalMask(g, rows, keys)})->output(0);
  if (g.Chance(30)) scores = g.Node("Add", {scores, g.Constant({keys}, -1, 1).name})->output(0);
  auto* softmax = g.Node("Softmax", {scores});
  G::Set(softmax, "axis", int64_t{-1});
  RandomValue out;
  out.shape = {1, heads, rows, width};
  if (!Bound(out, 1)) return false;
  auto* product = g.Node("MatMul", {softmax->output(0), operand(keys, width, {0, 2, 1, 3})});
  if (by_tokens) {
    product = g.Node("Transpose", {product->output(0)});
    G::Set(product, "perm", Dims{0, 2, 1, 3});
    std::swap(out.shape[1], out.shape[2]);
  }
  g.Add(G::Result(product, out));
  return true;
}

bool MakeGemm(G& g) {
  const RandomValue x = g.Any(true, 8000);
  if (x.rank() != 2) return false;
  const bool trans_a = g.Chance(30), trans_b = g.Chance(50);
  const int64_t rows = x.shape[trans_a ? 1 : 0], depth = x.shape[trans_a ? 0 : 1], columns = g.Pick(1, 20);
  const RandomValue weights = g.Constant(trans_b ? Dims{columns, depth} : Dims{depth, columns}, -1, 1, x.type);
  std::vector<std::string> inputs = {x.name, weights.name};
  if (g.Chance(70)) inputs.push_back(g.Constant(g.Chance(70) ? Dims{columns} : Dims{rows, 1}, -1, 1, x.type).name);
  RandomValue out = x;
  out.shape = {rows, columns};
  if (!Bound(out, static_cast<double>(depth) * Most(x) * 1.5 + 1)) return false;
  auto* node = g.Node("Gemm", inputs);
  if (trans_a) G::Set(node, "transA", int64_t{1});
  if (trans_b) G::Set(node, "transB", int64_t{1});
  if (g.Chance(30)) G::Set(node, "alpha", 1.5f);
  if (g.Chance(30)) G::Set(node, "beta", 0.5f);
  g.Add(G::Result(node, out));
  return true;
}

bool MakeConv(G& g) {
  RandomValue x = g.Any(true, 8000);
  if (x.rank() < 3 || x.rank() > 4 || x.type != onnx::TensorProto::FLOAT) return false;
  const size_t dims = x.rank() - 2;
  const int64_t channels = x.shape[1];
  int64_t groups = 1;
  if (g.Chance(25)) groups = channels;
  if (g.Chance(10) && channels % 2 == 0) groups = 2;
  const int64_t filters = groups * (groups == channels ? g.Pick(1, 2) : g.Pick(1, 10));
  Dims weight = {filters, channels / groups}, kernel, strides, dilations, pads(2 * dims, 0);
  RandomValue out = x;
  out.shape = {x.shape[0], filters};
  for (size_t d = 0; d < dims; ++d) {
    kernel.push_back(g.OneOf<int64_t>({1, 3, 3, 2, 5}));
    strides.push_back(g.Chance(70) ? 1 : 2);
    dilations.push_back(g.Chance(85) ? 1 : 2);
    const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
    pads[d] = g.Pick(0, reach / 2), pads[dims + d] = g.Pick(0, reach / 2);
    const int64_t room = x.shape[2 + d] + pads[d] + pads[dims + d] - reach;
    if (room < 0) return false;
    out.shape.push_back(room / strides[d] + 1);
    weight.push_back(kernel[d]);
  }
  int64_t depth = channels / groups;
  for (int64_t k : kernel) depth *= k;
  if (!Bound(out, static_cast<double>(depth) * Most(x) * 0.5 + 1) || out.size() > 20000) return false;
  std::vector<std::string> inputs = {x.name, g.Constant(weight, -0.5, 0.5).name};
  if (g.Chance(60)) inputs.push_back(g.Constant({filters}, -1, 1).name);
  auto* node = g.Node("Conv", inputs);
  G::Set(node, "kernel_shape", kernel);
  G::Set(node, "strides", strides);
  G::Set(node, "dilations", dilations);
  G::Set(node, "pads", pads);
  G::Set(node, "group", groups);
  g.Add(G::Result(node, out));
  return true;
}

bool MakeConvTranspose(G& g) {
  const RandomValue x = g.Any(true, 2000);
  if (x.rank() != 4 || x.type != onnx::TensorProto::FLOAT) return false;
  const int64_t filters = g.Pick(1, 6), k = g.Pick(1, 3), stride = g.Pick(1, 2);
  RandomValue out = x;
  out.shape = {x.shape[0], filters, (x.shape[2] - 1) * stride + k, (x.shape[3] - 1) * stride + k};
  // The padding is given, or follows from the output's extents.
  const bool by_output = g.Chance(30);
  Dims pads(4, 0);
  for (size_t d = 2; d < 4; ++d) {
    pads[d - 2] = g.Pick(0, k / 2), pads[d] = g.Pick(0, k / 2);
    out.shape[d] = std::max<int64_t>(out.shape[d] - pads[d - 2] - pads[d], 0);
    if (out.shape[d] == 0) return false;
  }
  if (!Bound(out, static_cast<double>(x.shape[1] * k * k) * Most(x) * 0.5) || out.size() > 20000) return false;
  auto* node = g.Node("ConvTranspose", {x.name, g.Constant({x.shape[1], filters, k, k}, -0.5, 0.5).name});
  G::Set(node, "strides", Dims{stride, stride});
  if (by_output) {
    G::Set(node, "output_shape", Dims{out.shape[2], out.shape[3]});
    G::Set(node, "auto_pad", g.OneOf<std::string>({"NOTSET", "SAME_UPPER", "SAME_LOWER"}));
  } else {
    G::Set(node, "pads", pads);
  }
  g.Add(G::Result(node, out));
  return true;
}

bool MakePool(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() != 4 || x.type != onnx::TensorProto::FLOAT) return false;
  RandomValue out = x;
  const bool largest = g.Chance(50);
  out.exact = x.exact && largest;
  if (g.Chance(25)) {
    out.shape[2] = out.shape[3] = 1;
    g.Add(G::Result(g.Node(largest ? "GlobalMaxPool" : "GlobalAveragePool", {x.name}), out));
    return true;
  }
  const int64_t k = g.Pick(1, 3), stride = g.Pick(1, 2), pad = g.Pick(0, k / 2);
  if (x.shape[2] + 2 * pad < k || x.shape[3] + 2 * pad < k) return false;
  for (size_t d = 2; d < 4; ++d) out.shape[d] = (x.shape[d] + 2 * pad - k) / stride + 1;
  auto* node = g.Node(largest ? "MaxPool" : "AveragePool", {x.name});
  G::Set(node, "kernel_shape", Dims{k, k});
  G::Set(node, "strides", Dims{stride, stride});
  G::Set(node, "pads", Dims(4, pad));
  if (!largest) {
    G::Set(node, "count_include_pad", g.Pick(0, 1));
    out.low = std::min(out.low, 0.0), out.high = std::max(out.high, 0.0);
  }
  g.Add(G::Result(node, out));
  return true;
}

}  // namespace

const std::vector<NodeMaker>& ProductMakers() {
  static const auto* const makers =
      new std::vector<NodeMaker>{MakeMatMul, MakeMatMul, MakeSiblings,      MakeAttention, MakeGemm, MakeConv,
                                 MakeConv,   MakeConv,   MakeConvTranspose, MakePool,      MakePool};
  return *makers;
}

}  // namespace tilewright::graph

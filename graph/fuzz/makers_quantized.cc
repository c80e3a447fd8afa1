// Products of quantized operands. Scales are powers of two and sums small, so that results are exact however they are
// computed, and what rounds them to bytes gives the same.
#include <algorithm>
#include <string>

#include "graph/fuzz/model_generator.h"

namespace tilewright::graph {
namespace {

using G = ModelGenerator;
using onnx::TensorProto;

// Scales of operands, and of bytes that results become.
constexpr double kScaleOfX = 1.0 / 128, kScaleOfWeights = 1.0 / 256, kScaleOfResult = 0.25;
// Products that a sum has at most: its bound stays below what values may be.
constexpr int64_t kMostDepth = 90;

// Bytes with the scale and the zero point that they have in common.
struct Quantized {
  std::string name, scale, zero;
  int32_t type = TensorProto::UINT8;
};

std::string ZeroPoint(G& g, int32_t type, const Dims& shape, int64_t around) {
  const int64_t middle = type == TensorProto::UINT8 ? 128 : 0;
  return g.Constant(shape, static_cast<double>(middle - around), static_cast<double>(middle + around), type).name;
}

Quantized Quantize(G& g, const std::string& x) {
  Quantized q{.type = g.OneOf<int32_t>({TensorProto::UINT8, TensorProto::INT8})};
  q.scale = g.Scalar(kScaleOfX, TensorProto::FLOAT);
  q.zero = ZeroPoint(g, q.type, {}, 60);
  q.name = g.Node("QuantizeLinear", {x, q.scale, q.zero})->output(0);
  return q;
}

// Weights with a zero point for all of them or for each of `columns`.
Quantized Weights(G& g, const Dims& shape, int64_t columns) {
  Quantized q{.type = g.OneOf<int32_t>({TensorProto::INT8, TensorProto::INT8, TensorProto::UINT8})};
  const bool is_signed = q.type == TensorProto::INT8;
  q.name = g.Constant(shape, is_signed ? -128 : 0, is_signed ? 127 : 255, q.type).name;
  const Dims each = g.Chance(50) ? Dims{columns} : Dims{};
  q.scale = g.Constant(each, kScaleOfWeights, kScaleOfWeights).name;
  q.zero = ZeroPoint(g, q.type, each, g.Chance(60) ? 0 : 20);
  return q;
}

std::string Dequantize(G& g, const Quantized& q, int64_t axis) {
  auto* node = g.Node("DequantizeLinear", {q.name, q.scale, q.zero});
  G::Set(node, "axis", axis);
  return node->output(0);
}

// A product named "Conv" or "MatMul" in one of its forms; `set` gives the node its attributes. `axis`: of the weights'
// columns.
template <class Set>
void AddProduct(G& g, const std::string& op, const Quantized& x, const Quantized& w, int64_t axis, RandomValue out,
                const Set& set) {
  out.exact = true;
  const int64_t form = g.Pick(0, 2);
  if (form == 0) {
    Quantized y{.scale = g.Scalar(kScaleOfResult, TensorProto::FLOAT), .type = x.type};
    y.zero = ZeroPoint(g, y.type, {}, 60);
    auto* node = g.Node("QLinear" + op, {x.name, x.scale, x.zero, w.name, w.scale, w.zero, y.scale, y.zero});
    set(node);
    y.name = node->output(0);
    out.low = -256 * kScaleOfResult, out.high = 256 * kScaleOfResult;
    out.name = Dequantize(g, y, 1);
  } else if (form == 1) {
    auto* node = g.Node(op + "Integer", {x.name, w.name, x.zero, w.zero});
    set(node);
    auto* floats = g.Node("Cast", {node->output(0)});
    G::Set(floats, "to", int64_t{TensorProto::FLOAT});
    const double scale = kScaleOfX * kScaleOfWeights;
    out.name = g.Node("Mul", {floats->output(0), g.Scalar(scale, TensorProto::FLOAT)})->output(0);
  } else {
    auto* node = g.Node(op, {Dequantize(g, x, 1), Dequantize(g, w, axis)});
    set(node);
    out.name = node->output(0);
  }
  g.Add(out);
}

// What is quantized has to be exact.
RandomValue ExactFloats(G& g) {
  const RandomValue x = g.Any(true, 8000);
  return x.exact && x.type == TensorProto::FLOAT ? x : g.Input(g.Shape(g.Pick(2, 4)));
}

bool MakeQuantizedMatMul(G& g) {
  const RandomValue x = ExactFloats(g);
  if (x.rank() < 2) return false;
  const int64_t depth = x.shape.back(), columns = g.OneOf<int64_t>({1, 3, 8, 16, 33});
  RandomValue out = x;
  out.shape.back() = columns;
  if (depth > kMostDepth || !Bound(out, 2.0 * static_cast<double>(depth)) || out.size() > 20000) return false;
  const Quantized q = Quantize(g, x.name);
  AddProduct(g, "MatMul", q, Weights(g, {depth, columns}, columns), 1, out, [](onnx::NodeProto*) {});
  return true;
}

bool MakeQuantizedConv(G& g) {
  const RandomValue x = ExactFloats(g);
  if (x.rank() != 4) return false;
  const int64_t channels = x.shape[1], groups = g.Chance(30) ? channels : g.Chance(15) && channels % 2 == 0 ? 2 : 1;
  const int64_t filters = groups * g.Pick(1, groups == 1 ? 10 : 5), kernel = g.OneOf<int64_t>({1, 2, 3});
  const int64_t stride = g.Pick(1, 2), before = g.Pick(0, kernel / 2), after = g.Pick(0, kernel / 2);
  RandomValue out = x;
  out.shape = {x.shape[0], filters};
  for (size_t d = 2; d < 4; ++d) {
    const int64_t room = x.shape[d] + before + after - kernel;
    if (room < 0) return false;
    out.shape.push_back(room / stride + 1);
  }
  const int64_t depth = channels / groups * kernel * kernel;
  if (depth > kMostDepth || !Bound(out, 2.0 * static_cast<double>(depth)) || out.size() > 20000) return false;
  const Quantized q = Quantize(g, x.name);
  const Quantized w = Weights(g, {filters, channels / groups, kernel, kernel}, filters);
  AddProduct(g, "Conv", q, w, 0, out, [&](onnx::NodeProto* node) {
    G::Set(node, "pads", Dims{before, before, after, after});
    G::Set(node, "strides", Dims{stride, stride});
    G::Set(node, "group", groups);
  });
  return true;
}

// A product by weights of few bits, several in a byte, with a scale and perhaps a zero point for each block.
bool MakePackedMatMul(G& g) {
  // Activations that are rounded to bytes are known exactly: a step more or less would be an error.
  const bool rounds = g.Chance(40);
  const RandomValue x = rounds ? ExactFloats(g) : g.Any(true, 8000);
  if (x.rank() < 2 || x.type != TensorProto::FLOAT) return false;
  const int64_t depth = x.shape.back(), columns = g.OneOf<int64_t>({1, 3, 16, 33, 64, 128});
  const int64_t bits = g.OneOf<int64_t>({2, 4, 4, 8}), block = g.OneOf<int64_t>({16, 16, 32});
  const int64_t blocks = (depth + block - 1) / block, most = int64_t{1} << bits;
  RandomValue out = x;
  out.shape.back() = columns;
  if (!Bound(out, static_cast<double>(depth) * Most(x)) || out.size() > 20000) return false;
  const std::string weights = g.Constant({columns, blocks, block * bits / 8}, 0, 255, TensorProto::UINT8).name;
  const double scale = 1.0 / static_cast<double>(most);
  std::vector<std::string> inputs = {x.name, weights, g.Constant({columns * blocks}, scale / 2, scale).name};
  const Dims zeros = {columns * ((blocks * bits + 7) / 8)};
  if (g.Chance(50)) inputs.push_back(g.Constant(zeros, 0, 255, TensorProto::UINT8).name);
  auto* node = g.Node("MatMulNBits", inputs);
  node->set_domain("com.microsoft");
  G::Set(node, "K", depth);
  G::Set(node, "N", columns);
  G::Set(node, "bits", bits);
  G::Set(node, "block_size", block);
  if (rounds) G::Set(node, "accuracy_level", int64_t{4});
  g.Add(G::Result(node, out));
  return true;
}

}  // namespace

const std::vector<NodeMaker>& QuantizedMakers() {
  static const auto* const makers =
      new std::vector<NodeMaker>{MakeQuantizedMatMul, MakeQuantizedConv, MakePackedMatMul};
  return *makers;
}

}  // namespace tilewright::graph

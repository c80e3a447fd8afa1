#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "graph/fuzz/model_generator.h"

namespace tilewright::graph {
namespace {

using G = ModelGenerator;
constexpr double kMost = 50;  // larger values are not made

RandomValue WithBounds(RandomValue value, double low, double high, bool exact) {
  value.low = low;
  value.high = high;
  value.exact = exact;
  return value;
}

struct Unary {
  const char* op;
  double (*f)(double);  // rising
  double least, most;   // of the operand
  bool only_float32 = false;
};

// Rising functions on a part of the numbers.
const Unary kRising[] = {
    {"Exp", std::exp, -20, 3},
    {"Log", std::log, 0.05, 1e9},
    {"Sqrt", std::sqrt, 0.01, 1e9},
    {"Erf", std::erf, -1e9, 1e9},
    {"Tanh", std::tanh, -1e9, 1e9},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -1e9, 1e9},
    {"Softplus", [](double x) { return std::log1p(std::exp(std::min(x, 30.0))); }, -30, 30},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }, -1e9, 1e9},
    {"Atan", std::atan, -1e9, 1e9},
    {"Relu", [](double x) { return std::max(x, 0.0); }, -1e9, 1e9},
    {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }, -1e9, 1e9},
    {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, -1e9, 1e9},
    {"Selu", [](double x) { return 1.0507 * (x < 0 ? 1.6733 * std::expm1(x) : x); }, -1e9, 1e9},
    {"Celu", [](double x) { return x < 0 ? std::expm1(x) : x; }, -1e9, 1e9, true},
    {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }, -1e9, 1e9},
    {"Sinh", std::sinh, -3, 3, true},
    {"Asinh", std::asinh, -1e9, 1e9, true},
};

bool MakeRising(G& g) {
  const RandomValue x = g.Any();
  const Unary& unary = kRising[g.Pick(0, std::size(kRising) - 1)];
  if (x.low < unary.least || x.high > unary.most) return false;
  if (unary.only_float32 && x.type != onnx::TensorProto::FLOAT) return false;
  const bool exact = x.exact && std::string(unary.op) == "Relu";
  g.Add(WithBounds(G::Result(g.Node(unary.op, {x.name}), x), unary.f(x.low), unary.f(x.high), exact));
  return true;
}

bool MakeEven(G& g) {
  const RandomValue x = g.Any();
  const double most = std::max(std::abs(x.low), std::abs(x.high));
  switch (g.Pick(0, 5)) {
    case 0:
      g.Add(WithBounds(G::Result(g.Node("Abs", {x.name}), x), x.low > 0 ? x.low : 0, most, x.exact));
      return true;
    case 1:
      g.Add(WithBounds(G::Result(g.Node("Neg", {x.name}), x), -x.high, -x.low, x.exact));
      return true;
    case 2:
      g.Add(WithBounds(G::Result(g.Node(g.Chance(50) ? "Sin" : "Cos", {x.name}), x), -1, 1, false));
      return true;
    case 3:
      if (x.low < 0.05) return false;
      g.Add(WithBounds(G::Result(g.Node("Reciprocal", {x.name}), x), 1 / x.high, 1 / x.low, false));
      return true;
    case 4:
      if (x.type != onnx::TensorProto::FLOAT) return false;
      g.Add(WithBounds(G::Result(g.Node("HardSwish", {x.name}), x), -1, std::max(x.high, 0.0), false));
      return true;
    default:
      g.Add(G::Result(g.Node("Identity", {x.name}), x));
      return true;
  }
}

// What jumps: of exact values only.
bool MakeJump(G& g) {
  const RandomValue x = g.Any();
  if (!x.exact) return false;
  const char* const ops[] = {"Floor", "Ceil", "Round", "Sign"};
  g.Add(WithBounds(G::Result(g.Node(ops[g.Pick(0, 3)], {x.name}), x), std::floor(x.low) - 1, std::ceil(x.high) + 1,
                   true));
  return true;
}

Dims Broadcast(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (const Dims* dims : {&a, &b}) {
    for (size_t d = 0; d < dims->size(); ++d) {
      int64_t& extent = result[result.size() - dims->size() + d];
      if ((*dims)[d] != 1) extent = (*dims)[d];
    }
  }
  return result;
}

bool MakeBinary(G& g) {
  RandomValue a = g.Any(g.Chance(85)), b = g.BroadcastTo(a);
  if (g.Chance(30)) std::swap(a, b);
  if (!a.is_float() && a.type != onnx::TensorProto::INT64) return false;
  RandomValue out = a;
  out.shape = Broadcast(a.shape, b.shape);
  out.exact = a.exact && b.exact;
  const double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  const char* op = "Add";
  switch (g.Pick(0, 6)) {
    case 0:
      out.low = a.low + b.low, out.high = a.high + b.high;
      break;
    case 1:
      op = "Sub";
      out.low = a.low - b.high, out.high = a.high - b.low;
      break;
    case 2:
      op = "Mul";
      out.low = *std::min_element(products, products + 4), out.high = *std::max_element(products, products + 4);
      break;
    case 3:
      op = "Div";
      if (b.low < 0.1 || !a.is_float()) return false;
      out.low = std::min(a.low / b.low, a.low / b.high), out.high = std::max(a.high / b.low, a.high / b.high);
      break;
    case 4:
      op = "Max";
      out.low = std::max(a.low, b.low), out.high = std::max(a.high, b.high);
      break;
    case 5:
      op = "Min";
      out.low = std::min(a.low, b.low), out.high = std::min(a.high, b.high);
      break;
    default:
      if (!a.is_float()) return false;
      op = "PRelu";
      if (b.rank() > a.rank()) return false;
      out.shape = a.shape;
      out.low = -std::max({std::abs(products[0]), std::abs(products[1]), -std::min(a.low, 0.0)});
      out.high = std::max({std::abs(products[0]), std::abs(products[1]), a.high});
      if (Broadcast(a.shape, b.shape) != a.shape) return false;
  }
  // Differences, sums and products of exact values are rounded once, unless two of them become one operation.
  const bool selects = op[0] == 'M' && op[1] != 'u';
  if (out.is_float()) out.exact = out.exact && selects;
  if (out.low < -kMost || out.high > kMost || out.size() > 40000) return false;
  g.Add(G::Result(g.Node(op, {a.name, b.name}), out));
  return true;
}

bool MakePower(G& g) {
  const RandomValue x = g.Any();
  const double most = std::max(std::abs(x.low), std::abs(x.high));
  if (most > 5) return false;
  const double exponent = static_cast<double>(g.Pick(2, 3));
  const RandomValue out = WithBounds(x, exponent == 2 ? 0 : -std::pow(most, 3), std::pow(most, exponent), false);
  g.Add(G::Result(g.Node("Pow", {x.name, g.Scalar(exponent, x.type)}), out));
  return true;
}

bool MakeClip(G& g) {
  const RandomValue x = g.Any();
  const double low = -0.5, high = 0.75;
  std::vector<std::string> inputs = {x.name, g.Chance(80) ? g.Scalar(low, x.type) : ""};
  if (g.Chance(80)) inputs.push_back(g.Scalar(high, x.type));
  RandomValue out = x;
  if (!inputs[1].empty()) out.low = low, out.high = std::max(out.high, low);
  if (inputs.size() > 2) out.high = high, out.low = std::min(out.low, high);
  g.Add(G::Result(g.Node("Clip", inputs), out));
  return true;
}

// Comparisons, logic, selection.
bool MakeSelection(G& g) {
  const RandomValue a = g.Any(), b = g.BroadcastTo(a);
  if (!a.exact || !b.exact) return false;
  const char* const ops[] = {"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"};
  RandomValue condition = a;
  condition.type = onnx::TensorProto::BOOL;
  condition.shape = Broadcast(a.shape, b.shape);
  condition = G::Result(g.Node(ops[g.Pick(0, 4)], {a.name, b.name}), condition);
  if (g.Chance(30)) condition = G::Result(g.Node("Not", {condition.name}), condition);
  if (g.Chance(30)) {
    RandomValue cast = WithBounds(condition, 0, 1, true);
    cast.type = g.Chance(70) ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64;
    auto* node = g.Node("Cast", {condition.name});
    G::Set(node, "to", int64_t{cast.type});
    g.Add(G::Result(node, cast));
    return true;
  }
  const RandomValue x = g.BroadcastTo(a), y = g.BroadcastTo(a);
  RandomValue out = x;
  out.shape = Broadcast(condition.shape, Broadcast(x.shape, y.shape));
  out.low = std::min(x.low, y.low), out.high = std::max(x.high, y.high);
  out.exact = x.exact && y.exact;
  g.Add(G::Result(g.Node("Where", {condition.name, x.name, y.name}), out));
  return true;
}

bool MakeCast(G& g) {
  RandomValue x = g.Any(g.Chance(50));
  if (x.type == onnx::TensorProto::BOOL) return false;
  RandomValue out = x;
  if (x.is_float()) {
    if (!x.exact) return false;
    out.type = g.Chance(70) ? onnx::TensorProto::INT64 : onnx::TensorProto::INT32;
    out.low = std::floor(x.low), out.high = std::ceil(x.high);
  } else {
    out.type = onnx::TensorProto::FLOAT;
  }
  auto* node = g.Node("Cast", {x.name});
  G::Set(node, "to", int64_t{out.type});
  g.Add(G::Result(node, out));
  return true;
}

// Forms that exporters decompose.
bool MakeGelu(G& g) {
  const RandomValue x = g.Any();
  const auto number = [&](double value) { return g.Scalar(value, x.type); };
  const auto node = [&](const char* op, std::vector<std::string> inputs) { return g.Node(op, inputs)->output(0); };
  const std::string erf = node("Erf", {node("Div", {x.name, number(1.4142135)})});
  const std::string sum = node("Add", {erf, number(1)});
  auto* last = g.Node("Mul", {node("Mul", {x.name, sum}), number(0.5)});
  g.Add(WithBounds(G::Result(last, x), -0.2, std::max(x.high, 0.0), false));
  return true;
}

bool MakeVariadic(G& g) {
  const RandomValue a = g.Any();
  const RandomValue b = g.BroadcastTo(a), c = g.BroadcastTo(a);
  RandomValue out = a;
  out.shape = Broadcast(a.shape, Broadcast(b.shape, c.shape));
  out.exact = false;
  const char* op = g.Chance(50) ? "Sum" : "Mean";
  out.low = a.low + b.low + c.low, out.high = a.high + b.high + c.high;
  if (out.low < -kMost || out.high > kMost) return false;
  if (op[0] == 'M') out.low /= 3, out.high /= 3;
  g.Add(G::Result(g.Node(op, {a.name, b.name, c.name}), out));
  return true;
}

}  // namespace

const std::vector<NodeMaker>& ElementwiseMakers() {
  static const auto* const makers =
      new std::vector<NodeMaker>{MakeRising, MakeRising, MakeEven,      MakeJump, MakeBinary, MakeBinary, MakeBinary,
                                 MakeBinary, MakePower,  MakeSelection, MakeClip, MakeCast,   MakeGelu,   MakeVariadic};
  return *makers;
}

}  // namespace tilewright::graph

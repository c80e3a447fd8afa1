#include <algorithm>
#include <cmath>
#include <string>

#include "graph/fuzz/model_generator.h"

namespace tilewright::graph {
namespace {

using G = ModelGenerator;

bool MakeReduce(G& g) {
  const RandomValue x = g.Any(g.Chance(95));
  if (x.rank() == 0 || (!x.is_float() && x.type != onnx::TensorProto::INT64)) return false;
  Dims axes;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (g.Chance(40))
      axes.push_back(g.Chance(50) ? static_cast<int64_t>(d) : static_cast<int64_t>(d) - static_cast<int64_t>(x.rank()));
  }
  if (axes.empty()) axes.push_back(-1);
  const int64_t keep = g.Pick(0, 1);
  RandomValue out = x;
  int64_t count = 1;
  Dims shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    const auto signed_d = static_cast<int64_t>(d);
    const bool reduced = std::find(axes.begin(), axes.end(), signed_d) != axes.end() ||
                         std::find(axes.begin(), axes.end(), signed_d - static_cast<int64_t>(x.rank())) != axes.end();
    if (reduced) count *= x.shape[d];
    if (!reduced) shape.push_back(x.shape[d]);
    if (reduced && keep != 0) shape.push_back(1);
  }
  out.shape = shape;
  const char* const ops[] = {"ReduceMean",      "ReduceMax", "ReduceMin", "ReduceSum",
                             "ReduceSumSquare", "ReduceL2",  "ReduceL1"};
  const int64_t which = x.is_float() ? g.Pick(0, 6) : g.Pick(1, 3);
  const double most = std::max(std::abs(x.low), std::abs(x.high)), n = static_cast<double>(count);
  out.exact = x.exact && (which == 1 || which == 2 || !x.is_float());
  if (which == 3) out.low = n * std::min(x.low, 0.0), out.high = n * std::max(x.high, 0.0);
  if (which >= 4) out.low = 0, out.high = which == 4 ? n * most * most : which == 5 ? std::sqrt(n) * most : n * most;
  if (out.high > 500 || out.low < -500) return false;
  onnx::NodeProto* node = nullptr;
  if (which == 3) {
    node = g.Node("ReduceSum", {x.name, g.Int64s(axes)});
  } else {
    node = g.Node(ops[which], {x.name});
    G::Set(node, "axes", axes);
  }
  G::Set(node, "keepdims", keep);
  g.Add(G::Result(node, out));
  return true;
}

bool MakeSoftmax(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() == 0) return false;
  const bool logarithm = g.Chance(25);
  auto* node = g.Node(logarithm ? "LogSoftmax" : "Softmax", {x.name});
  G::Set(node, "axis", g.Chance(70) ? int64_t{-1} : g.Pick(0, static_cast<int64_t>(x.rank()) - 1));
  RandomValue out = x;
  out.exact = false;
  out.low = logarithm ? x.low - x.high - 12 : 0, out.high = logarithm ? 0.01 : 1;
  g.Add(G::Result(node, out));
  return true;
}

// Mean and variance by their own reductions, as exporters write it.
bool MakeLayerNorm(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() == 0 || x.shape.back() < 2) return false;
  RandomValue out = x;
  out.exact = false;
  out.low = -20, out.high = 20;
  const int64_t width = x.shape.back();
  const std::string scale = g.Constant({width}, 0.5, 1.5, x.type).name, shift = g.Constant({width}, -1, 1, x.type).name;
  if (g.Chance(30) && x.type == onnx::TensorProto::FLOAT) {
    g.Add(G::Result(g.Node("LayerNormalization", {x.name, scale, shift}), out));
    return true;
  }
  const auto node = [&](const char* op, const std::vector<std::string>& inputs) {
    return g.Node(op, inputs)->output(0);
  };
  const auto mean = [&](const std::string& of) {
    auto* reduce = g.Node("ReduceMean", {of});
    G::Set(reduce, "axes", Dims{-1});
    return reduce->output(0);
  };
  const std::string difference = node("Sub", {x.name, mean(x.name)});
  const std::string variance = mean(node("Pow", {difference, g.Scalar(2, x.type)}));
  const std::string deviation = node("Sqrt", {node("Add", {variance, g.Scalar(1e-2, x.type)})});
  const std::string scaled = node("Mul", {node("Div", {difference, deviation}), scale});
  g.Add(G::Result(g.Node("Add", {scaled, shift}), out));
  return true;
}

bool MakeChannelNorm(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() < 3 || x.type != onnx::TensorProto::FLOAT) return false;
  RandomValue out = x;
  out.exact = false;
  const Dims channels = {x.shape[1]};
  const std::string scale = g.Constant(channels, 0.5, 1.5).name, shift = g.Constant(channels, -1, 1).name;
  if (g.Chance(30)) {
    auto* node = g.Node("InstanceNormalization", {x.name, scale, shift});
    G::Set(node, "epsilon", 0.01f);
    out.low = -30, out.high = 30;
    g.Add(G::Result(node, out));
    return true;
  }
  const std::string mean = g.Constant(channels, -1, 1).name, variance = g.Constant(channels, 0.5, 1.5).name;
  out.low = 2.2 * (x.low - 1) - 1, out.high = 2.2 * (x.high + 1) + 1;
  if (out.low < -100 || out.high > 100) return false;
  g.Add(G::Result(g.Node("BatchNormalization", {x.name, scale, shift, mean, variance}), out));
  return true;
}

bool MakePosition(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() == 0 || !x.exact || x.type != onnx::TensorProto::FLOAT) return false;
  const int64_t axis = g.Pick(0, static_cast<int64_t>(x.rank()) - 1);
  auto* node = g.Node(g.Chance(50) ? "ArgMax" : "ArgMin", {x.name});
  G::Set(node, "axis", axis);
  const int64_t keep = g.Pick(0, 1);
  G::Set(node, "keepdims", keep);
  RandomValue out = x;
  out.type = onnx::TensorProto::INT64;
  out.low = 0, out.high = static_cast<double>(x.shape[static_cast<size_t>(axis)]);
  if (keep != 0) {
    out.shape[static_cast<size_t>(axis)] = 1;
  } else {
    out.shape.erase(out.shape.begin() + axis);
  }
  g.Add(G::Result(node, out));
  return true;
}

bool MakeRunningSum(G& g) {
  const RandomValue x = g.Any(true, 4000);
  if (x.rank() == 0) return false;
  const int64_t axis = g.Pick(0, static_cast<int64_t>(x.rank()) - 1);
  const auto n = static_cast<double>(x.shape[static_cast<size_t>(axis)]);
  RandomValue out = x;
  out.exact = false;
  out.low = n * std::min(x.low, 0.0), out.high = n * std::max(x.high, 0.0);
  if (out.low < -100 || out.high > 100) return false;
  auto* node = g.Node("CumSum", {x.name, g.Int64s({axis}, true)});
  G::Set(node, "exclusive", g.Pick(0, 1));
  G::Set(node, "reverse", g.Pick(0, 1));
  g.Add(G::Result(node, out));
  return true;
}

}  // namespace

const std::vector<NodeMaker>& ReductionMakers() {
  static const auto* const makers = new std::vector<NodeMaker>{
      MakeReduce, MakeReduce, MakeSoftmax, MakeLayerNorm, MakeChannelNorm, MakePosition, MakeRunningSum};
  return *makers;
}

}  // namespace tilewright::graph

#include <algorithm>
#include <numeric>
#include <string>

#include "graph/fuzz/model_generator.h"

namespace tilewright::graph {
namespace {

using G = ModelGenerator;

int64_t Signed(G& g, int64_t axis, size_t rank) { return g.Chance(50) ? axis : axis - static_cast<int64_t>(rank); }

bool MakeTranspose(G& g) {
  RandomValue x = g.Any(g.Chance(90));
  if (x.rank() < 2) return false;
  Dims order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  for (size_t d = order.size() - 1; d > 0; --d) {
    std::swap(order[d], order[static_cast<size_t>(g.Pick(0, static_cast<int64_t>(d)))]);
  }
  auto* node = g.Node("Transpose", {x.name});
  G::Set(node, "perm", order);
  RandomValue out = x;
  for (size_t d = 0; d < order.size(); ++d) out.shape[d] = x.shape[static_cast<size_t>(order[d])];
  g.Add(G::Result(node, out));
  return true;
}

bool MakeReshape(G& g) {
  RandomValue x = g.Any(g.Chance(90));
  Dims shape = x.shape;
  if (shape.size() > 1 && g.Chance(60)) {  // two dimensions become one
    const auto at = static_cast<size_t>(g.Pick(0, static_cast<int64_t>(shape.size()) - 2));
    shape[at] *= shape[at + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  if (!shape.empty() && shape.size() < 5 && g.Chance(60)) {  // one becomes two
    const auto at = static_cast<size_t>(g.Pick(0, static_cast<int64_t>(shape.size()) - 1));
    for (int64_t factor : {2, 3, 4, 1}) {
      if (shape[at] % factor != 0) continue;
      const int64_t other = shape[at] / factor;
      shape[at] = factor;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1, other);
      break;
    }
  }
  Dims target = shape;
  if (!target.empty() && g.Chance(40))
    target[static_cast<size_t>(g.Pick(0, static_cast<int64_t>(target.size()) - 1))] = -1;
  RandomValue out = x;
  out.shape = shape;
  g.Add(G::Result(g.Node("Reshape", {x.name, g.Int64s(target)}), out));
  return true;
}

bool MakeFlatten(G& g) {
  RandomValue x = g.Any();
  const int64_t axis = g.Pick(0, static_cast<int64_t>(x.rank()));
  auto* node = g.Node("Flatten", {x.name});
  G::Set(node, "axis", axis);
  RandomValue out = x;
  out.shape = {1, 1};
  for (size_t d = 0; d < x.rank(); ++d) out.shape[static_cast<int64_t>(d) < axis ? 0 : 1] *= x.shape[d];
  g.Add(G::Result(node, out));
  return true;
}

bool MakeUnsqueeze(G& g) {
  RandomValue x = g.Any(g.Chance(90));
  if (x.rank() > 4) return false;
  const int64_t axis = g.Pick(0, static_cast<int64_t>(x.rank()));
  RandomValue out = x;
  out.shape.insert(out.shape.begin() + axis, 1);
  g.Add(G::Result(g.Node("Unsqueeze", {x.name, g.Int64s({Signed(g, axis, out.rank())})}), out));
  return true;
}

bool MakeSqueeze(G& g) {
  RandomValue x = g.Any(g.Chance(90));
  const auto one = std::find(x.shape.begin(), x.shape.end(), 1);
  if (one == x.shape.end()) return false;
  const int64_t axis = one - x.shape.begin();
  RandomValue out = x;
  out.shape.erase(out.shape.begin() + axis);
  g.Add(G::Result(g.Node("Squeeze", {x.name, g.Int64s({Signed(g, axis, x.rank())})}), out));
  return true;
}

int64_t AnyAxis(G& g, const RandomValue& x) { return g.Pick(0, static_cast<int64_t>(x.rank()) - 1); }

bool MakeConcat(G& g) {
  const RandomValue x = g.Any(true, 4000);
  if (x.rank() == 0) return false;
  const int64_t axis = AnyAxis(g, x);
  std::vector<std::string> inputs = {x.name};
  RandomValue out = x;
  for (int64_t i = g.Pick(1, 2); i > 0; --i) {
    Dims shape = x.shape;
    if (g.Chance(40)) {
      inputs.push_back(x.name);
    } else {
      shape[static_cast<size_t>(axis)] = g.Pick(1, 4);
      inputs.push_back(g.Constant(shape, -1, 1, x.type).name);
      out.low = std::min(out.low, -1.0), out.high = std::max(out.high, 1.0);
    }
    out.shape[static_cast<size_t>(axis)] += shape[static_cast<size_t>(axis)];
  }
  if (g.Chance(50)) std::swap(inputs[0], inputs.back());
  auto* node = g.Node("Concat", inputs);
  G::Set(node, "axis", Signed(g, axis, x.rank()));
  g.Add(G::Result(node, out));
  return true;
}

bool MakeSplit(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() == 0) return false;
  const int64_t axis = AnyAxis(g, x), extent = x.shape[static_cast<size_t>(axis)];
  if (extent < 2) return false;
  const int64_t first = g.Pick(1, extent - 1);
  auto* node = g.Node("Split", {x.name, g.Int64s({first, extent - first})}, 2);
  G::Set(node, "axis", axis);
  for (int i = 0; i < 2; ++i) {
    RandomValue out = x;
    out.name = node->output(i);
    out.shape[static_cast<size_t>(axis)] = i == 0 ? first : extent - first;
    g.Add(out);
  }
  return true;
}

bool MakeSlice(G& g) {
  const RandomValue x = g.Any(g.Chance(90));
  if (x.rank() == 0) return false;
  const int64_t axis = AnyAxis(g, x), extent = x.shape[static_cast<size_t>(axis)];
  RandomValue out = x;
  const int64_t start = g.Pick(0, extent - 1), step = g.Pick(1, 3);
  if (g.Chance(30)) {  // backwards
    out.shape[static_cast<size_t>(axis)] = start / step + 1;
    g.Add(G::Result(g.Node("Slice", {x.name, g.Int64s({start}), g.Int64s({-9223372036854775807}), g.Int64s({axis}),
                                     g.Int64s({-step})}),
                    out));
    return true;
  }
  const int64_t end = g.Pick(start + 1, extent);
  out.shape[static_cast<size_t>(axis)] = (end - start + step - 1) / step;
  const int64_t written = end == extent && g.Chance(50) ? 9223372036854775807 : end;
  g.Add(G::Result(g.Node("Slice", {x.name, g.Int64s({g.Chance(50) ? start : start - extent}), g.Int64s({written}),
                                   g.Int64s({Signed(g, axis, x.rank())}), g.Int64s({step})}),
                  out));
  return true;
}

bool MakePad(G& g) {
  const RandomValue x = g.Any(true, 4000);
  if (x.rank() == 0) return false;
  const char* const modes[] = {"constant", "reflect", "edge"};
  const int64_t mode = g.Pick(0, 2);
  Dims pads(2 * x.rank(), 0);
  RandomValue out = x;
  for (size_t d = 0; d < x.rank(); ++d) {
    const int64_t most = mode == 1 ? std::min<int64_t>(x.shape[d] - 1, 2) : 2;
    pads[d] = g.Pick(0, most);
    pads[x.rank() + d] = g.Pick(0, most);
    out.shape[d] += pads[d] + pads[x.rank() + d];
  }
  if (out.size() > 40000) return false;
  auto* node = g.Node("Pad", {x.name, g.Int64s(pads)});
  G::Set(node, "mode", std::string(modes[mode]));
  if (mode == 0) out.low = std::min(out.low, 0.0), out.high = std::max(out.high, 0.0);
  g.Add(G::Result(node, out));
  return true;
}

bool MakeRepeat(G& g) {
  const RandomValue x = g.Any(true, 2000);
  if (x.rank() == 0) return false;
  RandomValue out = x;
  Dims repeats(x.rank(), 1);
  const auto axis = static_cast<size_t>(AnyAxis(g, x));
  if (g.Chance(50)) {
    repeats[axis] = g.Pick(1, 3);
    out.shape[axis] *= repeats[axis];
    g.Add(G::Result(g.Node("Tile", {x.name, g.Int64s(repeats)}), out));
    return true;
  }
  for (size_t d = 0; d < x.rank(); ++d) {
    if (x.shape[d] == 1) out.shape[d] = g.Pick(1, 5);
  }
  Dims target = out.shape;
  if (g.Chance(40)) target.insert(target.begin(), 2), out.shape.insert(out.shape.begin(), 2);
  g.Add(G::Result(g.Node("Expand", {x.name, g.Int64s(target)}), out));
  return true;
}

bool MakeGather(G& g) {
  const RandomValue x = g.Any(g.Chance(90), 8000);
  if (x.rank() == 0) return false;
  const int64_t axis = AnyAxis(g, x), extent = x.shape[static_cast<size_t>(axis)];
  RandomValue out = x;
  const bool scalar = g.Chance(30);
  Dims indices;
  for (int64_t i = scalar ? 1 : g.Pick(1, 5); i > 0; --i) indices.push_back(g.Pick(-extent, extent - 1));
  out.shape.erase(out.shape.begin() + axis);
  if (!scalar) out.shape.insert(out.shape.begin() + axis, static_cast<int64_t>(indices.size()));
  auto* node = g.Node("Gather", {x.name, g.Int64s(indices, scalar)});
  G::Set(node, "axis", Signed(g, axis, x.rank()));
  g.Add(G::Result(node, out));
  return true;
}

// Shape arithmetic: a reshape whose target is computed from the value's extents.
bool MakeShapeArithmetic(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() < 2) return false;
  const std::string shape = g.Node("Shape", {x.name})->output(0);
  auto* first = g.Node("Gather", {shape, g.Int64s({0})});
  G::Set(first, "axis", int64_t{0});
  auto* target = g.Node("Concat", {first->output(0), g.Int64s({-1})});
  G::Set(target, "axis", int64_t{0});
  RandomValue out = x;
  out.shape = {x.shape[0], x.size() / std::max<int64_t>(x.shape[0], 1)};
  g.Add(G::Result(g.Node("Reshape", {x.name, target->output(0)}), out));
  return true;
}

bool MakeSpaceAndDepth(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() != 4) return false;
  RandomValue out = x;
  if (x.shape[1] % 4 == 0) {
    auto* node = g.Node("DepthToSpace", {x.name});
    G::Set(node, "blocksize", int64_t{2});
    if (g.Chance(50)) G::Set(node, "mode", std::string("CRD"));
    out.shape = {x.shape[0], x.shape[1] / 4, x.shape[2] * 2, x.shape[3] * 2};
    g.Add(G::Result(node, out));
    return true;
  }
  if (x.shape[2] % 2 != 0 || x.shape[3] % 2 != 0) return false;
  auto* node = g.Node("SpaceToDepth", {x.name});
  G::Set(node, "blocksize", int64_t{2});
  out.shape = {x.shape[0], x.shape[1] * 4, x.shape[2] / 2, x.shape[3] / 2};
  g.Add(G::Result(node, out));
  return true;
}

bool MakeTriangle(G& g) {
  const RandomValue x = g.Any();
  if (x.rank() < 2) return false;
  RandomValue out = x;
  out.low = std::min(out.low, 0.0), out.high = std::max(out.high, 0.0);
  auto* node = g.Node("Trilu", {x.name, g.Int64s({g.Pick(-2, 2)}, true)});
  G::Set(node, "upper", g.Pick(0, 1));
  g.Add(G::Result(node, out));
  return true;
}

bool MakeResize(G& g) {
  const RandomValue x = g.Any(true, 2000);
  if (x.rank() != 4 || x.type != onnx::TensorProto::FLOAT) return false;
  RandomValue out = x;
  const auto mode = g.OneOf<std::string>({"nearest", "linear", "linear", "cubic"});
  for (size_t d = 2; d < 4; ++d) out.shape[d] = mode == "nearest" ? 2 * x.shape[d] : g.Pick(1, 2 * x.shape[d] + 1);
  if (mode == "cubic" && !Bound(out, 3 * Most(x))) return false;
  auto* node = g.Node("Resize", {x.name, "", "", g.Int64s(out.shape)});
  G::Set(node, "mode", mode);
  if (mode == "nearest") {
    G::Set(node, "coordinate_transformation_mode", std::string("asymmetric"));
    G::Set(node, "nearest_mode", std::string("floor"));
  } else {
    out.exact = false;
    G::Set(node, "coordinate_transformation_mode",
           g.OneOf<std::string>({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}));
    if (mode == "cubic") G::Set(node, "exclude_outside", g.Pick(0, 1));
  }
  g.Add(G::Result(node, out));
  return true;
}

// An operator that runs on the host wherever the kernels run.
bool MakeTopK(G& g) {
  const RandomValue x = g.Any(true, 2000);
  if (x.rank() == 0) return false;
  const int64_t axis = g.Pick(0, static_cast<int64_t>(x.rank()) - 1);
  const int64_t count = g.Pick(1, x.shape[static_cast<size_t>(axis)]);
  auto* node = g.Node("TopK", {x.name, g.Int64s({count})}, 2);
  G::Set(node, "axis", Signed(g, axis, x.rank()));
  G::Set(node, "largest", g.Pick(0, 1));
  RandomValue out = x;
  out.shape[static_cast<size_t>(axis)] = count;
  g.Add(G::Result(node, out));
  return true;
}

}  // namespace

const std::vector<NodeMaker>& MovementMakers() {
  static const auto* const makers = new std::vector<NodeMaker>{
      MakeTranspose, MakeTranspose, MakeReshape,         MakeReshape,       MakeFlatten, MakeUnsqueeze, MakeSqueeze,
      MakeConcat,    MakeSplit,     MakeSlice,           MakePad,           MakeRepeat,  MakeGather,    MakeTriangle,
      MakeResize,    MakeSlice,     MakeShapeArithmetic, MakeSpaceAndDepth, MakeTopK};
  return *makers;
}

}  // namespace tilewright::graph

#include "ir/ops/conv.h"

#include "base/check.h"

namespace tilewright::ops {
namespace {

struct Naming {
  const char* block;
  std::vector<std::string> positions, offsets;
};
Naming NamingOf(size_t dims) {
  switch (dims) {
    case 1:
      return {"conv1d_nlc", {"l"}, {"rl"}};
    case 2:
      return {"conv2d_nhwc", {"h", "w"}, {"rh", "rw"}};
    default:
      return {"conv3d_ndhwc", {"d", "h", "w"}, {"rd", "rh", "rw"}};
  }
}

}  // namespace

std::vector<Window> Same(const Window& window, int dims) {
  return std::vector<Window>(static_cast<size_t>(dims), window);
}

std::vector<Expr> InputShape(const ConvShape& shape) {
  std::vector<Expr> extents = {shape.batch};
  extents.insert(extents.end(), shape.spatial.begin(), shape.spatial.end());
  extents.emplace_back(shape.in_channels);
  return extents;
}

std::vector<Expr> WeightShape(const ConvShape& shape) {
  std::vector<Expr> extents;
  for (const Window& window : shape.windows) extents.emplace_back(window.kernel);
  extents.emplace_back(shape.in_channels / shape.groups);
  extents.emplace_back(shape.out_channels);
  return extents;
}

Buffer AddConv(FunctionBuilder& f, const Buffer& inputs, const Buffer& weight, const ConvShape& shape,
               DataType output) {
  const size_t dims = shape.spatial.size();
  TW_CHECK(dims >= 1 && dims <= 3 && shape.windows.size() == dims);
  TW_CHECK(shape.in_channels % shape.groups == 0 && shape.out_channels % shape.groups == 0);
  Naming naming = NamingOf(dims);

  std::vector<int64_t> padding = {0};
  std::vector<Expr> extents = {shape.batch};
  std::vector<std::string> names = {"n"};
  std::vector<ReduceAxis> axes;
  for (size_t i = 0; i < dims; ++i) {
    padding.push_back(shape.windows[i].padding);
    extents.push_back(WindowCount(shape.spatial[i], shape.windows[i]));
    names.push_back(naming.positions[i]);
    axes.emplace_back(naming.offsets[i], Expr(shape.windows[i].kernel));
  }
  padding.push_back(0);
  extents.emplace_back(shape.out_channels);
  names.emplace_back("co");
  const int64_t group_inputs = shape.in_channels / shape.groups;
  const int64_t group_outputs = shape.out_channels / shape.groups;
  axes.emplace_back("rc", Expr(group_inputs));

  Buffer padded = Pad(f, inputs, padding, padding, Const(inputs->dtype, 0));
  return f.Compute(
      naming.block, extents,
      [&](const std::vector<Var>& v) {
        const Var& co = v.back();
        const Var& rc = axes.back();
        std::vector<Expr> at = {v[0]}, weight_at;
        for (size_t i = 0; i < dims; ++i) {
          at.push_back(WindowIndex(v[i + 1], axes[i], shape.windows[i]));
          weight_at.push_back(axes[i]);
        }
        at.push_back(shape.groups == 1 ? Expr(rc) : FloorDiv(co, Expr(group_outputs)) * Expr(group_inputs) + rc);
        weight_at.push_back(rc);
        weight_at.push_back(co);
        return Sum(CastTo(output, padded.Load(at)) * CastTo(output, weight.Load(weight_at)), axes);
      },
      names);
}

Function Conv(const ConvShape& shape, const OperandTypes& types) {
  FunctionBuilder f;
  Buffer inputs = f.Input("inputs", InputShape(shape), types.input);
  Buffer weight = f.Input("weight", WeightShape(shape), types.weight);
  Buffer output = AddConv(f, inputs, weight, shape, types.output);
  return f.Build({output});
}

}  // namespace tilewright::ops

// Operators whose indices are data, and running sums.
#include "ir/ops/indexing.h"

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

// An error where there are indices into a dimension without elements. Of symbolic extents that is checked when the
// model runs.
absl::Status CheckNotEmpty(OnnxNode& n, size_t axis) {
  const Expr& extent = n.In(0).shape[axis];
  const auto known = AsInt(extent);
  if (known && *known > 0) return absl::OkStatus();
  Expr fits = AsExtent(extent) > Extent(0);
  bool decided = known.has_value();
  for (const Expr& count : n.In(1).shape) {
    if (IsInt(count, 0)) return absl::OkStatus();
    decided &= AsInt(count).has_value();
    if (!AsInt(count)) fits = Or(fits, AsExtent(count) == Extent(0));
  }
  if (decided) return n.Error("indices into a dimension without elements");
  n.emit().builder().Assume(fits);
  return absl::OkStatus();
}

// An error where indices are longer than x beside the axis. Of symbolic extents that is checked when the model runs.
absl::Status CheckInside(OnnxNode& n, size_t axis) {
  for (size_t i = 0; i < n.In(0).rank(); ++i) {
    const Expr &extent = n.In(0).shape[i], &count = n.In(1).shape[i];
    if (i == axis || ops::SameExtent(extent, count)) continue;
    const auto a = AsInt(extent), b = AsInt(count);
    if (a && b && *b > *a) return n.Error("indices of extent ", *b, " for an extent of ", *a);
    if (!a || !b) n.emit().builder().Assume(AsExtent(count) <= AsExtent(extent));
  }
  return absl::OkStatus();
}

absl::Status ImportGather(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 0), n.In(0).rank()));
  TW_RETURN_IF_ERROR(CheckNotEmpty(n, static_cast<size_t>(axis)));
  return n.Out(
      n.Program("gather", n.in(), [&](ProgramParts& p) { return Buffers{ops::Gather(p.f, p.in[0], p.in[1], axis)}; }));
}
absl::Status ImportGatherElements(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  if (n.In(0).rank() != n.In(1).rank()) return n.Error("indices of another rank");
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 0), n.In(0).rank()));
  TW_RETURN_IF_ERROR(CheckInside(n, static_cast<size_t>(axis)));
  TW_RETURN_IF_ERROR(CheckNotEmpty(n, static_cast<size_t>(axis)));
  return n.Out(n.Program("gather_elements", n.in(),
                         [&](ProgramParts& p) { return Buffers{ops::GatherElements(p.f, p.in[0], p.in[1], axis)}; }));
}

// How many dimensions the last extent of indices names.
absl::Status CheckNamed(OnnxNode& n, size_t batch) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  if (n.In(1).rank() == 0) return n.Error("indices have rank 0");
  const auto named = AsInt(n.In(1).shape.back());
  if (!named) return n.Unsupported("the last extent of the indices is symbolic");
  if (*named < 0 || static_cast<size_t>(*named) + batch > n.In(0).rank()) {
    return n.Error("indices name ", *named, " dimensions of ", n.In(0).rank());
  }
  for (size_t i = batch; i < batch + static_cast<size_t>(*named); ++i) TW_RETURN_IF_ERROR(CheckNotEmpty(n, i));
  return absl::OkStatus();
}

absl::Status ImportGatherNd(OnnxNode& n) {
  const int64_t batch = n.Int("batch_dims", 0);
  if (batch < 0) return n.Error("batch_dims is negative");
  TW_RETURN_IF_ERROR(CheckNamed(n, static_cast<size_t>(batch)));
  if (static_cast<size_t>(batch) >= n.In(1).rank()) return n.Error("batch_dims is the rank of the indices");
  for (int64_t i = 0; i < batch; ++i) {
    const auto d = static_cast<size_t>(i);
    if (!n.RequireEqual(n.In(0).shape[d], n.In(1).shape[d])) return n.Error("batches of different extents");
  }
  return n.Out(n.Program("gather_nd", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::GatherNd(p.f, p.in[0], p.in[1], static_cast<int>(batch))};
  }));
}

absl::StatusOr<ops::ScatterMode> ModeOf(OnnxNode& n) {
  const std::string mode = n.String("reduction", "none");
  if (mode == "none") return ops::ScatterMode::kStore;
  if (mode == "add") return ops::ScatterMode::kAdd;
  if (mode == "mul") return ops::ScatterMode::kMultiply;
  if (mode == "max") return ops::ScatterMode::kMax;
  if (mode == "min") return ops::ScatterMode::kMin;
  return n.Error("the reduction is \"", mode, "\"");
}

absl::Status ImportScatterElements(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  if (n.In(0).rank() != n.In(1).rank()) return n.Error("operands of other ranks");
  if (n.In(0).dtype != n.In(2).dtype) return n.Error("updates of another type");
  TW_RETURN_IF_ERROR(n.RequireShape(2, n.In(1).shape));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 0), n.In(0).rank()));
  TW_RETURN_IF_ERROR(CheckInside(n, static_cast<size_t>(axis)));
  TW_RETURN_IF_ERROR(CheckNotEmpty(n, static_cast<size_t>(axis)));
  TW_ASSIGN_OR_RETURN(const ops::ScatterMode mode, ModeOf(n));
  return n.Out(n.Program("scatter_elements", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::ScatterElements(p.f, p.in[0], p.in[1], p.in[2], axis, mode)};
  }));
}
absl::Status ImportScatterNd(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(CheckNamed(n, 0));
  if (n.In(0).dtype != n.In(2).dtype) return n.Error("updates of another type");
  const auto named = static_cast<size_t>(*AsInt(n.In(1).shape.back()));
  Exprs updates(n.In(1).shape.begin(), n.In(1).shape.end() - 1);
  updates.insert(updates.end(), n.In(0).shape.begin() + static_cast<std::ptrdiff_t>(named), n.In(0).shape.end());
  TW_RETURN_IF_ERROR(n.RequireShape(2, updates));
  TW_ASSIGN_OR_RETURN(const ops::ScatterMode mode, ModeOf(n));
  return n.Out(n.Program("scatter_nd", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::ScatterNd(p.f, p.in[0], p.in[1], p.in[2], mode)};
  }));
}

absl::Status ImportOneHot(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  Expr depth;
  if (n.In(1).dtype.is_float()) {
    TW_ASSIGN_OR_RETURN(const auto reals, n.Reals(1));
    if (reals.size() != 1 || !(reals[0] >= 0 && reals[0] < 1e9))
      return n.Error("its depth is not a number of elements");
    depth = Extent(static_cast<int64_t>(reals[0]));
  } else {
    TW_ASSIGN_OR_RETURN(const Exprs values, n.Values(1));
    if (values.size() != 1) return n.Error("its depth is not one number");
    depth = values[0];
  }
  TW_RETURN_IF_ERROR(n.RequireShape(2, {Extent(2)}));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", -1), n.In(0).rank() + 1));
  return n.Out(n.Program("one_hot", {n.In(0), n.In(2)}, [&](ProgramParts& p) {
    return Buffers{ops::OneHot(p.f, p.in[0], p.local(depth), p.in[1], axis)};
  }));
}

absl::Status ImportCumSum(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_ASSIGN_OR_RETURN(const int64_t given, n.Number(1));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(given, n.In(0).rank()));
  if (n.In(0).dtype.is_bool()) return n.Error("its input is bool, not of numbers");
  const bool exclusive = n.Int("exclusive", 0) != 0, reverse = n.Int("reverse", 0) != 0;
  return n.Out(n.Program("cumsum", {n.In(0)}, [&](ProgramParts& p) {
    return Buffers{ops::CumulativeSum(p.f, p.in[0], axis, exclusive, reverse)};
  }));
}

}  // namespace

OnnxOperators IndexingOperators() {
  return {
      {"CumSum", 11, ImportCumSum, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"Gather", 1, ImportGather, {.integers = Inputs({1})}},
      {"GatherElements", 11, ImportGatherElements, {.integers = Inputs({1})}},
      {"GatherND", 11, ImportGatherNd, {.integers = Inputs({1})}},
      {"GatherND", 1, ImportGatherNd, {.integers = Inputs({1})}, kMicrosoft},
      {"OneHot", 9, ImportOneHot},
      {"Scatter", 9, ImportScatterElements, {.integers = Inputs({1})}},
      {"ScatterElements", 11, ImportScatterElements, {.integers = Inputs({1})}},
      {"ScatterND", 11, ImportScatterNd, {.integers = Inputs({1})}},
  };
}

}  // namespace tilewright::graph

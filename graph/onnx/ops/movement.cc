// Operators that move elements.
#include "ir/ops/movement.h"

#include <limits>
#include <numeric>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

absl::Status ImportTranspose(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const size_t rank = n.In(0).rank();
  Int64s given(rank);
  for (size_t i = 0; i < rank; ++i) given[i] = static_cast<int64_t>(rank - 1 - i);
  if (const auto perm = n.Ints("perm")) given = *perm;
  TW_ASSIGN_OR_RETURN(const std::vector<int> sorted, n.Axes(given, rank));
  if (sorted.size() != rank) return n.Error("a permutation of ", sorted.size(), " dimensions for rank ", rank);
  std::vector<int> permutation;
  bool identity = true;
  for (size_t i = 0; i < rank; ++i) {
    TW_ASSIGN_OR_RETURN(const int axis, n.Axis(given[i], rank));
    permutation.push_back(axis);
    identity &= axis == static_cast<int>(i);
  }
  if (identity) return n.Out(n.In(0));
  return n.Out(n.Program("transpose", {n.In(0)},
                         [&](ProgramParts& p) { return Buffers{ops::Transpose(p.f, p.in[0], permutation)}; }));
}

absl::Status ImportConcat(OnnxNode& n) {
  Items parts;
  for (size_t i = 0; i < n.in().size(); ++i) {
    TW_RETURN_IF_ERROR(n.RequireTensors(i, 1));
    parts.push_back(n.In(i));
  }
  if (parts.empty()) return n.Error("it has no inputs");
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 1), parts[0].rank()));
  // Empty parts add nothing.
  Items full;
  for (const Item& part : parts) {
    if (part.rank() != parts[0].rank()) return n.Error("its inputs have different ranks");
    if (part.dtype != parts[0].dtype) return n.Error("its inputs have different types");
    if (!IsInt(part.shape[static_cast<size_t>(axis)], 0)) full.push_back(part);
  }
  if (full.empty()) return n.Out(parts[0]);
  if (full.size() == 1) return n.Out(full[0]);
  for (const Item& part : full) {
    for (size_t d = 0; d < part.rank(); ++d) {
      if (d == static_cast<size_t>(axis) || n.RequireEqual(part.shape[d], full[0].shape[d])) continue;
      return n.Error("extents differ beside the axis");
    }
  }
  return n.Out(n.Program("concat", full, [&](ProgramParts& p) { return Buffers{ops::Concat(p.f, p.in, axis)}; }));
}

// Elements [start, end) by `step` of a dimension, as Python cuts them: `start` and `extent`.
absl::StatusOr<ops::SliceRange> CutDimension(OnnxNode& n, const Expr& extent, const Expr& start, const Expr& end,
                                             int64_t step) {
  if (step == 0) return n.Error("a step of zero");
  Emitter& emit = n.emit();
  const Expr zero = Extent(0), one = Extent(1);
  // Bounds and steps far outside are limited first: adding the extent to them must not overflow.
  constexpr int64_t kFar = int64_t{1} << 60;
  step = std::clamp(step, -kFar, kFar);
  const auto wrap = [&](const Expr& bound) -> Expr {
    if (const auto number = AsInt(bound)) {
      const Expr limited = Extent(std::clamp(*number, -kFar, kFar));
      return *number < 0 ? limited + extent : limited;
    }
    return Select(bound < zero, bound + extent, bound);
  };
  const Expr low = step > 0 ? zero : Extent(-1), high = step > 0 ? extent : extent - one;
  // A start before the dimension is its first element, going backwards too.
  const Expr first = emit.Simplify(step > 0 ? Max(Min(wrap(start), high), zero) : Min(Max(wrap(start), zero), high));
  const Expr last = emit.Simplify(Max(Min(wrap(end), high), low));
  const int64_t size = step > 0 ? step : -step;
  const Expr span = step > 0 ? last - first : first - last;
  const Expr count = emit.Simplify(Max(FloorDiv(span + Extent(size - 1), Extent(size)), zero));
  return ops::SliceRange{.start = first, .extent = count, .step = step};
}

absl::StatusOr<Item> SliceItem(OnnxNode& n, const Item& x, std::vector<ops::SliceRange> ranges) {
  TW_ASSIGN_OR_RETURN(Items result, n.Program("slice", {x}, [&](ProgramParts& p) {
    std::vector<ops::SliceRange> inner;
    for (const ops::SliceRange& range : ranges) {
      inner.push_back({p.local(range.start), p.local(range.extent), range.step});
    }
    return Buffers{ops::Slice(p.f, p.in[0], inner)};
  }));
  return result[0];
}

std::vector<ops::SliceRange> Whole(const Item& x) {
  std::vector<ops::SliceRange> ranges;
  for (const Expr& extent : x.shape) ranges.push_back({.start = Extent(0), .extent = extent});
  return ranges;
}

absl::Status ImportSlice(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  Exprs starts, ends;
  Int64s axes, steps;
  if (n.opset() < 10) {
    starts = Extents(n.WideInts("starts").value_or(Int64s{}));
    ends = Extents(n.WideInts("ends").value_or(Int64s{}));
    axes = n.Ints("axes").value_or(Int64s{});
  } else {
    TW_ASSIGN_OR_RETURN(starts, n.Values(1));
    TW_ASSIGN_OR_RETURN(ends, n.Values(2));
    if (n.Has(3)) {
      TW_ASSIGN_OR_RETURN(axes, n.Numbers(3));
    }
    if (n.Has(4)) {
      TW_ASSIGN_OR_RETURN(steps, n.Numbers(4));
    }
  }
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return n.Error("starts, ends, axes and steps have different lengths");
  }
  std::vector<ops::SliceRange> ranges = Whole(x);
  for (size_t i = 0; i < starts.size(); ++i) {
    TW_ASSIGN_OR_RETURN(const int axis, n.Axis(axes[i], x.rank()));
    const size_t a = static_cast<size_t>(axis);
    TW_ASSIGN_OR_RETURN(ranges[a], CutDimension(n, x.shape[a], starts[i], ends[i], steps[i]));
  }
  bool whole = true;
  for (size_t i = 0; i < ranges.size(); ++i) {
    whole &= ranges[i].step == 1 && ops::SameExtent(ranges[i].extent, x.shape[i]);
  }
  return whole ? n.Out(x) : n.Out(SliceItem(n, x, ranges));
}

absl::Status ImportSplit(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 0), x.rank()));
  const size_t a = static_cast<size_t>(axis);
  Exprs sizes;
  const auto attribute = n.Ints("split");
  const bool given = (n.opset() >= 13 && n.Has(1)) || attribute;
  if (n.opset() >= 13 && n.Has(1)) {
    TW_ASSIGN_OR_RETURN(sizes, n.Values(1));
  } else if (attribute) {
    sizes = Extents(*attribute);
  } else {
    // Equal parts; from opset 18 on the last one may be smaller.
    const auto parts = static_cast<int64_t>(n.num_outputs());
    if (parts == 0) return n.Error("it has no outputs");
    if (n.Int("num_outputs", parts) != parts) return n.Error("num_outputs is not the number of its outputs, ", parts);
    const Expr size = n.emit().Simplify(FloorDiv(x.shape[a] + Extent(parts - 1), Extent(parts)));
    Expr rest = x.shape[a];
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(i + 1 < parts ? n.emit().Simplify(Min(size, rest)) : rest);
      rest = n.emit().Simplify(rest - sizes.back());
    }
  }
  for (const Expr& size : sizes) {
    if (const auto known = AsInt(size); known && *known < 0) return n.Error("a part of ", *known, " elements");
  }
  if (sizes.size() < n.num_outputs()) return n.Error(sizes.size(), " sizes for ", n.num_outputs(), " outputs");
  Items results;
  Expr start = Extent(0);
  for (size_t i = 0; i < n.num_outputs(); ++i) {
    std::vector<ops::SliceRange> ranges = Whole(x);
    ranges[a] = {.start = start, .extent = sizes[i]};
    TW_ASSIGN_OR_RETURN(Item part, SliceItem(n, x, ranges));
    results.push_back(std::move(part));
    start = n.emit().Simplify(start + sizes[i]);
  }
  // Sizes beyond the outputs are of parts that nobody reads.
  for (size_t i = n.num_outputs(); i < sizes.size(); ++i) start = n.emit().Simplify(start + sizes[i]);
  if (given && !n.RequireEqual(start, x.shape[a])) {
    return n.Error("parts of ", *AsInt(start), " elements in all from ", *AsInt(x.shape[a]));
  }
  return n.Out(std::move(results));
}

absl::Status ImportPad(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  Exprs pads;
  if (n.opset() < 11) {
    pads = Extents(n.Ints(n.opset() < 2 ? "paddings" : "pads").value_or(Int64s{}));
  } else {
    TW_ASSIGN_OR_RETURN(pads, n.Values(1));
  }
  Int64s axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (n.opset() >= 18 && n.Has(3)) {
    TW_ASSIGN_OR_RETURN(axes, n.Numbers(3));
  }
  if (pads.size() != 2 * axes.size()) return n.Error(pads.size(), " pads for ", axes.size(), " dimensions");
  Exprs before(x.rank(), Extent(0)), after(x.rank(), Extent(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    TW_ASSIGN_OR_RETURN(const int axis, n.Axis(axes[i], x.rank()));
    before[static_cast<size_t>(axis)] = pads[i];
    after[static_cast<size_t>(axis)] = pads[axes.size() + i];
  }
  const std::string mode = n.String("mode", "constant");
  const std::vector<std::pair<std::string, ops::PadMode>> modes = {{"constant", ops::PadMode::kConstant},
                                                                   {"reflect", ops::PadMode::kReflect},
                                                                   {"edge", ops::PadMode::kEdge},
                                                                   {"wrap", ops::PadMode::kWrap}};
  const ops::PadMode* how = nullptr;
  for (const auto& [name, value] : modes) {
    if (name == mode) how = &value;
  }
  if (how == nullptr) return n.Error("the mode is \"", mode, "\"");
  for (size_t i = 0; i < x.rank(); ++i) {
    const auto extent = AsInt(x.shape[i]);
    if (extent && *extent == 0 && *how != ops::PadMode::kConstant) return n.Error("an empty dimension has no edge");
  }
  Items inputs = {x};
  const bool has_fill = n.opset() >= 11 && n.Has(2) && *how == ops::PadMode::kConstant;
  if (has_fill) inputs.push_back(n.In(2));
  if (has_fill && (!n.In(2).is_tensor() || n.In(2).dtype != x.dtype)) return n.Error("its fill value has another type");
  return n.Out(n.Program("pad", inputs, [&](ProgramParts& p) {
    Expr fill = Const(x.dtype, 0);
    if (has_fill) fill = p.in[1].Load(ops::Indices(p.in[1]->ndim(), Expr(0)));
    if (n.opset() < 11 && x.dtype.is_float()) fill = ConstFloat(x.dtype, n.Float("value", 0));
    return Buffers{ops::PadAround(p.f, p.in[0], p.local(before), p.local(after), *how, fill)};
  }));
}

// com.microsoft: pads and the value are inputs.
absl::Status ImportMicrosoftPad(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Items result,
                      n.Call("Pad", 13, n.in(), {n.proto().attribute().begin(), n.proto().attribute().end()}));
  return n.Out(std::move(result));
}

absl::Status ImportTrilu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  if (n.In(0).rank() < 2) return n.Error("its input is not a matrix");
  const bool upper = n.Int("upper", 1) != 0;
  Items inputs = {n.In(0)};
  if (n.Has(1)) inputs.push_back(n.In(1));
  return n.Out(n.Program("trilu", inputs, [&](ProgramParts& p) {
    Expr k = Const(DataType::Int(64), 0);
    if (p.in.size() > 1) k = p.in[1].Load(ops::Indices(p.in[1]->ndim(), Expr(0)));
    return Buffers{ops::Triangle(p.f, p.in[0], k, upper)};
  }));
}

absl::Status ImportReverseSequence(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_ASSIGN_OR_RETURN(const int time, n.Axis(n.Int("time_axis", 0), n.In(0).rank()));
  TW_ASSIGN_OR_RETURN(const int batch, n.Axis(n.Int("batch_axis", 1), n.In(0).rank()));
  TW_RETURN_IF_ERROR(n.RequireShape(1, {n.In(0).shape[static_cast<size_t>(batch)]}));
  return n.Out(n.Program("reverse_sequence", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::ReverseSequence(p.f, p.in[0], p.in[1], time, batch)};
  }));
}

// An error where an extent is not of whole blocks; of a symbolic one that is checked when the model runs.
absl::Status CheckBlocks(OnnxNode& n, size_t d, int64_t block) {
  const Expr& extent = n.In(0).shape[d];
  if (n.RequireEqual(n.emit().Simplify(FloorMod(AsExtent(extent), Extent(block))), Extent(0))) return absl::OkStatus();
  return n.Error("extent ", d, " is not of whole blocks of ", block);
}

absl::Status ImportDepthToSpace(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const int64_t block = n.Int("blocksize", 0);
  if (n.In(0).rank() != 4 || block <= 0) return n.Error("it needs four dimensions and a positive blocksize");
  TW_RETURN_IF_ERROR(CheckBlocks(n, 1, block * block));
  const bool crd = n.String("mode", "DCR") == "CRD";
  return n.Out(n.Program("depth_to_space", n.in(),
                         [&](ProgramParts& p) { return Buffers{ops::DepthToSpace(p.f, p.in[0], block, crd)}; }));
}
absl::Status ImportSpaceToDepth(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const int64_t block = n.Int("blocksize", 0);
  if (n.In(0).rank() != 4 || block <= 0) return n.Error("it needs four dimensions and a positive blocksize");
  for (const size_t d : {2, 3}) TW_RETURN_IF_ERROR(CheckBlocks(n, d, block));
  return n.Out(n.Program("space_to_depth", n.in(),
                         [&](ProgramParts& p) { return Buffers{ops::SpaceToDepth(p.f, p.in[0], block)}; }));
}

absl::Status ImportCenterCropPad(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  TW_ASSIGN_OR_RETURN(const Int64s wanted, n.Numbers(1));
  Int64s all(x.rank());
  std::iota(all.begin(), all.end(), 0);
  const Int64s axes = n.Ints("axes").value_or(all);
  if (axes.size() != wanted.size()) return n.Error("extents for another number of axes");
  Exprs before(x.rank(), Extent(0)), after = before;
  for (size_t i = 0; i < axes.size(); ++i) {
    TW_ASSIGN_OR_RETURN(const int axis, n.Axis(axes[i], x.rank()));
    const size_t a = static_cast<size_t>(axis);
    const auto extent = AsInt(x.shape[a]);
    if (!extent) return n.Unsupported("a symbolic extent");
    if (wanted[i] < 0) return n.Error("an extent of ", wanted[i]);
    // What is cut off before is rounded down, and so is what is added before.
    const int64_t missing = wanted[i] - *extent;
    const int64_t first = missing >= 0 ? missing / 2 : -((-missing) / 2);
    before[a] = Extent(first);
    after[a] = Extent(missing - first);
  }
  return n.Out(n.Program("center_crop_pad", {x}, [&](ProgramParts& p) {
    return Buffers{
        ops::PadAround(p.f, p.in[0], p.local(before), p.local(after), ops::PadMode::kConstant, Const(x.dtype, 0))};
  }));
}

}  // namespace

OnnxOperators MovementOperators() {
  return {
      {"CenterCropPad", 18, ImportCenterCropPad, {.integers = Inputs({1})}},
      {"Concat", 1, ImportConcat},
      {"Concat", 4, ImportConcat, {.required = "axis"}},
      {"DepthToSpace", 1, ImportDepthToSpace, {.required = "blocksize"}},
      {"Pad", 1, ImportPad, {.integers = Inputs({1, 3})}},
      {"Pad", 1, ImportMicrosoftPad, {.integers = Inputs({1})}, kMicrosoft},
      {"ReverseSequence", 10, ImportReverseSequence, {.integers = Inputs({1})}},
      {"Slice", 1, ImportSlice, {.integers = Inputs({1, 2, 3, 4})}},
      {"SpaceToDepth", 1, ImportSpaceToDepth, {.required = "blocksize"}},
      {"Split", 1, ImportSplit, {.integers = Inputs({1})}},
      {"Transpose", 1, ImportTranspose},
      {"Trilu", 14, ImportTrilu, {.integers = Inputs({1})}},
      {"Trilu", 1, ImportTrilu, {.integers = Inputs({1})}, kMicrosoft},
  };
}

}  // namespace tilewright::graph

// Convolutions and pools.
#include "base/math.h"
#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"
#include "ir/ops/window_nd.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
using ops::Window;

// The windows of a node over the spatial extents `in`; padding by auto_pad where it says so.
absl::StatusOr<std::vector<Window>> WindowsOf(OnnxNode& n, const Exprs& in, const Int64s& kernel) {
  const size_t dims = in.size();
  const Int64s ones(dims, 1);
  const Int64s strides = n.Ints("strides").value_or(ones), dilations = n.Ints("dilations").value_or(ones);
  const Int64s pads = n.Ints("pads").value_or(Int64s(2 * dims, 0));
  if (kernel.size() != dims || strides.size() != dims || dilations.size() != dims || pads.size() != 2 * dims) {
    return n.Error("kernel, strides, dilations or pads of another number of dimensions than ", dims);
  }
  const std::string mode = n.String("auto_pad", "NOTSET");
  std::vector<Window> windows;
  for (size_t i = 0; i < dims; ++i) {
    Window window{.kernel = kernel[i], .stride = strides[i], .dilation = dilations[i]};
    constexpr int64_t kMost = int64_t{1} << 24;
    for (int64_t value : {window.kernel, window.stride, window.dilation}) {
      if (value < 1 || value > kMost) return n.Error("a kernel, stride or dilation of ", value);
    }
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const auto extent = AsInt(in[i]);
      int64_t total = window.reach() - window.stride;
      if (extent) {
        const int64_t positions = CeilDiv(*extent, window.stride);
        total = (positions - 1) * window.stride + window.reach() - *extent;
      } else if (window.stride != 1) {
        return n.Unsupported("auto_pad of a symbolic extent with a stride");
      }
      total = std::max<int64_t>(total, 0);
      window.padding = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.after = total - window.padding;
    } else if (mode == "NOTSET") {
      window.padding = pads[i];
      window.after = pads[dims + i];
      if (window.padding < 0 || window.after < 0) return n.Unsupported("negative pads");
      if (window.padding > kMost || window.after > kMost) return n.Error("pads of more than 2^24");
    } else if (mode != "VALID") {
      return n.Error("auto_pad is \"", mode, "\"");
    }
    windows.push_back(window);
  }
  return windows;
}

Exprs Spatial(const Item& x) { return {x.shape.begin() + 2, x.shape.end()}; }

// The kernel: the attribute, or the extents of the weight, which are constants.
absl::StatusOr<Int64s> KernelOf(OnnxNode& n, const Item& weight) {
  const auto extents = ConstantExtents(Spatial(weight));
  if (!extents) return n.Unsupported("a weight of symbolic extents");
  if (const auto given = n.Ints("kernel_shape"); given && *given != *extents) {
    return n.Error("kernel_shape is not that of the weight");
  }
  return *extents;
}

absl::Status CheckConv(OnnxNode& n, const Item& x, const Item& weight) {
  if (x.rank() < 3 || x.rank() != weight.rank()) return n.Error("operands of ranks ", x.rank(), " and ", weight.rank());
  if (n.Int("group", 1) < 1) return n.Error("group is ", n.Int("group", 1));
  return absl::OkStatus();
}

absl::Status CheckFloatConv(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_RETURN_IF_ERROR(n.RequireSameType(0, 3));
  return CheckConv(n, n.In(0), n.In(1));
}

// An error where `count` is not a multiple of the groups; of a symbolic extent that is checked when the model runs.
absl::Status CheckGroups(OnnxNode& n, const Expr& count, const char* what) {
  const int64_t groups = n.Int("group", 1);
  if (n.RequireEqual(n.emit().Simplify(FloorMod(AsExtent(count), Extent(groups))), Extent(0))) return absl::OkStatus();
  const auto known = AsInt(count);
  return known ? n.Error(*known, " ", what, " in ", groups, " groups") : n.Error(what, " that groups do not divide");
}

// Input channels next to what the weight of a convolution reads of them, in all groups.
absl::Status CheckChannels(OnnxNode& n, const Item& x, const Item& weight) {
  const int64_t groups = n.Int("group", 1);
  if (!n.RequireEqual(x.shape[1], n.emit().Simplify(AsExtent(weight.shape[1]) * Extent(groups)))) {
    return n.Error(*AsInt(x.shape[1]), " input channels, but weights for ", groups, " groups of ",
                   *AsInt(weight.shape[1]));
  }
  return CheckGroups(n, weight.shape[0], "filters");
}

DataType SumType(DataType type) { return type.is_float() && type.bits() < 32 ? DataType::Float(32) : type; }

// The sums with the bias of their channel, in the type of the input.
Buffer WithBias(ProgramParts& p, const Buffer& sums, const Buffer* bias, DataType type) {
  if (bias == nullptr && sums->dtype == type) return sums;
  return p.f.Compute("bias_add", sums->shape, [&](const std::vector<Symbol>& v) {
    const Expr value = sums.Load({v.begin(), v.end()});
    return CastTo(type, bias == nullptr ? value : value + CastTo(sums->dtype, (*bias)(v[1])));
  });
}

bool Fits(const Exprs& in, const std::vector<Window>& windows) {
  for (size_t i = 0; i < in.size(); ++i) {
    const auto extent = AsInt(in[i]);
    if (extent && *extent + windows[i].padding + windows[i].padding_after() < windows[i].reach()) return false;
  }
  return true;
}

// The windows of a convolution, whose channels fit each other and which fit into the image.
absl::StatusOr<std::vector<Window>> WindowsOfConv(OnnxNode& n, const Item& x, const Item& weight) {
  TW_RETURN_IF_ERROR(CheckChannels(n, x, weight));
  TW_ASSIGN_OR_RETURN(const Int64s kernel, KernelOf(n, weight));
  TW_ASSIGN_OR_RETURN(std::vector<Window> windows, WindowsOf(n, Spatial(x), kernel));
  if (!Fits(Spatial(x), windows)) return n.Error("the window does not fit into the image");
  return windows;
}

absl::Status ImportConv(OnnxNode& n) {
  TW_RETURN_IF_ERROR(CheckFloatConv(n));
  const Item &x = n.In(0), &weight = n.In(1);
  TW_ASSIGN_OR_RETURN(const std::vector<Window> windows, WindowsOfConv(n, x, weight));
  TW_RETURN_IF_ERROR(n.RequireShape(2, {weight.shape[0]}));
  const ops::ConvOptions options{.windows = windows, .groups = n.Int("group", 1), .type = SumType(x.dtype)};
  return n.Out(n.Program("conv", n.in(), [&](ProgramParts& p) {
    Buffer sums = ops::ConvNd(p.f, p.in[0], p.in[1], options);
    return Buffers{WithBias(p, sums, p.in.size() > 2 ? &p.in[2] : nullptr, x.dtype)};
  }));
}

Expr First(const Buffer& b) { return b.Load(ops::Indices(b->ndim(), Expr(0))); }
// One number, or one for each channel.
Expr OfChannel(const Buffer& b, const Expr& channel) {
  return b->ndim() == 1 && !IsInt(b->shape[0], 1) ? b(channel) : First(b);
}

absl::Status CheckOfChannel(OnnxNode& n, size_t i, const Expr& channels) {
  if (!n.Has(i) || n.In(i).rank() != 1 || IsInt(n.In(i).shape[0], 1)) return absl::OkStatus();
  return n.RequireShape(i, {channels});
}

absl::Status ImportConvInteger(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  const Item &x = n.In(0), &weight = n.In(1);
  TW_RETURN_IF_ERROR(CheckConv(n, x, weight));
  TW_ASSIGN_OR_RETURN(const std::vector<Window> windows, WindowsOfConv(n, x, weight));
  TW_RETURN_IF_ERROR(CheckOfChannel(n, 3, weight.shape[0]));
  const DataType i32 = DataType::Int(32);
  const ops::ConvOptions options{.windows = windows, .groups = n.Int("group", 1), .type = i32};
  const bool has_x = n.Has(2), has_w = n.Has(3);
  return n.Out(n.Program("conv_integer", n.in(), [&](ProgramParts& p) {
    const auto input = [&](const Expr& e) {
      return has_x ? CastTo(i32, e) - CastTo(i32, First(p.in[2])) : CastTo(i32, e);
    };
    const auto filter = [&](const Expr& e, const Expr& channel) {
      return has_w ? CastTo(i32, e) - CastTo(i32, OfChannel(p.in[has_x ? 3 : 2], channel)) : CastTo(i32, e);
    };
    return Buffers{ops::ConvNd(p.f, p.in[0], p.in[1], options, input, filter)};
  }));
}

absl::Status ImportQLinearConv(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 8));
  const Item &x = n.In(0), &weight = n.In(3);
  TW_RETURN_IF_ERROR(CheckConv(n, x, weight));
  TW_ASSIGN_OR_RETURN(const std::vector<Window> windows, WindowsOfConv(n, x, weight));
  TW_RETURN_IF_ERROR(n.RequireShape(8, {weight.shape[0]}));
  TW_RETURN_IF_ERROR(CheckOfChannel(n, 4, weight.shape[0]));
  TW_RETURN_IF_ERROR(CheckOfChannel(n, 5, weight.shape[0]));
  const DataType i32 = DataType::Int(32), f32 = DataType::Float(32);
  const ops::ConvOptions options{.windows = windows, .groups = n.Int("group", 1), .type = i32};
  return n.Out(n.Program("qlinear_conv", n.in(), [&](ProgramParts& p) {
    Buffer sums = ops::ConvNd(
        p.f, p.in[0], p.in[3], options, [&](const Expr& e) { return CastTo(i32, e) - CastTo(i32, First(p.in[2])); },
        [&](const Expr& e, const Expr& channel) { return CastTo(i32, e) - CastTo(i32, OfChannel(p.in[5], channel)); });
    return Buffers{p.f.Compute("requantize", sums->shape, [&](const std::vector<Symbol>& v) {
      Expr sum = sums.Load({v.begin(), v.end()});
      if (p.in.size() > 8) sum = sum + p.in[8](v[1]);
      const Expr scale = Div(First(p.in[1]) * OfChannel(p.in[4], v[1]), First(p.in[6]));
      const Expr rounded = ops::Unary("nearbyint", CastTo(f32, sum) * scale);
      return ops::RoundAndSaturate(p.in[7]->dtype, rounded + CastTo(f32, First(p.in[7])));
    })};
  }));
}

// Windows of a transposed convolution, and the spatial extents of its output: its input's times strides, and `rest`.
struct TransposedForm {
  std::vector<Window> windows;
  Exprs shape;
  Int64s rest;
};

absl::StatusOr<TransposedForm> TransposedFormOf(OnnxNode& n, const Item& x, const Int64s& kernel) {
  const size_t dims = kernel.size();
  const Int64s ones(dims, 1);
  const Int64s strides = n.Ints("strides").value_or(ones), dilations = n.Ints("dilations").value_or(ones);
  const Int64s extra = n.Ints("output_padding").value_or(Int64s(dims, 0));
  Int64s pads = n.Ints("pads").value_or(Int64s(2 * dims, 0));
  const auto wanted = n.Ints("output_shape");
  if (strides.size() != dims || dilations.size() != dims || extra.size() != dims || pads.size() != 2 * dims ||
      (wanted && wanted->size() < dims)) {
    return n.Error("strides, dilations, pads or output_padding of another number of dimensions than ", dims);
  }
  const std::string mode = n.String("auto_pad", "NOTSET");
  TransposedForm form = {.rest = Int64s(dims, 0)};
  for (size_t i = 0; i < dims; ++i) {
    Window window{.kernel = kernel[i], .stride = strides[i], .dilation = dilations[i]};
    if (window.stride < 1 || window.dilation < 1) return n.Error("a stride or dilation below 1");
    const Expr extent = x.shape[2 + i];
    if (wanted || mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      // The padding follows from the output's extent; what is odd goes to the beginning, by SAME_UPPER to the end.
      const Expr output = wanted ? Extent((*wanted)[wanted->size() - dims + i]) : extent * Extent(window.stride);
      const Expr full = (extent - Extent(1)) * Extent(window.stride) + Extent(extra[i] + window.reach());
      const auto total = AsInt(n.emit().Simplify(full - output));
      if (!total) return n.Unsupported("padding of a symbolic extent");
      const int64_t half = *total / 2;
      window.padding = std::max<int64_t>(mode == "SAME_UPPER" ? half : *total - half, 0);
      form.shape.push_back(n.emit().Simplify(output));
    } else {
      if (mode == "VALID") pads.assign(2 * dims, 0);
      window.padding = pads[i];
      form.rest[i] = extra[i] + window.reach() - window.stride - pads[i] - pads[dims + i];
      form.shape.push_back(n.emit().Simplify(extent * Extent(window.stride) + Extent(form.rest[i])));
    }
    if (const auto output = AsInt(form.shape.back()); output && *output < 0) return n.Error("an extent of ", *output);
    form.windows.push_back(window);
  }
  return form;
}

absl::Status ImportConvTranspose(OnnxNode& n) {
  TW_RETURN_IF_ERROR(CheckFloatConv(n));
  const Item &x = n.In(0), &weight = n.In(1);
  const int64_t groups = n.Int("group", 1);
  if (!n.RequireEqual(x.shape[1], weight.shape[0])) {
    return n.Error(*AsInt(x.shape[1]), " input channels, but weights for ", *AsInt(weight.shape[0]));
  }
  TW_RETURN_IF_ERROR(CheckGroups(n, x.shape[1], "channels"));
  TW_ASSIGN_OR_RETURN(const Int64s kernel, KernelOf(n, weight));
  TW_RETURN_IF_ERROR(n.RequireShape(2, {n.emit().Simplify(weight.shape[1] * Extent(groups))}));
  TW_ASSIGN_OR_RETURN(const TransposedForm form, TransposedFormOf(n, x, kernel));
  const ops::ConvOptions options{
      .windows = form.windows, .groups = groups, .type = SumType(x.dtype), .block = "conv_transpose"};
  return n.Out(n.Program("conv_transpose", n.in(), [&](ProgramParts& p) {
    std::vector<Expr> inner;
    for (size_t i = 0; i < kernel.size(); ++i) {
      // The extent of a symbolic input is computed in the program, so that bounds can be proven.
      const Expr extent = p.in[0]->shape[2 + i];
      inner.push_back(AsInt(form.shape[i]) ? p.local(form.shape[i])
                                           : extent * Const(extent.dtype(), form.windows[i].stride) +
                                                 Const(extent.dtype(), form.rest[i]));
    }
    Buffer sums = ops::ConvTransposeNd(p.f, p.in[0], p.in[1], options, inner);
    return Buffers{WithBias(p, sums, p.in.size() > 2 ? &p.in[2] : nullptr, x.dtype)};
  }));
}

// What the pools share: windows and the extents of the output.
struct PoolForm {
  std::vector<Window> windows;
  bool ceil = false;
};
absl::StatusOr<PoolForm> PoolOf(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  if (x.rank() < 3) return n.Error("its input has rank ", x.rank());
  if (x.dtype.is_bool()) return n.Error("its input is bool, not of numbers");
  const auto kernel = n.Ints("kernel_shape");
  if (!kernel) return n.Error("it has no kernel_shape");
  PoolForm form;
  TW_ASSIGN_OR_RETURN(form.windows, WindowsOf(n, Spatial(x), *kernel));
  form.ceil = n.Int("ceil_mode", 0) != 0;
  if (!Fits(Spatial(x), form.windows) && !form.ceil) return n.Error("the window does not fit into the image");
  return form;
}
std::vector<Expr> PoolShape(const Buffer& x, const PoolForm& form) {
  std::vector<Expr> shape;
  for (size_t i = 0; i < form.windows.size(); ++i) {
    shape.push_back(ops::Positions(x->shape[2 + i], form.windows[i], form.ceil));
  }
  return shape;
}

// The first dimension along which windows reach, where taking the largest along it first, then along the others, takes
// less than half of the comparisons: `stride` windows along it for each result. Windows along the last dimension, whose
// vectors are gathered, are left for the fewest elements.
std::optional<size_t> FirstDimension(const std::vector<Window>& windows) {
  size_t along = 0;
  while (along + 1 < windows.size() && windows[along].kernel == 1) ++along;
  int64_t others = 1, stride = 1;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (i == along) continue;
    others *= windows[i].kernel;
    stride *= windows[i].stride;
  }
  if (2 * (stride * windows[along].kernel + others) >= others * windows[along].kernel) return std::nullopt;
  return along;
}

// The largest elements of windows. Maxima of maxima are the same ones, NaN and padding included.
Buffer LargestOf(ProgramParts& p, Buffer x, std::vector<Window> windows, const std::vector<Expr>& shape) {
  while (const std::optional<size_t> along = FirstDimension(windows)) {
    std::vector<Window> one(windows.size());
    std::vector<Expr> kept(x->shape.begin() + 2, x->shape.end());
    one[*along] = windows[*along];
    kept[*along] = shape[*along];
    x = ops::MaxPoolNd(p.f, x, one, kept);
    windows[*along] = Window();
  }
  return ops::MaxPoolNd(p.f, x, windows, shape);
}

absl::Status ImportMaxPool(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const PoolForm form, PoolOf(n));
  const bool column_major = n.Int("storage_order", 0) != 0;
  return n.Out(n.Program("max_pool", n.in(), [&](ProgramParts& p) {
    Buffer largest = LargestOf(p, p.in[0], form.windows, PoolShape(p.in[0], form));
    if (!n.Wants(1)) return Buffers{largest};
    return Buffers{largest, ops::MaxPoolPosition(p.f, p.in[0], largest, form.windows, column_major)};
  }));
}
absl::Status ImportAveragePool(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_ASSIGN_OR_RETURN(const PoolForm form, PoolOf(n));
  const bool count_padding = n.Int("count_include_pad", 0) != 0;
  return n.Out(n.Program("average_pool", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::AveragePoolNd(p.f, p.in[0], form.windows, PoolShape(p.in[0], form), count_padding)};
  }));
}
absl::Status ImportLpPool(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_ASSIGN_OR_RETURN(const PoolForm form, PoolOf(n));
  const int64_t p_norm = n.Int("p", 2);
  return n.Out(n.Program("lp_pool", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::LpPoolNd(p.f, p.in[0], form.windows, PoolShape(p.in[0], form), p_norm)};
  }));
}

absl::StatusOr<std::vector<int>> SpatialAxes(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  if (n.In(0).rank() < 3) return n.Error("its input has rank ", n.In(0).rank());
  std::vector<int> axes;
  for (size_t i = 2; i < n.In(0).rank(); ++i) axes.push_back(static_cast<int>(i));
  return axes;
}
absl::Status ImportGlobalAveragePool(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, SpatialAxes(n));
  return n.Out(n.Program("global_average_pool", n.in(),
                         [&](ProgramParts& p) { return Buffers{ops::Mean(p.f, "mean", p.in[0], axes, true)}; }));
}
absl::Status ImportGlobalMaxPool(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, SpatialAxes(n));
  return n.Out(n.Program("global_max_pool", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::Reduce(p.f, "largest", ops::Reduction::kMax, p.in[0], axes, true)};
  }));
}
absl::Status ImportGlobalLpPool(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, SpatialAxes(n));
  const double power = static_cast<double>(n.Int("p", 2));
  return n.Out(n.Program("global_lp_pool", n.in(), [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    const DataType type = x->dtype, wide = SumType(type);
    Buffer sum =
        ops::ReduceElements(p.f, "sum", ops::Reduction::kSum, x->shape, axes, true, [&](const ops::Indices& at) {
          return ops::Power(ops::Unary("abs", CastTo(wide, x.Load(at))), ConstFloat(wide, power));
        });
    return Buffers{ops::Map(p.f, "root", {sum}, [&](const Exprs& e) {
      return CastTo(type, ops::Power(e[0], ConstFloat(wide, 1 / power)));
    })};
  }));
}

absl::Status ImportCol2Im(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  const Item& x = n.In(0);
  if (x.rank() != 3) return n.Error("its input has rank ", x.rank());
  TW_ASSIGN_OR_RETURN(const Exprs image, n.Values(1));
  TW_ASSIGN_OR_RETURN(const Int64s kernel, n.Numbers(2));
  TW_ASSIGN_OR_RETURN(const std::vector<Window> windows, WindowsOf(n, image, kernel));
  if (!Fits(image, windows)) return n.Error("the window does not fit into the image");
  Expr elements = Extent(1), positions = Extent(1);
  for (size_t i = 0; i < windows.size(); ++i) {
    elements = elements * Extent(kernel[i]);
    positions = positions * ops::Positions(image[i], windows[i]);
  }
  const auto channels = AsInt(x.shape[1]), of_window = AsInt(n.emit().Simplify(elements));
  if (channels && of_window && *channels % *of_window != 0) {
    return n.Error(*channels, " rows for windows of ", *of_window, " elements");
  }
  TW_RETURN_IF_ERROR(n.RequireShape(0, {x.shape[0], x.shape[1], n.emit().Simplify(positions)}));
  return n.Out(n.Program("col2im", {x}, [&](ProgramParts& p) {
    Buffer sums = ops::FoldWindows(p.f, p.in[0], windows, p.local(image), SumType(x.dtype));
    return Buffers{WithBias(p, sums, nullptr, x.dtype)};
  }));
}

// Puts each element where MaxPool found it; the rest is zero.
absl::Status ImportMaxUnpool(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  const Item& x = n.In(0);
  TW_RETURN_IF_ERROR(n.RequireShape(1, x.shape));
  const auto kernel = n.Ints("kernel_shape");
  if (!kernel) return n.Error("it has no kernel_shape");
  if (x.rank() != kernel->size() + 2) return n.Error("its input has rank ", x.rank());
  const size_t dims = kernel->size();
  const Int64s strides = n.Ints("strides").value_or(Int64s(dims, 1)),
               pads = n.Ints("pads").value_or(Int64s(2 * dims, 0));
  if (strides.size() != dims || pads.size() != 2 * dims) return n.Error("strides or pads of other dimensions");
  Exprs inferred = {x.shape[0], x.shape[1]};
  for (size_t i = 0; i < dims; ++i) {
    const int64_t rest = (*kernel)[i] - strides[i] - pads[i] - pads[dims + i];
    inferred.push_back(n.emit().Simplify(x.shape[2 + i] * Extent(strides[i]) + Extent(rest)));
  }
  Exprs shape = inferred;
  if (n.Has(2)) {
    TW_ASSIGN_OR_RETURN(shape, n.Values(2));
    if (shape.size() != x.rank()) return n.Error("output_shape of another rank");
  }
  return n.Out(n.Program("max_unpool", {n.In(0), n.In(1)}, [&](ProgramParts& p) {
    // Positions count in the inferred shape; a larger output leaves zeros at the ends.
    const std::vector<Expr> from = p.local(inferred), to = p.local(shape);
    Buffer zeros = p.f.Compute("unpooled", to, [&](const std::vector<Symbol>&) { return Const(x.dtype, 0); });
    const DataType i64 = DataType::Int(64);
    p.f.Grid(p.in[0]->shape, [&](const std::vector<Symbol>& loops) {
      p.f.Block("unpool", [&](tilewright::BlockBuilder& block) {
        ops::Indices at, target;
        for (size_t i = 0; i < loops.size(); ++i) at.push_back(block.Opaque(p.in[0]->shape[i], loops[i]));
        Expr rest = p.in[1].Load(at);
        for (size_t i = loops.size(); i-- > 0;) {
          const Expr extent = CastTo(i64, from[i]);
          target.insert(target.begin(), i == 0 ? rest : FloorMod(rest, extent));
          rest = FloorDiv(rest, extent);
        }
        for (size_t i = 0; i < target.size(); ++i) {
          const Expr last = CastTo(i64, to[i]) - Const(i64, 1);
          target[i] = CastTo(to[i].dtype(), Max(Min(target[i], last), Const(i64, 0)));
        }
        p.f.Store(zeros, p.in[0].Load(at), target);
        block.Writes({tilewright::BufferRegion::Full(zeros)});
      });
    });
    return Buffers{zeros};
  }));
}

}  // namespace

OnnxOperators WindowOperators() {
  return {
      {"AveragePool", 1, ImportAveragePool, {.elements = Elements::kFloats}},
      {"Col2Im", 18, ImportCol2Im, {.elements = Elements::kNumbers, .integers = Inputs({1, 2})}},
      {"Conv", 1, ImportConv, {.elements = Elements::kFloats}},
      {"ConvInteger", 10, ImportConvInteger, {.elements = Elements::kIntegers}},
      {"ConvTranspose", 1, ImportConvTranspose, {.elements = Elements::kFloats}},
      {"GlobalAveragePool", 1, ImportGlobalAveragePool, {.elements = Elements::kFloats}},
      {"GlobalLpPool", 2, ImportGlobalLpPool, {.elements = Elements::kFloats}},
      {"GlobalMaxPool", 1, ImportGlobalMaxPool, {.elements = Elements::kFloats}},
      {"LpPool", 2, ImportLpPool, {.elements = Elements::kFloats}},
      {"MaxPool", 1, ImportMaxPool, {.elements = Elements::kNumbers}},
      {"MaxUnpool", 9, ImportMaxUnpool, {.integers = Inputs({1, 2}), .required = "kernel_shape"}},
      {"QLinearConv", 10, ImportQLinearConv},
  };
}

}  // namespace tilewright::graph

// Signals: windows, Fourier transforms, mel filters.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "graph/onnx/fourier.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/arith/analyzer.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF64 = DataType::Float(64);

Expr Real(double value) { return ConstFloat(kF64, value); }

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
absl::Status ImportWindow(OnnxNode& n, double a0, double a1, double a2) {
  TW_ASSIGN_OR_RETURN(const Exprs size, n.Values(0));
  if (size.size() != 1) return n.Error("its size is not one number");
  TW_ASSIGN_OR_RETURN(const DataType type, ElementType(static_cast<int32_t>(n.Int("output_datatype", 1))));
  const bool periodic = n.Int("periodic", 1) != 0;
  return n.Out(n.Program("window", {}, [&](ProgramParts& p) {
    const Expr extent = p.local(size[0]);
    const Expr steps = CastTo(kF64, periodic ? extent : extent - Const(extent.dtype(), 1));
    return Buffers{p.f.Compute("window", {extent}, [&](Symbol i) {
      const Expr angle = Div(CastTo(kF64, i) * Real(2 * M_PI), steps);
      const Expr value = Real(a0) - Real(a1) * ops::Unary("cos", angle) + Real(a2) * ops::Unary("cos", Real(2) * angle);
      return ops::Convert(type, value);
    })};
  }));
}
absl::Status ImportHann(OnnxNode& n) { return ImportWindow(n, 0.5, 0.5, 0); }
absl::Status ImportHamming(OnnxNode& n) { return ImportWindow(n, 25.0 / 46, 21.0 / 46, 0); }
absl::Status ImportBlackman(OnnxNode& n) { return ImportWindow(n, 0.42, 0.5, 0.08); }

// The axis of a transform: an input since opset 20.
absl::StatusOr<int> AxisOfDft(OnnxNode& n) {
  int64_t given = n.Int("axis", 1);
  if (n.opset() >= 20) {
    given = -2;
    if (n.Has(2)) {
      TW_ASSIGN_OR_RETURN(given, n.Number(2));
    }
  }
  return n.Axis(given, n.In(0).rank());
}

absl::Status ImportDft(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  if (x.rank() < 2) return n.Error("its input has rank ", x.rank());
  TW_ASSIGN_OR_RETURN(const int axis, AxisOfDft(n));
  const size_t a = static_cast<size_t>(axis), last = x.rank() - 1;
  if (a == last) return n.Error("the axis is that of real and imaginary parts");
  const bool inverse = n.Int("inverse", 0) != 0, onesided = n.Int("onesided", 0) != 0;
  // Half of a spectrum gives a real signal, of even length where nothing says it.
  const bool to_real = inverse && onesided;
  Expr length = to_real ? n.emit().Simplify((x.shape[a] - Extent(1)) * Extent(2)) : x.shape[a];
  if (n.Has(1)) {
    TW_ASSIGN_OR_RETURN(const Exprs values, n.Values(1));
    if (values.size() != 1) return n.Error("its length is not one number");
    length = values[0];
  }
  const bool complex = IsInt(x.shape[last], 2);
  if (!complex && !IsInt(x.shape[last], 1)) return n.Error("its last extent is neither 1 nor 2");
  const DataType type = x.dtype;
  const Expr half = n.emit().Simplify(FloorDiv(length, Const(length.dtype(), 2)) + Const(length.dtype(), 1));
  // A shorter signal is padded with zeros, a longer one is cut off.
  const Expr used = n.emit().Simplify(Min(CastTo(length.dtype(), x.shape[a]), to_real ? half : length));
  FourierForm form{.length = length,
                   .used = used,
                   .bins = onesided && !inverse ? half : length,
                   .parts = complex ? 2 : 1,
                   .results = to_real ? 1 : 2,
                   .inverse = inverse,
                   .doubled = to_real};
  const FourierTables tables = TablesOf(n.emit(), form);
  Items inputs = {x};
  inputs.insert(inputs.end(), tables.items.begin(), tables.items.end());
  return n.Out(n.Program("dft", inputs, [&](ProgramParts& p) {
    const Buffer& in = p.in[0];
    form.length = p.local(form.length);
    form.used = p.local(form.used);
    form.bins = p.local(form.bins);
    std::vector<Expr> outer = in->shape, shape = in->shape;
    outer.erase(outer.end() - 1);
    outer.erase(outer.begin() + axis);
    shape[a] = form.bins;
    shape[last] = form.results;
    // The axis last but for parts.
    const Buffer sums = FourierSums(p, form, tables, outer, [&](const auto& v, const Expr& i, const Expr& from) {
      ops::Indices at(v.begin(), v.end());
      at.insert(at.begin() + axis, i);
      at.push_back(from);
      return CastTo(kF64, in.Load(at));
    });
    return Buffers{p.f.Compute("dft", shape, [&](const std::vector<Symbol>& v) {
      ops::Indices at(v.begin(), v.end());
      at.erase(at.begin() + axis);
      at.insert(at.end() - 1, v[a]);
      return CastTo(type, sums.Load(at));
    })};
  }));
}

absl::Status ImportStft(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  const Item& x = n.In(0);
  if (x.rank() != 3) return n.Error("its signal has rank ", x.rank());
  TW_ASSIGN_OR_RETURN(const int64_t step, n.Number(1));
  Expr length = n.Has(2) && n.In(2).rank() == 1 ? n.In(2).shape[0] : Expr();
  if (n.Has(3)) {
    TW_ASSIGN_OR_RETURN(const Exprs values, n.Values(3));
    if (values.size() != 1) return n.Error("its frame length is not one number");
    length = values[0];
  }
  if (n.Has(2) && n.In(2).rank() != 1) return n.Error("its window has rank ", n.In(2).rank());
  if (n.Has(2)) TW_RETURN_IF_ERROR(n.RequireShape(2, {length}));
  if (!length || step < 1) return n.Error("it has no frame length, or a step below 1");
  const bool onesided = n.Int("onesided", 1) != 0, complex = IsInt(x.shape[2], 2), windowed = n.Has(2);
  const DataType type = x.dtype;
  const Expr half = n.emit().Simplify(FloorDiv(length, Const(length.dtype(), 2)) + Const(length.dtype(), 1));
  FourierForm form{.length = length, .used = length, .bins = onesided ? half : length, .parts = complex ? 2 : 1};
  std::optional<std::vector<double>> window;
  if (windowed && n.In(2).constant() != nullptr) {
    TW_ASSIGN_OR_RETURN(window, n.Reals(2));
  }
  const FourierTables tables = TablesOf(n.emit(), form, window);
  const bool by_window = windowed && !(window && HasWindow(tables));
  Items inputs = {x};
  if (by_window) inputs.push_back(n.In(2));
  inputs.insert(inputs.end(), tables.items.begin(), tables.items.end());
  return n.Out(n.Program("stft", inputs, [&](ProgramParts& p) {
    const Buffer& in = p.in[0];
    form.length = form.used = p.local(length);
    form.bins = p.local(form.bins);
    const Expr one = Const(form.length.dtype(), 1), by = Const(form.length.dtype(), step);
    const Expr frames = tilewright::arith::Simplify(FloorDiv(in->shape[1] - form.length, by) + one);
    const Buffer sums =
        FourierSums(p, form, tables, {in->shape[0], frames}, [&](const auto& v, const Expr& i, const Expr& from) {
          const Expr element = CastTo(kF64, in(v[0], v[1] * by + i, from));
          return by_window ? element * CastTo(kF64, p.in[1](i)) : element;
        });
    return Buffers{ops::Map(p.f, "stft", {sums}, [&](const Exprs& e) { return CastTo(type, e[0]); })};
  }));
}

// Triangular filters on the mel scale; all operands are numbers. Larger numbers are mistakes.
constexpr int64_t kMostWeights = 1 << 26;
constexpr double kMostEdge = 0x1p40;
absl::Status ImportMelWeightMatrix(OnnxNode& n) {
  std::vector<double> given;
  for (size_t i = 0; i < 5; ++i) {
    TW_ASSIGN_OR_RETURN(const std::vector<double> one, n.Reals(i));
    if (one.size() != 1) return n.Error("input ", i, " is not one number");
    given.push_back(one[0]);
  }
  TW_ASSIGN_OR_RETURN(const DataType type, ElementType(static_cast<int32_t>(n.Int("output_datatype", 1))));
  if (!(given[0] >= 1 && given[0] <= 1 << 16 && given[1] >= 1 && given[1] <= 1 << 20)) {
    return n.Error("a matrix of ", given[0], " filters of ", given[1], " elements");
  }
  const auto bins = static_cast<int64_t>(given[0]), length = static_cast<int64_t>(given[1]);
  const int64_t spectrum = length / 2 + 1;
  if (spectrum * bins > kMostWeights) return n.Error("a matrix of ", spectrum, " x ", bins, " weights");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<int64_t> edges;
  const double low = mel(given[3]), step = (mel(given[4]) - low) / static_cast<double>(bins + 2);
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double edge = std::floor(static_cast<double>(length + 1) * hertz / given[2]);
    if (!(std::abs(edge) < kMostEdge)) return n.Error("a filter that begins at element ", edge, " of the spectrum");
    edges.push_back(static_cast<int64_t>(edge));
  }
  NDArray matrix(type, {spectrum, bins});
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t first = edges[static_cast<size_t>(b)], center = edges[static_cast<size_t>(b + 1)];
    const int64_t end = edges[static_cast<size_t>(b + 2)];
    const auto set = [&](int64_t at, double value) { matrix.Set(at * bins + b, value); };
    if (center == first) {
      if (center >= 0 && center < spectrum) set(center, 1);
    } else {
      for (int64_t i = std::max<int64_t>(first, 0); i <= std::min(center, spectrum - 1); ++i) {
        set(i, static_cast<double>(i - first) / static_cast<double>(center - first));
      }
    }
    for (int64_t i = std::max<int64_t>(center, 0); i < std::min(end, spectrum); ++i) {
      set(i, static_cast<double>(end - i) / static_cast<double>(end - center));
    }
  }
  return n.Out(n.emit().FromArray(matrix));
}

}  // namespace

OnnxOperators SignalOperators() {
  return {
      {"BlackmanWindow", 17, ImportBlackman},         {"DFT", 17, ImportDft, {.integers = Inputs({1, 2})}},
      {"HammingWindow", 17, ImportHamming},           {"HannWindow", 17, ImportHann},
      {"MelWeightMatrix", 17, ImportMelWeightMatrix}, {"STFT", 17, ImportStft, {.integers = Inputs({1, 3})}},
  };
}

}  // namespace tilewright::graph

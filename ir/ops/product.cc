#include "ir/ops/product.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace tilewright::ops {
namespace {

// Extents of an operand as a matrix with batch dimensions.
struct MatrixShape {
  std::vector<Expr> batch;
  Expr rows, columns;
  bool vector = false;
};

MatrixShape AsMatrix(const std::vector<Expr>& shape, bool left) {
  const Expr one = 1;
  if (shape.size() == 1) {
    return left ? MatrixShape{{}, one, shape[0], true} : MatrixShape{{}, shape[0], one, true};
  }
  const size_t n = shape.size();
  return {{shape.begin(), shape.end() - 2}, shape[n - 2], shape[n - 1], false};
}

Expr Converted(const Operand& convert, DataType type, const Buffer& buffer, const Indices& at) {
  const Expr element = buffer.Load(at);
  return convert ? convert(element, at) : CastTo(type, element);
}

}  // namespace

std::optional<std::vector<Expr>> ProductShape(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const MatrixShape left = AsMatrix(a, true), right = AsMatrix(b, false);
  const auto depth_a = AsInt(left.columns), depth_b = AsInt(right.rows);
  if (depth_a && depth_b && *depth_a != *depth_b) return std::nullopt;
  auto shape = BroadcastShape({left.batch, right.batch});
  if (!shape) return std::nullopt;
  if (!left.vector) shape->push_back(left.rows);
  if (!right.vector) shape->push_back(right.columns);
  return shape;
}

Buffer Product(FunctionBuilder& f, const Buffer& a, const Buffer& b, DataType type, const Operand& left,
               const Operand& right) {
  return Product(f, a, b, type, ProductForm{}, left, right);
}

Buffer Product(FunctionBuilder& f, const Buffer& a, const Buffer& b, DataType type, const ProductForm& form,
               const Operand& left, const Operand& right) {
  std::vector<Expr> b_shape = b->shape;
  if (form.transposed) std::swap(b_shape.end()[-2], b_shape.end()[-1]);
  const MatrixShape x = AsMatrix(a->shape, true), y = AsMatrix(b_shape, false);
  const auto shape = ProductShape(a->shape, b_shape);
  TW_CHECK(shape.has_value());
  ReduceAxis k("k", AsInt(y.rows) ? y.rows : x.columns);
  const auto element = [&](const std::vector<Var>& v) {
    const size_t batch = v.size() - !x.vector - !y.vector;
    const std::vector<Expr> batch_shape(shape->begin(), shape->begin() + static_cast<std::ptrdiff_t>(batch));
    const Indices at(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(batch));
    Indices a_at = BroadcastAt(x.batch, batch_shape, at), b_at = BroadcastAt(y.batch, batch_shape, at);
    if (!x.vector) a_at.push_back(v[batch]);
    a_at.push_back(k);
    b_at.push_back(k);
    if (!y.vector) b_at.push_back(v.back());
    if (form.transposed) std::swap(b_at.end()[-2], b_at.end()[-1]);
    return Sum(Converted(left, type, a, a_at) * Converted(right, type, b, b_at), k);
  };
  return f.Compute(form.block, *shape, element, form.loops);
}

namespace {

// Labels of one operand: letters are 0 to 51, ellipsis dimensions follow.
constexpr int kEllipsis = 52;

std::optional<std::vector<int>> LabelsOf(std::string_view text, std::optional<int> rank, int ellipsis_rank) {
  std::vector<int> labels;
  bool has_ellipsis = false;
  const size_t letters = static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return c != '.'; }));
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= 'a' && c <= 'z') {
      labels.push_back(c - 'a');
    } else if (c >= 'A' && c <= 'Z') {
      labels.push_back(c - 'A' + 26);
    } else if (text.substr(i, 3) == "..." && !has_ellipsis) {
      has_ellipsis = true;
      i += 2;
      const int dims = rank ? *rank - static_cast<int>(letters) : ellipsis_rank;
      if (dims < 0) return std::nullopt;
      for (int d = dims; d-- > 0;) labels.push_back(kEllipsis + d);
    } else {
      return std::nullopt;
    }
  }
  if (rank && labels.size() != static_cast<size_t>(*rank)) return std::nullopt;
  return labels;
}

}  // namespace

std::optional<EinsumLabels> ParseEinsum(const std::string& equation, const std::vector<int>& ranks) {
  std::string text = equation;
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string inputs = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char c : inputs) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (terms.size() != ranks.size()) return std::nullopt;
  EinsumLabels result;
  int ellipsis_rank = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    auto labels = LabelsOf(terms[i], ranks[i], 0);
    if (!labels) return std::nullopt;
    for (int label : *labels) ellipsis_rank = std::max(ellipsis_rank, label - kEllipsis + 1);
    result.operands.push_back(*std::move(labels));
  }
  std::array<int, kEllipsis + 64> uses = {};
  for (const auto& labels : result.operands) {
    for (int label : labels) {
      if (label >= static_cast<int>(uses.size())) return std::nullopt;
      ++uses[static_cast<size_t>(label)];
    }
  }
  if (arrow != std::string::npos) {
    auto labels = LabelsOf(text.substr(arrow + 2), std::nullopt, ellipsis_rank);
    if (!labels) return std::nullopt;
    for (size_t i = 0; i < labels->size(); ++i) {
      const int label = (*labels)[i];
      if (uses[static_cast<size_t>(label)] == 0) return std::nullopt;
      if (std::count(labels->begin(), labels->end(), label) != 1) return std::nullopt;
    }
    result.output = *std::move(labels);
    return result;
  }
  // Without an output: the ellipsis, then the labels that occur once, capital letters first.
  for (int d = ellipsis_rank; d-- > 0;) result.output.push_back(kEllipsis + d);
  for (int label = 26; label < 52; ++label) {
    if (uses[static_cast<size_t>(label)] == 1) result.output.push_back(label);
  }
  for (int label = 0; label < 26; ++label) {
    if (uses[static_cast<size_t>(label)] == 1) result.output.push_back(label);
  }
  return result;
}

std::optional<std::vector<Expr>> EinsumExtents(const EinsumLabels& labels,
                                               const std::vector<std::vector<Expr>>& shapes) {
  std::vector<Expr> extents;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      const size_t label = static_cast<size_t>(labels.operands[i][d]);
      if (extents.size() <= label) extents.resize(label + 1);
      Expr& extent = extents[label];
      extent = extent ? BroadcastExtent(extent, shapes[i][d]) : shapes[i][d];
      if (!extent) return std::nullopt;
    }
  }
  return extents;
}

Buffer Einsum(FunctionBuilder& f, const EinsumLabels& labels, const std::vector<Expr>& extents,
              const std::vector<Buffer>& operands) {
  std::vector<Expr> shape;
  for (int label : labels.output) shape.push_back(extents[static_cast<size_t>(label)]);
  // Products of narrow floats are summed in f32.
  const DataType type = operands[0]->dtype;
  const DataType wide = type.is_float() && type.bits() < 32 ? DataType::Float(32) : type;
  Buffer sums = f.Compute("einsum", shape, [&](const std::vector<Var>& v) -> ComputeBody {
    std::vector<Expr> at(extents.size());
    for (size_t i = 0; i < v.size(); ++i) at[static_cast<size_t>(labels.output[i])] = v[i];
    std::vector<ReduceAxis> axes;
    for (size_t label = 0; label < extents.size(); ++label) {
      if (!extents[label] || at[label]) continue;
      axes.emplace_back("k" + std::to_string(label), extents[label]);
      at[label] = axes.back();
    }
    Expr value;
    for (size_t i = 0; i < operands.size(); ++i) {
      std::vector<Expr> own_extents, own_at;
      for (int label : labels.operands[i]) {
        own_extents.push_back(extents[static_cast<size_t>(label)]);
        own_at.push_back(at[static_cast<size_t>(label)]);
      }
      const Expr element = CastTo(wide, LoadBroadcast(operands[i], own_extents, own_at));
      value = value ? value * element : element;
    }
    return axes.empty() ? ComputeBody(value) : Sum(value, axes);
  });
  if (wide == type) return sums;
  return Map(f, "narrow", {sums}, [&](const std::vector<Expr>& e) { return CastTo(type, e[0]); });
}

}  // namespace tilewright::ops

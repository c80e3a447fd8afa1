#include "codegen/lower/gpu/shared_places.h"

#include <optional>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "ir/arith/exact.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/named_layouts.h"

namespace tilewright {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;  // more than any block has

using Values = std::unordered_map<const VarNode*, int64_t>;

// The value of an expression of integers; nothing for what layouts are not made of.
std::optional<int64_t> Evaluate(const Expr& e, const Values& values) {
  if (const std::optional<int64_t> constant = AsInt(e)) return constant;
  if (const auto* var = dyn_cast<VarNode>(e)) {
    const auto known = values.find(var);
    return known == values.end() ? std::nullopt : std::optional(known->second);
  }
  if (const auto* cast = dyn_cast<CastNode>(e)) return Evaluate(cast->value, values);
  const auto* call = dyn_cast<CallNode>(e);
  if (call != nullptr && call->op == "bitwise_xor") {
    const auto a = Evaluate(call->args[0], values), b = Evaluate(call->args[1], values);
    return a && b ? std::optional(*a ^ *b) : std::nullopt;
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return std::nullopt;
  const auto a = Evaluate(op->a, values), b = Evaluate(op->b, values);
  return a && b ? arith::EvaluateExactly(op->op, *a, *b) : std::nullopt;
}

// The element that lies at `indices`, in elements from the beginning of the buffer.
std::optional<int64_t> PlaceOf(const Buffer& buffer, const std::vector<int64_t>& indices) {
  if (!buffer->layout) {
    int64_t place = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      const auto extent = AsInt(buffer->shape[d]);
      const auto stride = buffer->strides.empty() ? std::nullopt : AsInt(buffer->strides[d]);
      if (!buffer->strides.empty() && !stride) return std::nullopt;
      place = buffer->strides.empty() ? place * *extent + indices[d] : place + *stride * indices[d];
    }
    return place;
  }
  const Layout& layout = buffer->layout;
  Values values;
  for (size_t d = 0; d < indices.size(); ++d) values[layout.map->inputs[d].get()] = indices[d];
  int64_t place = 0;
  for (size_t d = 0; d < layout.shape.size(); ++d) {
    const auto extent = AsInt(layout.shape[d]), at = Evaluate(layout.map->outputs[d], values);
    if (!extent || !at) return std::nullopt;
    place = place * *extent + *at;
  }
  return place;
}

// Whether a descriptor of the form, with the address of the tile's first element, finds all of its elements.
bool Finds(const OperandForm& form, const Swizzle& swizzle, const SharedPlaces& places, int64_t part, int64_t row,
           int64_t column, int64_t rows, int64_t columns, bool along_k) {
  const int64_t size = places.element_bytes(), t = 16 / size, w = form.span == 0 ? 1 : form.span / 16;
  const int64_t start = places.At(part, row, column);
  // The pattern must begin with the tile.
  if (start % 16 != 0 || (form.span != 0 && (start >> 7 & (w - 1)) != 0)) return false;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t mn = along_k ? i : j, k = along_k ? j : i;
      int64_t offset = 0;
      if (along_k) {
        offset = mn % 8 * w * 16 + mn / 8 * form.stride_bytes + k / t * (form.span == 0 ? form.leading_bytes : 16) +
                 k % t * size;
      } else if (form.span == 0) {
        offset = mn % t * size + mn / t * form.stride_bytes + k % 8 * 16 + k / 8 * form.leading_bytes;
      } else {
        offset = mn % t * size + mn / t % w * 16 + mn / (t * w) * form.leading_bytes + k % 8 * w * 16 +
                 k / 8 * form.stride_bytes;
      }
      if (places.At(part, row + i, column + j) != swizzle(start + offset)) return false;
    }
  }
  return true;
}

// The only form with the span that may find the tile at the beginning of the buffer: its distances are read off.
OperandForm FormOfSpan(const SharedPlaces& places, const Swizzle& swizzle, int64_t span, int64_t rows, int64_t columns,
                       bool along_k) {
  const int64_t t = 16 / places.element_bytes(), w = span == 0 ? 1 : span / 16;
  OperandForm form{.span = span};
  const auto distance = [&](int64_t mn, int64_t k) -> int64_t {
    const int64_t row = along_k ? mn : k, column = along_k ? k : mn;
    if (row >= rows || column >= columns) return 16;  // not used
    return swizzle(places.At(0, row, column)) - swizzle(places.At(0, 0, 0));
  };
  if (along_k) {
    form.stride_bytes = distance(8, 0);
    if (span == 0) form.leading_bytes = distance(0, t);
  } else if (span == 0) {
    form.stride_bytes = distance(t, 0);
    form.leading_bytes = distance(0, 8);
  } else {
    form.leading_bytes = distance(t * w, 0);
    form.stride_bytes = distance(0, 8);
  }
  return form;
}

bool FindsAll(const OperandForm& form, const Swizzle& swizzle, const SharedPlaces& places, int64_t rows,
              int64_t columns, bool along_k) {
  for (const int64_t bytes : {form.leading_bytes, form.stride_bytes}) {
    if (bytes < 0 || bytes % 16 != 0 || bytes >> 4 > 0x3fff) return false;
  }
  for (int64_t part = 0; part < places.parts(); ++part) {
    for (int64_t row = 0; row + rows <= places.rows(); row += rows) {
      for (int64_t column = 0; column + columns <= places.columns(); column += columns) {
        if (!Finds(form, swizzle, places, part, row, column, rows, columns, along_k)) return false;
      }
    }
  }
  return true;
}

}  // namespace

Swizzle::Swizzle(int64_t span) {
  if (span == 0) return;
  const std::vector<Expr> shape = {Expr(kSwizzleRows), Expr(static_cast<int>(span))};
  const absl::StatusOr<Layout> layout = LayoutNamed(SwizzleNamed(span), shape, DataType::UInt(8));
  TW_CHECK(layout.ok()) << layout.status().ToString();
  const absl::StatusOr<TileLayout> bytes = TileLayout::Of(layout->map, {kSwizzleRows, span});
  TW_CHECK(bytes.ok()) << bytes.status().ToString();
  places_.resize(static_cast<size_t>(kSwizzleRows * span));
  for (int64_t byte = 0; byte < kSwizzleRows * span; ++byte) {
    const std::vector<int64_t> place = bytes->At({byte / span, byte % span});
    places_[static_cast<size_t>(byte)] = place[1] * span + place[2];
  }
}

absl::StatusOr<SharedPlaces> SharedPlaces::Of(const Buffer& buffer) {
  SharedPlaces places;
  const size_t rank = buffer->ndim();
  int64_t elements = 1;
  std::vector<int64_t> extents;
  for (const Expr& extent : buffer->shape) {
    extents.push_back(AsInt(extent).value_or(0));
    elements *= extents.back();
    if (elements <= 0 || elements * buffer->dtype.bytes() > kMostBytes) {
      return absl::InvalidArgumentError(absl::StrCat("the extents of buffer ", buffer->name,
                                                     " are not constants, or more than shared memory can have"));
    }
  }
  places.element_bytes_ = buffer->dtype.bytes();
  places.columns_ = rank > 0 ? extents[rank - 1] : 1;
  places.rows_ = rank > 1 ? extents[rank - 2] : 1;
  places.parts_ = elements / (places.rows_ * places.columns_);
  std::vector<int64_t> indices(rank);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t rest = i;
    for (size_t d = rank; d-- > 0;) {
      indices[d] = rest % extents[d];
      rest /= extents[d];
    }
    const std::optional<int64_t> place = PlaceOf(buffer, indices);
    if (!place) {
      return absl::InvalidArgumentError(
          absl::StrCat("where the elements of buffer ", buffer->name, " lie is not known"));
    }
    places.bytes_.push_back(*place * places.element_bytes_);
  }
  return places;
}

absl::StatusOr<OperandForm> FindOperandForm(const Buffer& buffer, int64_t rows, int64_t columns, bool along_k) {
  TW_ASSIGN_OR_RETURN(const SharedPlaces places, SharedPlaces::Of(buffer));
  if (places.rows() % rows == 0 && places.columns() % columns == 0) {
    for (const int64_t span : kSwizzleSpans) {
      if (buffer->alignment % (span == 0 ? 16 : 8 * span) != 0) continue;
      const Swizzle swizzle(span);
      const OperandForm form = FormOfSpan(places, swizzle, span, rows, columns, along_k);
      if (FindsAll(form, swizzle, places, rows, columns, along_k)) return form;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the elements of buffer ", buffer->name, " do not lie where an instruction finds tiles of ", rows, " x ", columns,
      " in it: its layout must be one of those that set_layout names, with rows of as many bytes or more"));
}

}  // namespace tilewright

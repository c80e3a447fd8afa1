#include "codegen/lower/gpu/images/image_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Ends of the last axis that are tried: rows of the last tile may go so far beyond it.
constexpr int64_t kEnds = 64;
constexpr size_t kLeastRank = 3;

// Bits of a corner and of an offset along each of `axes`.
int BitsOf(size_t axes) { return axes == 1 ? 16 : axes == 2 ? 8 : 5; }

Expr Wide(const Expr& e) { return CastTo(DataType::Int(64), e); }
Expr Number(int64_t value) { return Const(DataType::Int(64), value); }

// number % upper // lower, where `number` grows by one from row to row; upper 0: none.
struct Digit {
  Expr number;
  int64_t lower = 1, upper = 0;
};

// The sum of `scale` times a digit for each part, and of what is the same for all rows.
struct Position {
  struct Part {
    int64_t scale = 1;
    Digit digit;
  };
  std::vector<Part> parts;
  Expr fixed = Number(0);
};

// Takes indices apart, as functions of the row.
class Digits {
 public:
  Digits(const Var& row, arith::Analyzer* analyzer) : row_(row), analyzer_(*analyzer) {}

  // At most one part; nothing when the index is not of that form.
  std::optional<Position> PositionOf(const Expr& e) {
    Position position;
    if (!Add(e, 1, &position) || !Join(&position.parts)) return std::nullopt;
    return position;
  }

 private:
  bool Add(const Expr& e, int64_t times, Position* position) {
    if (!UsesVar(e, row_)) {
      position->fixed = position->fixed + Number(times) * Wide(e);
      return true;
    }
    if (const auto* cast = dyn_cast<CastNode>(e)) return Add(cast->value, times, position);
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub)) {
      const int64_t sign = op->op == BinaryOp::kAdd ? 1 : -1;
      return Add(op->a, times, position) && Add(op->b, sign * times, position);
    }
    const std::optional<int64_t> by = op != nullptr && op->op == BinaryOp::kMul ? AsInt(op->b) : std::nullopt;
    if (by) return Add(op->a, times * *by, position);
    const std::optional<Digit> digit = DigitOf(e);
    if (digit) position->parts.push_back({times, *digit});
    return digit.has_value();
  }

  std::optional<Digit> DigitOf(const Expr& e) {
    if (e.same_as(Expr(row_))) return Digit{Wide(row_)};
    const auto* op = dyn_cast<BinaryNode>(e);
    const std::optional<int64_t> by = op == nullptr ? std::nullopt : AsInt(op->b);
    const bool divides = op != nullptr && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod);
    const std::optional<Position> inside = divides && by && *by > 0 ? PositionOf(op->a) : std::nullopt;
    if (!inside || inside->parts.size() != 1 || inside->parts[0].scale != 1) return std::nullopt;
    Digit digit = inside->parts[0].digit;
    if (digit.upper != 0 && !IsInt(analyzer_.Simplify(inside->fixed), 0)) return std::nullopt;
    digit.number = digit.number + inside->fixed * Number(digit.lower);
    if (op->op == BinaryOp::kFloorDiv) {
      digit.lower *= *by;
      return digit;
    }
    if (digit.upper != 0 && digit.upper % (digit.lower * *by) != 0) return std::nullopt;
    digit.upper = digit.lower * *by;
    return digit;
  }

  // Joins what simplification divided: m % 784 // 16 * 16 + m % 16 is m % 784.
  bool Join(std::vector<Position::Part>* parts) {
    std::ranges::sort(*parts, {}, &Position::Part::scale);
    for (; parts->size() > 1; parts->erase(parts->begin() + 1)) {
      auto& [scale, low] = (*parts)[0];
      const auto& [next, high] = (*parts)[1];
      if (scale <= 0 || next % scale != 0 || high.lower != low.lower * (next / scale)) return false;
      const arith::Bounds bounds = analyzer_.ConstBounds(low.number);
      const bool below = low.upper == 0 ? bounds.min >= 0 && bounds.max < high.lower : low.upper == high.lower;
      const Expr difference = FloorMod(high.number - low.number, Number(high.lower));
      if (!below || !IsInt(analyzer_.Simplify(difference), 0)) return false;
      low = {high.number, low.lower, high.upper};
    }
    return true;
  }

  const Var& row_;
  arith::Analyzer& analyzer_;
};

void AddConjuncts(const Expr& e, std::vector<Expr>* conjuncts) {
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || op->op != BinaryOp::kAnd) return conjuncts->push_back(e);
  AddConjuncts(op->a, conjuncts);
  AddConjuncts(op->b, conjuncts);
}

// What is not negative where the comparison holds, and nowhere else; null: it is none of order.
Expr DistanceOf(const Expr& comparison) {
  const auto* op = dyn_cast<BinaryNode>(comparison);
  if (op == nullptr) return Expr();
  const bool less = op->op == BinaryOp::kLT || op->op == BinaryOp::kLE;
  if (!less && op->op != BinaryOp::kGT && op->op != BinaryOp::kGE) return Expr();
  const bool strict = op->op == BinaryOp::kLT || op->op == BinaryOp::kGT;
  const Expr a = Wide(op->a), b = Wide(op->b);
  return (less ? b - a : a - b) - Number(strict ? 1 : 0);
}

class Finder {
 public:
  Finder(const ImageNest& nest, arith::Analyzer* analyzer)
      : nest_(nest), image_(nest.load->buffer), indices_(nest.load->indices), analyzer_(*analyzer) {
    if (nest.inside) AddConjuncts(nest.inside, &conjuncts_);
  }

  absl::StatusOr<ImageRows> Find(int64_t positions) {
    arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Bind(nest_.row, Range{Const(nest_.row.dtype(), 0), Const(nest_.row.dtype(), nest_.rows)});
    analyzer_.Bind(nest_.column, Range{Const(nest_.column.dtype(), 0), Const(nest_.column.dtype(), nest_.columns)});
    TW_RETURN_IF_ERROR(CheckImage());
    TW_RETURN_IF_ERROR(FindDigits());
    TW_RETURN_IF_ERROR(CheckDigits());
    ImageRows rows = Rows();
    TW_RETURN_IF_ERROR(FindEnd(positions, &rows));
    return rows;
  }

 private:
  struct Dimension {
    std::optional<Digit> digit;  // nothing: all rows have the same index
    Expr fixed;
    int64_t step = 1;
  };

  absl::Status Refuse(const std::string& reason) const {
    return absl::InvalidArgumentError(absl::StrCat("rows of ", image_->name, " are not pixels: ", reason));
  }
  size_t channels() const { return indices_.size() - 1; }
  const GpuTarget& gpu() const { return *nest_.gpu; }
  size_t MostRank() const { return static_cast<size_t>(gpu().max_map_rank); }

  absl::Status CheckImage() {
    if (indices_.size() < kLeastRank || indices_.size() > MostRank()) {
      return Refuse(absl::StrCat("it has ", indices_.size(), " dimensions, not ", kLeastRank, " to ", MostRank()));
    }
    if (nest_.rows > gpu().max_map_pixels) {
      return Refuse(absl::StrCat(nest_.rows, " are more than ", gpu().max_map_pixels));
    }
    if (!image_->strides.empty() || image_->layout) return Refuse("its elements do not lie one behind another");
    const std::optional<int64_t> extent = AsInt(image_->shape.back());
    if (!extent || *extent * image_->dtype.bytes() % gpu().bulk_alignment != 0) {
      return Refuse(absl::StrCat("channels of a pixel are not a multiple of ", gpu().bulk_alignment, " bytes"));
    }
    channel_ = analyzer_.Simplify(Wide(indices_.back()) - Wide(nest_.column));
    if (UsesVar(channel_, nest_.column) || UsesVar(channel_, nest_.row)) {
      return Refuse("columns do not run along the last dimension");
    }
    return absl::OkStatus();
  }

  absl::Status FindDigits() {
    for (size_t d = 0; d < channels(); ++d) {
      if (UsesVar(indices_[d], nest_.column)) return Refuse(absl::StrCat("columns run along dimension ", d));
      const std::optional<Position> position = Digits(nest_.row, &analyzer_).PositionOf(indices_[d]);
      if (!position) return Refuse(absl::StrCat("the index of dimension ", d, " is not a digit of their number"));
      Dimension dimension{.digit = {}, .fixed = analyzer_.Simplify(position->fixed)};
      if (!position->parts.empty()) {
        dimension.digit = position->parts[0].digit;
        dimension.step = position->parts[0].scale;
      }
      if (dimension.step < 1 || dimension.step > (d == 0 ? 1 : gpu().max_map_step)) {
        return Refuse(absl::StrCat("a step of ", dimension.step, " along dimension ", d));
      }
      dimensions_.push_back(std::move(dimension));
    }
    const auto varies = std::ranges::find_if(dimensions_, [](const Dimension& d) { return d.digit.has_value(); });
    if (varies == dimensions_.end()) return Refuse("all are the same");
    top_ = static_cast<size_t>(varies - dimensions_.begin());
    return absl::OkStatus();
  }

  // Whether digits are those of one number: the innermost axis has the least.
  absl::Status CheckDigits() {
    const Expr& number = dimensions_[top_].digit->number;
    int64_t lower = 1;
    for (size_t d = channels(); d-- > top_;) {
      const std::optional<Digit>& digit = dimensions_[d].digit;
      if (!digit) continue;
      const bool fits = digit->lower == lower && (d == top_ || (digit->upper != 0 && digit->upper % lower == 0));
      const Expr difference = FloorMod(number - digit->number, Number(std::max<int64_t>(digit->upper, 1)));
      if (!fits || !IsInt(analyzer_.Simplify(difference), 0)) {
        return Refuse(absl::StrCat("the index of dimension ", d, " is not the next digit of their number"));
      }
      lower = digit->upper;
    }
    // What would be carried out of the highest digit.
    const Digit& top = *dimensions_[top_].digit;
    if (top.upper != 0 && !IsSame(FloorDiv(top.number, Number(top.upper)))) {
      return Refuse(absl::StrCat("the index of dimension ", top_, " begins again"));
    }
    return absl::OkStatus();
  }
  // Whether all rows have the same value.
  bool IsSame(const Expr& e) { return analyzer_.CanProveEqual(e, AtFirst(e)); }
  Expr AtFirst(const Expr& e) { return analyzer_.Simplify(Substitute(e, {{nest_.row, Const(nest_.row.dtype(), 0)}})); }

  Expr DigitValue(const Digit& digit) const {
    const Expr rest = digit.upper == 0 ? digit.number : FloorMod(digit.number, Number(digit.upper));
    return FloorDiv(rest, Number(digit.lower));
  }

  ImageRows Rows() {
    ImageRows rows;
    rows.channel = channel_;
    rows.image = analyzer_.Simplify(AtFirst(Wide(indices_[0])));
    const bool counts = top_ > 0 && dimensions_[top_].digit->upper == 0;
    if (counts) rows.counted = static_cast<int>(top_) - 1;
    for (size_t d = 1; d < channels(); ++d) {
      const Dimension& dimension = dimensions_[d];
      ImageAxis axis{.shift = dimension.fixed, .step = dimension.step};
      if (dimension.digit) {
        axis.first = AtFirst(DigitValue(*dimension.digit));
        axis.positions = dimension.digit->upper / dimension.digit->lower;
      } else {
        axis.first = Number(0);
        axis.positions = 1;
      }
      Bound(axis.shift, &axis);
      // Nothing is carried to it.
      if (d < top_ && !counts) Free(d, &axis);
      rows.axes.push_back(std::move(axis));
    }
    return rows;
  }
  void Free(size_t d, ImageAxis* axis) {
    axis->first = analyzer_.Simplify(AtFirst(Wide(indices_[d])));
    axis->shift = Number(0);
    axis->free = true;
    Bound(Wide(indices_[d]), axis);
  }
  void Bound(const Expr& e, ImageAxis* axis) {
    const arith::Bounds bounds = analyzer_.ConstBounds(e);
    axis->low = bounds.min;
    axis->high = bounds.max;
  }

  // Finds out where the program copies zeros.
  absl::Status FindEnd(int64_t positions, ImageRows* rows) {
    if (rows->counted < 0) return AreOutside(Expr()) ? absl::OkStatus() : Refuse(kZeros);
    ImageAxis& axis = rows->axes[static_cast<size_t>(rows->counted)];
    const Expr digit = DigitValue(*dimensions_[top_].digit);
    std::vector<int64_t> candidates;
    if (positions != 0) candidates.push_back(positions);
    const int64_t most = analyzer_.ConstBounds(digit).max + 1, least = analyzer_.ConstBounds(axis.first).max + 1;
    for (int64_t count = most; positions == 0 && count >= std::max(least, most - kEnds); --count) {
      candidates.push_back(count);
    }
    const int64_t shifts = int64_t{1} << BitsOf(rows->axes.size());
    const bool fits = std::ranges::all_of(rows->axes, [&](const ImageAxis& a) { return a.high - a.low < shifts; });
    for (const int64_t count : candidates) {
      if (!fits || !IsEnd(axis, digit, count)) continue;
      axis.positions = count;
      return absl::OkStatus();
    }
    if (positions != 0 || !AreOutside(Expr())) return Refuse(kZeros);
    // The last pixel is never passed.
    for (size_t d = 1; d <= top_; ++d) Free(d, &rows->axes[d - 1]);
    rows->counted = -1;
    return absl::OkStatus();
  }
  // Whether the last digit may be count - 1: the first pixel is before, all behind belong to an image that is not
  // there.
  bool IsEnd(const ImageAxis& axis, const Expr& digit, int64_t count) {
    const Expr last = Wide(image_->shape[0]) - Number(1), in_box = digit < Number(count);
    const arith::Bounds first = analyzer_.ConstBounds(axis.first);
    if (first.min < 0 || first.max >= count) return false;
    if (!IsSame(in_box) && !analyzer_.CanProve(last <= Wide(indices_[0]))) return false;
    if (!AreOutside(in_box)) return false;
    const Expr end = analyzer_.Simplify(in_box);
    if (std::ranges::any_of(conjuncts_, [&](const Expr& e) { return FollowsFrom(end, e); })) return true;
    arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Assume(nest_.inside);
    return analyzer_.CanProve(end);
  }

  // Whether the program copies zeros for elements outside of the image alone, and for those that are not in the box.
  bool AreOutside(const Expr& in_box) {
    std::vector<Expr> facts;
    for (size_t d = 0; d < indices_.size(); ++d) {
      facts.push_back(Const(indices_[d].dtype(), 0) <= indices_[d]);
      facts.push_back(indices_[d] < CastTo(indices_[d].dtype(), image_->shape[d]));
    }
    if (in_box) facts.push_back(in_box);
    for (Expr& fact : facts) fact = analyzer_.Simplify(fact);
    return std::ranges::all_of(conjuncts_, [&](const Expr& e) {
      return FollowsFromAll(e, facts) ||
             std::ranges::any_of(facts, [&](const Expr& fact) { return FollowsFrom(e, fact); });
    });
  }
  bool FollowsFromAll(const Expr& e, const std::vector<Expr>& facts) {
    arith::Analyzer::Scope inside(&analyzer_);
    for (const Expr& fact : facts) analyzer_.Assume(fact);
    return analyzer_.CanProve(e);
  }
  // 0 <= D follows from 0 <= E when t E <= D. Simplification multiplies: 1 <= x % 2 becomes 8 <= x % 2 * 8 + y.
  bool FollowsFrom(const Expr& e, const Expr& fact) {
    const Expr distance = DistanceOf(e), known = DistanceOf(fact);
    if (!distance || !known) return false;
    for (int64_t t = 1; t <= gpu().max_map_box; t *= 2) {
      if (analyzer_.ConstBounds(analyzer_.Simplify(Number(t) * known - distance)).max <= 0) return true;
    }
    return false;
  }

  static constexpr char kZeros[] = "zeros are copied where the image has elements";

  const ImageNest& nest_;
  const Buffer& image_;
  const std::vector<Expr>& indices_;
  arith::Analyzer& analyzer_;
  std::vector<Expr> conjuncts_;
  std::vector<Dimension> dimensions_;  // without channels
  Expr channel_;
  size_t top_ = 0;  // the outermost dimension whose index varies
};

}  // namespace

std::optional<CopiedElement> CopiedBy(const Expr& value) {
  CopiedElement copied;
  Expr chosen = value;
  for (const auto* call = dyn_cast<CallNode>(chosen); call != nullptr; call = dyn_cast<CallNode>(chosen)) {
    if (call->op != kIfThenElse || !IsZero(call->args[2])) return std::nullopt;
    copied.inside = copied.inside ? And(copied.inside, call->args[0]) : call->args[0];
    chosen = call->args[1];
  }
  copied.load = dyn_cast<LoadNode>(chosen);
  if (copied.load == nullptr || copied.load->predicate) return std::nullopt;
  return copied;
}

absl::StatusOr<ImageRows> FindImageRows(const ImageNest& nest, int64_t positions, arith::Analyzer* analyzer) {
  return Finder(nest, analyzer).Find(positions);
}

std::vector<int64_t> LeastShifts(const ImageRows& rows) {
  std::vector<int64_t> low;
  for (const ImageAxis& axis : rows.axes) low.push_back(axis.free ? arith::kPosInf : axis.low);
  return low;
}

absl::StatusOr<ImageBox> BoxOf(const ImageRows& rows, const Buffer& image, const std::vector<int64_t>& low) {
  const int bits = BitsOf(rows.axes.size());
  const int64_t least = -(int64_t{1} << (bits - 1)), most = -least - 1, far = (int64_t{1} << bits) - 1;
  ImageBox box;
  const auto narrow = [](const Expr& e) { return CastTo(DataType::Int(32), arith::Simplify(e)); };
  box.coordinates.push_back(narrow(rows.channel));
  for (size_t a = rows.axes.size(); a-- > 0;) {
    const ImageAxis& axis = rows.axes[a];
    const int64_t extent = AsInt(image->shape[a + 1]).value_or(0);
    const int64_t lower = axis.free ? least : low[a];
    const int64_t upper = axis.free ? most : lower + (axis.positions - 1) * axis.step + 1 - extent;
    const bool fits = extent > 0 && lower >= least && upper >= least && upper <= most &&
                      (axis.free ? axis.low >= least && axis.high <= extent - 1 + most
                                 : axis.low >= lower && axis.high - lower <= far);
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("rows of ", image->name, " are not pixels: dimension ", a + 1,
                                                     " goes from ", axis.low, " to ", axis.high,
                                                     ", for which a map does not have ", bits, " bits"));
    }
    box.lower.push_back(lower);
    box.upper.push_back(upper);
    box.steps.push_back(axis.step);
    box.coordinates.push_back(narrow(axis.free ? axis.first : axis.first * Number(axis.step) + Number(lower)));
    box.offsets.push_back(narrow(axis.free ? Number(0) : axis.shift - Number(lower)));
  }
  box.coordinates.push_back(narrow(rows.image));
  return box;
}

}  // namespace tilewright

#include "ir/layout.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

using Digits = std::vector<LayoutDigit>;
using Source = LayoutDigit::Source;

// The ends of the digits of each dimension of a box: divisors of its extent, each of which divides the next.
class Cuts {
 public:
  explicit Cuts(const std::vector<int64_t>& shape) {
    for (const int64_t extent : shape) cuts_.push_back({1, extent});
  }
  const std::set<int64_t>& Of(size_t dimension) const { return cuts_[dimension]; }
  // Whether the cut was not there.
  bool Add(size_t dimension, int64_t at) { return cuts_[dimension].insert(at).second; }
  bool AreDigits() const {
    return std::ranges::all_of(cuts_, [](const std::set<int64_t>& cuts) {
      return std::ranges::adjacent_find(cuts, [](int64_t a, int64_t b) { return b % a != 0; }) == cuts.end();
    });
  }
  size_t Count() const {
    size_t count = 0;
    for (const std::set<int64_t>& cuts : cuts_) count += cuts.size() - 1;
    return count;
  }
  // The first value above the digit that begins here.
  int64_t End(size_t dimension, int64_t begin) const { return *cuts_[dimension].upper_bound(begin); }

 private:
  std::vector<std::set<int64_t>> cuts_;
};

// Cuts that `from` has within [begin, begin * extent) are made in `to` within [other, other * extent). Whether any was
// new.
bool CopyCuts(const Cuts& from, size_t dimension, int64_t begin, int64_t extent, Cuts* to, size_t other_dimension,
              int64_t other) {
  bool any = false;
  for (const int64_t cut : from.Of(dimension)) {
    if (cut < begin || cut > begin * extent || cut % begin != 0) continue;
    any |= to->Add(other_dimension, other * (cut / begin));
  }
  return any;
}

// Cuts indices and places until digits of one are digits of the other. Whether any cut was new.
bool Spread(const Digits& digits, Cuts* indices, Cuts* places) {
  bool any = false;
  for (bool changed = true; changed; any |= changed) {
    changed = false;
    for (const LayoutDigit& digit : digits) {
      changed |= places->Add(digit.place, digit.stride);
      changed |= places->Add(digit.place, digit.stride * digit.extent);
      for (const Source& source : digit.sources) {
        changed |= CopyCuts(*places, digit.place, digit.stride, digit.extent, indices, source.index, source.divisor);
        changed |= CopyCuts(*indices, source.index, source.divisor, digit.extent, places, digit.place, digit.stride);
      }
    }
  }
  return any;
}

// The sources of each digit that the cuts leave, by place and stride.
using Sources = std::map<std::pair<size_t, int64_t>, std::set<Source>>;
void Toggle(const Source& source, std::set<Source>* sources) {
  if (!sources->insert(source).second) sources->erase(source);
}
Sources SourcesOf(const Digits& digits, const Cuts& places) {
  Sources sources;
  for (const LayoutDigit& digit : digits) {
    for (int64_t at = digit.stride; at < digit.stride * digit.extent; at = places.End(digit.place, at)) {
      for (const Source& source : digit.sources) {
        Toggle({source.index, source.divisor * (at / digit.stride)}, &sources[{digit.place, at}]);
      }
    }
  }
  return sources;
}

Digits DigitsOf(const Sources& sources, const Cuts& places) {
  Digits digits;
  for (const auto& [at, set] : sources) {
    digits.push_back({.place = at.first,
                      .stride = at.second,
                      .extent = places.End(at.first, at.second) / at.second,
                      .sources = {set.begin(), set.end()}});
  }
  return digits;
}

// Solves the system for the indices' digits: each is the exclusive or of digits of places. Nothing where it has no
// solution, or several.
std::optional<Sources> Solve(const Sources& sources, const Cuts& indices, const Cuts& places) {
  struct Row {
    std::set<Source> indices, places;
  };
  std::vector<Row> rows;
  std::set<Source> unknown;
  for (const auto& [at, set] : sources) {
    rows.push_back({set, {{at.first, at.second}}});
    unknown.insert(set.begin(), set.end());
  }
  if (unknown.size() != indices.Count() || rows.size() != places.Count() || unknown.size() != rows.size()) {
    return std::nullopt;
  }
  Sources solved;
  size_t done = 0;
  for (const Source& index : unknown) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(done), rows.end(),
                                    [&](const Row& row) { return row.indices.contains(index); });
    if (pivot == rows.end()) return std::nullopt;
    std::swap(rows[done], *pivot);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == done || !rows[i].indices.contains(index)) continue;
      for (const Source& other : rows[done].indices) Toggle(other, &rows[i].indices);
      for (const Source& place : rows[done].places) Toggle(place, &rows[i].places);
    }
    ++done;
  }
  for (const Row& row : rows) solved[{row.indices.begin()->index, row.indices.begin()->divisor}] = row.places;
  return solved;
}

// A number as parts of indices that lie beside each other in it, or on each other where they are combined by exclusive
// or: digits of one source each.
class Reader {
 public:
  Reader(const IndexMap& map, const std::vector<int64_t>& shape) {
    for (size_t i = 0; i < shape.size(); ++i) {
      Digits digits;
      if (shape[i] > 1) digits = {{.extent = shape[i], .sources = {{i, 1}}}};
      values_.emplace(map->inputs[i].get(), std::move(digits));
    }
  }

  std::optional<Digits> Read(const Expr& e) const {
    if (AsInt(e) == 0) return Digits();
    if (const auto* var = dyn_cast<VarNode>(e)) {
      const auto known = values_.find(var);
      return known == values_.end() ? std::nullopt : std::optional(known->second);
    }
    if (const auto* cast = dyn_cast<CastNode>(e)) return Read(cast->value);
    if (const auto* call = dyn_cast<CallNode>(e)) {
      return call->op == "bitwise_xor" ? Both(Read(call->args[0]), Read(call->args[1]), true) : std::nullopt;
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op == nullptr) return std::nullopt;
    if (op->op == BinaryOp::kAdd) return Both(Read(op->a), Read(op->b), false);
    if (op->op == BinaryOp::kMul && AsInt(op->a)) return Times(Read(op->b), *AsInt(op->a));
    const std::optional<int64_t> by = AsInt(op->b);
    if (!by || *by <= 0) return std::nullopt;
    if (op->op == BinaryOp::kMul) return Times(Read(op->a), *by);
    if (op->op == BinaryOp::kFloorDiv) return Part(Read(op->a), *by, false);
    return op->op == BinaryOp::kFloorMod ? Part(Read(op->a), *by, true) : std::nullopt;
  }

 private:
  static bool AreBits(const LayoutDigit& digit) {
    return std::has_single_bit(static_cast<uint64_t>(digit.stride)) &&
           std::has_single_bit(static_cast<uint64_t>(digit.extent));
  }
  static std::optional<Digits> Both(std::optional<Digits> a, const std::optional<Digits>& b, bool exclusive_or) {
    if (!a || !b) return std::nullopt;
    for (const LayoutDigit& x : *a) {
      for (const LayoutDigit& y : *b) {
        const int64_t end_x = x.stride * x.extent, end_y = y.stride * y.extent;
        const bool apart = (end_x <= y.stride && y.stride % end_x == 0) || (end_y <= x.stride && x.stride % end_y == 0);
        if (exclusive_or ? !AreBits(x) || !AreBits(y) : !apart) return std::nullopt;
      }
    }
    a->insert(a->end(), b->begin(), b->end());
    return a;
  }
  static std::optional<Digits> Times(std::optional<Digits> value, int64_t by) {
    if (!value || by <= 0) return std::nullopt;
    for (LayoutDigit& digit : *value) digit.stride *= by;
    return value;
  }
  // The part of a number above or below `by`.
  static std::optional<Digits> Part(std::optional<Digits> value, int64_t by, bool below) {
    if (!value) return std::nullopt;
    Digits kept;
    for (LayoutDigit digit : *value) {
      const int64_t end = digit.stride * digit.extent;
      if (digit.stride % by == 0) {  // above
        digit.stride /= by;
        if (!below) kept.push_back(digit);
      } else if (by % end == 0) {
        if (below) kept.push_back(digit);
      } else if (by % digit.stride == 0 && end % by == 0) {
        const int64_t low = by / digit.stride;
        if (!below) digit.sources[0].divisor *= low;
        digit.extent = below ? low : digit.extent / low;
        if (!below) digit.stride = 1;
        kept.push_back(digit);
      } else if (end <= by && below) {
        kept.push_back(digit);
      } else if (end > by) {
        return std::nullopt;
      }
    }
    return kept;
  }

  std::map<const VarNode*, Digits> values_;
};

}  // namespace

absl::StatusOr<TileLayout> TileLayout::Of(const IndexMap& map, std::vector<int64_t> shape, size_t owners) {
  TW_CHECK(map->inputs.size() == shape.size());
  TileLayout layout;
  layout.shape_ = std::move(shape);
  layout.owners_ = owners;
  const Reader reader(map, layout.shape_);
  Digits digits;
  for (size_t place = 0; place < map->outputs.size(); ++place) {
    std::optional<Digits> read = reader.Read(map->outputs[place]);
    if (!read) {
      return absl::InvalidArgumentError(
          absl::StrCat("result ", place, " of the index map does not consist of digits of its indices"));
    }
    int64_t extent = 1;
    for (LayoutDigit& digit : *read) {
      digit.place = place;
      extent = std::max(extent, digit.stride * digit.extent);
      digits.push_back(std::move(digit));
    }
    layout.places_.push_back(extent);
  }
  Cuts indices(layout.shape_), places(layout.places_);
  Spread(digits, &indices, &places);
  const bool are_digits = indices.AreDigits() && places.AreDigits();
  const Sources sources = are_digits ? SourcesOf(digits, places) : Sources();
  if (!are_digits || !Solve(sources, indices, places)) {
    return absl::InvalidArgumentError("the index map is not a bijection of digits");
  }
  layout.digits_ = DigitsOf(sources, places);
  layout.Join();
  return layout;
}

absl::StatusOr<TileLayout> TileLayout::Tiles(const std::vector<int64_t>& shape, const std::vector<int64_t>& tile) {
  TW_CHECK(shape.size() == tile.size());
  TileLayout layout;
  layout.shape_ = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (tile[i] <= 0 || shape[i] % tile[i] != 0) {
      return absl::InvalidArgumentError(absl::StrCat("tiles of ", tile[i], " do not divide an extent of ", shape[i]));
    }
    layout.places_.push_back(shape[i] / tile[i]);
  }
  layout.places_.insert(layout.places_.end(), tile.begin(), tile.end());
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t within = shape.size() + i;
    layout.digits_.push_back({.place = i, .extent = layout.places_[i], .sources = {{i, tile[i]}}});
    layout.digits_.push_back({.place = within, .extent = tile[i], .sources = {{i, 1}}});
  }
  layout.Join();
  return layout;
}

void TileLayout::Join() {
  std::erase_if(digits_, [](const LayoutDigit& digit) { return digit.extent == 1; });
  std::ranges::sort(digits_, {}, [](const LayoutDigit& digit) { return std::pair(digit.place, digit.stride); });
  Digits joined;
  for (LayoutDigit& digit : digits_) {
    std::ranges::sort(digit.sources);
    const auto follows = [&](const Source& low, const Source& high) {
      return low.index == high.index && high.divisor == low.divisor * joined.back().extent;
    };
    if (!joined.empty() && joined.back().place == digit.place &&
        digit.stride == joined.back().stride * joined.back().extent &&
        std::ranges::equal(joined.back().sources, digit.sources, follows)) {
      joined.back().extent *= digit.extent;
    } else {
      joined.push_back(std::move(digit));
    }
  }
  digits_ = std::move(joined);
}

std::vector<int64_t> TileLayout::At(const std::vector<int64_t>& indices) const {
  TW_CHECK(indices.size() == shape_.size());
  std::vector<int64_t> place(places_.size());
  for (const LayoutDigit& digit : digits_) {
    int64_t value = 0;
    for (const Source& source : digit.sources) value ^= indices[source.index] / source.divisor % digit.extent;
    place[digit.place] += digit.stride * value;
  }
  return place;
}

std::vector<Expr> TileLayout::Apply(const std::vector<Expr>& indices) const {
  TW_CHECK(!indices.empty() && indices.size() == shape_.size());
  const DataType type = indices[0].dtype();
  std::vector<Expr> place(places_.size());
  for (const LayoutDigit& digit : digits_) {
    Expr value;
    for (const Source& source : digit.sources) {
      Expr part = indices[source.index];
      const bool first = source.divisor * digit.extent == shape_[source.index];
      if (source.divisor != 1) part = FloorDiv(part, Const(type, source.divisor));
      if (!first) part = FloorMod(part, Const(type, digit.extent));
      value = value ? Call(type, "bitwise_xor", {value, part}) : part;
    }
    if (digit.stride != 1) value = value * Const(type, digit.stride);
    Expr& sum = place[digit.place];
    sum = sum ? value + sum : value;
  }
  for (Expr& sum : place) {
    if (!sum) sum = Const(type, 0);
  }
  return place;
}

TileLayout TileLayout::Inverse() const {
  Cuts indices(shape_), places(places_);
  Spread(digits_, &indices, &places);
  const std::optional<Sources> solved = Solve(SourcesOf(digits_, places), indices, places);
  TW_CHECK(solved.has_value()) << "a layout is a bijection";
  TileLayout inverse;
  inverse.shape_ = places_;
  inverse.places_ = shape_;
  inverse.digits_ = DigitsOf(*solved, indices);
  inverse.Join();
  return inverse;
}

absl::StatusOr<TileLayout> TileLayout::Compose(const TileLayout& then) const {
  if (then.shape_ != places_) {
    return absl::InvalidArgumentError("the second layout is one of other extents than the first one's places have");
  }
  Cuts indices(shape_), between(places_), places(then.places_);
  for (bool changed = true; changed;) {
    changed = Spread(digits_, &indices, &between);
    changed |= Spread(then.digits_, &between, &places);
  }
  if (!indices.AreDigits() || !between.AreDigits() || !places.AreDigits()) {
    return absl::InvalidArgumentError("digits of the two layouts do not divide each other");
  }
  const Sources first = SourcesOf(digits_, between);
  Sources both;
  for (const auto& [at, middle] : SourcesOf(then.digits_, places)) {
    for (const Source& source : middle) {
      for (const Source& index : first.at({source.index, source.divisor})) Toggle(index, &both[at]);
    }
  }
  TileLayout composed;
  composed.shape_ = shape_;
  composed.places_ = then.places_;
  composed.owners_ = then.owners_;
  composed.digits_ = DigitsOf(both, places);
  composed.Join();
  return composed;
}

absl::StatusOr<TileLayout> TileLayout::Divide(const std::vector<int64_t>& tile) const {
  TW_ASSIGN_OR_RETURN(const TileLayout tiles, Tiles(shape_, tile));
  return tiles.Inverse().Compose(*this);
}

TileLayout TileLayout::Repeat(size_t index, int64_t count, size_t place) const {
  TileLayout repeated = *this;
  repeated.digits_.push_back(
      {.place = place, .stride = places_[place], .extent = count, .sources = {{index, shape_[index]}}});
  repeated.shape_[index] *= count;
  repeated.places_[place] *= count;
  repeated.Join();
  return repeated;
}

}  // namespace tilewright

// A layout of a tile as a value: where each element of a box of indices lies.
//
//   sums of mma.sync, 16 x 8    lambda i, j: (i % 8 * 4 + j // 2, i // 8 * 2 + j % 2)     the lane, its register
//   panels of 16 columns        lambda k, j: (j // 16, k, j % 16)
//   swizzled halves             lambda i, j: (j // 64, i, (j % 64 // 8 ^ i % 8) * 8 + j % 8)
//
//   TW_ASSIGN_OR_RETURN(TileLayout sums, TileLayout::Of(map, {16, 8}, 1));
//   sums.At({9, 3})                       // {5, 3}: the sum of row 9 and column 3 is register 3 of lane 5
//   sums.Inverse().At({5, 3})             // {9, 3}
//   sums.Repeat(1, 2, 1)                  // 16 x 16: columns 8 to 15 are the next four registers of the same lanes
//
// An index consists of digits, i of i // 8 and i % 8 for example, and so does a place. Each digit of a place is a digit
// of an index, or the exclusive or of several. A layout is a bijection between two boxes: no two elements share a
// place, and no place is empty. So it has an inverse, and equal layouts are equal values, however they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/expr.h"
#include "ir/index_map.h"

namespace tilewright {

// stride * (i // divisor % extent) of the index that `sources` names is a part of a place; of several sources, their
// exclusive or.
struct LayoutDigit {
  struct Source {
    size_t index = 0;
    int64_t divisor = 1;
    friend auto operator<=>(const Source&, const Source&) = default;
  };
  size_t place = 0;
  int64_t stride = 1, extent = 1;
  std::vector<Source> sources;
  friend bool operator==(const LayoutDigit&, const LayoutDigit&) = default;
};

class TileLayout {
 public:
  // The map over indices of this shape, made of +, *, //, % and ^ with constants. The first `owners` places name who
  // holds an element. InvalidArgument: the map is not made of digits, or not a bijection.
  static absl::StatusOr<TileLayout> Of(const IndexMap& map, std::vector<int64_t> shape, size_t owners = 0);
  // Tiles of this size, which divides the shape: (i // tile, ..., i % tile, ...).
  static absl::StatusOr<TileLayout> Tiles(const std::vector<int64_t>& shape, const std::vector<int64_t>& tile);

  const std::vector<int64_t>& shape() const { return shape_; }    // extents of indices
  const std::vector<int64_t>& places() const { return places_; }  // extents of places
  size_t owners() const { return owners_; }
  // The digits of all places, by place and then by stride.
  const std::vector<LayoutDigit>& digits() const { return digits_; }

  // The place of an element; by expressions, not simplified.
  std::vector<int64_t> At(const std::vector<int64_t>& indices) const;
  std::vector<Expr> Apply(const std::vector<Expr>& indices) const;

  // From places to indices. It has no owners.
  TileLayout Inverse() const;
  // This layout, then another one of its places. InvalidArgument: the other one's shape differs, or digits of one do
  // not divide those of the other.
  absl::StatusOr<TileLayout> Compose(const TileLayout& then) const;
  // The same places by the number of a tile and the indices in it: Tiles(shape, tile), then this, is the layout.
  absl::StatusOr<TileLayout> Divide(const std::vector<int64_t>& tile) const;
  // `count` such tiles along an index: their number becomes the first digit of a place.
  TileLayout Repeat(size_t index, int64_t count, size_t place) const;

  friend bool operator==(const TileLayout&, const TileLayout&) = default;

 private:
  TileLayout() = default;
  // Sorts digits, and joins those that follow each other in all indices and in the place.
  void Join();

  std::vector<int64_t> shape_, places_;
  size_t owners_ = 0;
  std::vector<LayoutDigit> digits_;
};

}  // namespace tilewright

#include "graph/host/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "graph/host/array.h"

namespace tilewright::graph {
namespace {

template <class T>
T Get(const Attrs& attrs, const char* name) {
  return *attrs.at(name).As<T>();
}

NDArray Int64Array(const std::vector<int64_t>& values, std::vector<int64_t> shape) {
  NDArray array = Unwritten(DataType::Int(64), std::move(shape));
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(array.data()));
  return array;
}

// Elements before `axis`, along it, and after it.
struct Sides {
  int64_t outer = 1, extent = 1, inner = 1;
};
Sides SidesOf(const std::vector<int64_t>& shape, int64_t axis) {
  Sides sides;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < axis ? sides.outer : at == axis ? sides.extent : sides.inner) *= shape[i];
  }
  return sides;
}

// Element positions[i] of `from` becomes element i of `to`.
template <int kBytes>
void TakeElements(const std::byte* from, absl::Span<const int64_t> positions, std::byte* to) {
  for (int64_t position : positions) {
    std::memcpy(to, from + position * kBytes, kBytes);
    to += kBytes;
  }
}

// The same for elements of any size.
void TakeElements(const std::byte* from, absl::Span<const int64_t> positions, int64_t bytes, std::byte* to) {
  if (bytes == 1) return TakeElements<1>(from, positions, to);
  if (bytes == 2) return TakeElements<2>(from, positions, to);
  if (bytes == 4) return TakeElements<4>(from, positions, to);
  if (bytes == 8) return TakeElements<8>(from, positions, to);
  for (int64_t position : positions) to = std::copy_n(from + position * bytes, bytes, to);
}

// Slices of `x` along `axis`, in the order of `positions`.
NDArray TakeSlices(const NDArray& x, int64_t axis, const std::vector<int64_t>& positions) {
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(positions.size());
  NDArray result = Unwritten(x.dtype(), shape);
  const Sides sides = SidesOf(x.shape(), axis);
  const int64_t bytes = sides.inner * x.dtype().bytes();
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(result.data());
  for (int64_t o = 0; o < sides.outer; ++o) {
    TakeElements(from + o * sides.extent * bytes, positions, bytes, to + o * std::ssize(positions) * bytes);
  }
  return result;
}

// A number that is ordered as the element is: NaN as the largest number, both zeros alike. Of as many bits as the
// element at most.
int32_t OrderOfFloat(float value) {
  if (std::isnan(value)) return std::numeric_limits<int32_t>::max();
  const auto bits = std::bit_cast<int32_t>(value + 0.0f);  // -0 becomes 0.
  return bits < 0 ? bits ^ std::numeric_limits<int32_t>::max() : bits;
}
int64_t OrderOf(const NDArray& x, int64_t position) {
  if (!x.dtype().is_float()) {
    const int64_t value = x.GetInt(position);
    return x.dtype() == DataType::UInt(64) ? value ^ INT64_MIN : value;
  }
  const double value = x.Get(position);
  if (std::isnan(value)) return INT64_MAX;
  const auto bits = std::bit_cast<int64_t>(value + 0.0);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

// The orders of all elements.
std::vector<int64_t> OrdersOf(const NDArray& x) {
  const auto count = static_cast<size_t>(x.size());
  std::vector<int64_t> orders(count);
  if (x.dtype() == DataType::Int(64)) {
    std::copy_n(static_cast<const int64_t*>(x.data()), count, orders.data());
  } else if (x.dtype() == DataType::Float(32)) {
    std::transform(static_cast<const float*>(x.data()), static_cast<const float*>(x.data()) + count, orders.data(),
                   OrderOfFloat);
  } else {
    for (size_t i = 0; i < count; ++i) orders[i] = OrderOf(x, static_cast<int64_t>(i));
  }
  return orders;
}

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};
Box BoxAt(const NDArray& boxes, int64_t at, bool center) {
  double v[4];
  const auto* floats = boxes.dtype() == DataType::Float(32) ? static_cast<const float*>(boxes.data()) : nullptr;
  for (int64_t i = 0; i < 4; ++i) v[i] = floats != nullptr ? floats[at * 4 + i] : boxes.Get(at * 4 + i);
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}
double Overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0) return 0;
  const double both = height * width, all = a.area() + b.area() - both;
  return all <= 0 ? 0 : both / all;
}

// The marks of a boolean for each element: where it is not zero. NaN is marked, both zeros are not.
template <class Bits>
void MarkBits(const NDArray& x, Bits ignored, uint8_t* marks) {
  const auto* elements = static_cast<const Bits*>(x.data());
  const auto kept = static_cast<Bits>(~ignored);
  for (int64_t i = 0; i < x.size(); ++i) marks[i] = (elements[i] & kept) != 0;
}
NDArray MarksOf(const NDArray& x) {
  if (x.dtype().is_bool()) return x;
  NDArray result = Unwritten(DataType::Bool(), x.shape());
  auto* const marks = static_cast<uint8_t*>(result.data());
  const bool sign = x.dtype().is_float();
  const int bits = x.dtype().bits();
  if (bits == 8) {
    MarkBits<uint8_t>(x, sign ? 1 << 7 : 0, marks);
  } else if (bits == 16) {
    MarkBits<uint16_t>(x, sign ? 1 << 15 : 0, marks);
  } else if (bits == 32) {
    MarkBits<uint32_t>(x, sign ? uint32_t{1} << 31 : 0, marks);
  } else if (bits == 64) {
    MarkBits<uint64_t>(x, sign ? uint64_t{1} << 63 : 0, marks);
  } else {
    for (int64_t i = 0; i < x.size(); ++i) marks[i] = sign ? x.Get(i) != 0 : x.GetInt(i) != 0;
  }
  return result;
}

int64_t CountMarks(const uint8_t* marks, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) found += marks[i];
  return found;
}

// The positions of marks, to `to`, which has a place more than there are: what is not marked is written over.
int64_t PlaceMarks(const uint8_t* marks, int64_t count, int64_t* to) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    to[found] = i;
    found += marks[i];
  }
  return found;
}

// Equal elements or slices: the first of each group, how many there are, and the group of each position.
struct Groups {
  std::vector<int64_t> first, counts, inverse;

  void Add(int64_t position, int64_t group) {
    if (group == std::ssize(first)) {
      first.push_back(position);
      counts.push_back(0);
    }
    ++counts[static_cast<size_t>(group)];
    inverse[static_cast<size_t>(position)] = group;
  }
};

// Groups in the order in which they begin, by a table of them that has at least twice as many places.
Groups GroupsOfNumbers(const std::vector<int64_t>& keys) {
  Groups groups{.inverse = std::vector<int64_t>(keys.size())};
  std::vector<int64_t> of_group;                   // keys
  std::vector<int64_t> table(size_t{1} << 8, -1);  // groups
  // The high bits of a product with an odd number depend on all bits of the key.
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto place = [&](int64_t key) {
    const int shift = std::countl_zero(table.size()) + 1;
    size_t at = (std::bit_cast<uint64_t>(key) * kOdd) >> shift;
    while (table[at] >= 0 && of_group[static_cast<size_t>(table[at])] != key) at = (at + 1) & (table.size() - 1);
    return at;
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    size_t at = place(keys[i]);
    if (table[at] < 0) {
      if (of_group.size() * 2 >= table.size()) {
        table.assign(table.size() * 4, -1);
        for (size_t g = 0; g < of_group.size(); ++g) table[place(of_group[g])] = static_cast<int64_t>(g);
        at = place(keys[i]);
      }
      table[at] = std::ssize(of_group);
      of_group.push_back(keys[i]);
    }
    groups.Add(static_cast<int64_t>(i), table[at]);
  }
  return groups;
}

// Groups in the order of their slices, which compare element by element.
Groups GroupsOfSlices(const std::vector<int64_t>& keys, const Sides& sides) {
  const auto compare = [&](int64_t a, int64_t b) -> std::strong_ordering {
    for (int64_t o = 0; o < sides.outer; ++o) {
      for (int64_t i = 0; i < sides.inner; ++i) {
        const auto u = static_cast<size_t>((o * sides.extent + a) * sides.inner + i);
        const auto v = static_cast<size_t>((o * sides.extent + b) * sides.inner + i);
        if (keys[u] != keys[v]) return keys[u] <=> keys[v];
      }
    }
    return std::strong_ordering::equal;
  };
  std::vector<int64_t> order(static_cast<size_t>(sides.extent));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const std::strong_ordering slices = compare(a, b);
    return slices != 0 ? slices < 0 : a < b;
  });
  Groups groups{.inverse = std::vector<int64_t>(order.size())};
  for (const int64_t position : order) {
    const bool begins = groups.first.empty() || compare(groups.first.back(), position) != 0;
    groups.Add(position, std::ssize(groups.first) - (begins ? 0 : 1));
  }
  return groups;
}

// Groups in the order of a number that the first position of each has.
template <class Number>
void SortGroups(Groups& groups, const Number& number) {
  std::vector<int64_t> order(groups.first.size()), place(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t g) { return number(groups.first[static_cast<size_t>(g)]); });
  Groups sorted{.inverse = std::move(groups.inverse)};
  for (const int64_t g : order) {
    place[static_cast<size_t>(g)] = std::ssize(sorted.first);
    sorted.first.push_back(groups.first[static_cast<size_t>(g)]);
    sorted.counts.push_back(groups.counts[static_cast<size_t>(g)]);
  }
  for (int64_t& group : sorted.inverse) group = place[static_cast<size_t>(group)];
  groups = std::move(sorted);
}

}  // namespace

// Row by row of the last dimension: positions in it, and as often those of the row.
absl::StatusOr<Arrays> RunNonzero(const Attrs&, const Arrays& args, const TwParallelHook*) {
  const NDArray marked = MarksOf(args[0]);
  const auto* marks = static_cast<const uint8_t*>(marked.data());
  const std::vector<int64_t> shape = marked.shape().empty() ? std::vector<int64_t>{1} : marked.shape();
  const auto rank = shape.size();
  const int64_t count = CountMarks(marks, marked.size()), columns = shape.back();
  NDArray result = Unwritten(DataType::Int(64), {static_cast<int64_t>(rank), count});
  auto* const to = static_cast<int64_t*>(result.data());
  std::vector<int64_t> place(rank, 0), row(static_cast<size_t>(columns) + 1);
  int64_t done = 0;
  for (int64_t first = 0; done < count; first += columns) {
    const int64_t found = PlaceMarks(marks + first, columns, row.data());
    for (size_t d = 0; d + 1 < rank; ++d) std::fill_n(to + static_cast<int64_t>(d) * count + done, found, place[d]);
    std::copy_n(row.data(), found, to + (static_cast<int64_t>(rank) - 1) * count + done);
    done += found;
    for (size_t d = rank - 1; d-- > 0 && ++place[d] == shape[d];) place[d] = 0;
  }
  return Arrays{result};
}

absl::StatusOr<Arrays> RunUnique(const Attrs& attrs, const Arrays& args, const TwParallelHook*) {
  const NDArray& x = args[0];
  const auto axis = Get<int64_t>(attrs, "axis");
  const Sides sides = SidesOf(x.shape(), axis);
  const std::vector<int64_t> keys = OrdersOf(x);
  const bool sorted = Get<bool>(attrs, "sorted"), single = sides.outer * sides.inner == 1;
  Groups groups = single ? GroupsOfNumbers(keys) : GroupsOfSlices(keys, sides);
  if (single && sorted) SortGroups(groups, [&](int64_t first) { return keys[static_cast<size_t>(first)]; });
  if (!single && !sorted) SortGroups(groups, [](int64_t first) { return first; });
  const auto count = std::ssize(groups.first);
  return Arrays{TakeSlices(x, axis, groups.first), Int64Array(groups.first, {count}),
                Int64Array(groups.inverse, {sides.extent}), Int64Array(groups.counts, {count})};
}

absl::StatusOr<Arrays> RunCompress(const Attrs& attrs, const Arrays& args, const TwParallelHook*) {
  const auto axis = Get<int64_t>(attrs, "axis");
  const int64_t extent = std::min(args[0].shape()[static_cast<size_t>(axis)], args[1].size());
  const NDArray marks = MarksOf(args[1]);
  std::vector<int64_t> kept(static_cast<size_t>(extent) + 1);
  kept.resize(static_cast<size_t>(PlaceMarks(static_cast<const uint8_t*>(marks.data()), extent, kept.data())));
  return Arrays{TakeSlices(args[0], axis, kept)};
}

absl::StatusOr<Arrays> RunNonMaxSuppression(const Attrs& attrs, const Arrays& args, const TwParallelHook*) {
  const NDArray &boxes = args[0], &scores = args[1];
  const auto given = [&](size_t i) { return i < args.size() && args[i].data() != nullptr && args[i].size() > 0; };
  const auto number = [&](size_t i, double otherwise) { return given(i) ? args[i].Get(0) : otherwise; };
  const int64_t most = given(2) ? args[2].GetInt(0) : 0;
  const double iou = number(3, 0), threshold = number(4, -INFINITY);
  const bool center = Get<int64_t>(attrs, "center") != 0;
  const int64_t batches = scores.shape()[0], classes = scores.shape()[1], count = scores.shape()[2];
  if (boxes.shape()[0] != batches || boxes.shape()[1] != count || boxes.shape()[2] != 4) {
    return absl::InvalidArgumentError("boxes and scores do not fit each other");
  }
  struct Candidate {
    double score;
    int64_t box;
    // Whether the other one comes first.
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : box > other.box;
    }
  };
  const bool f32 = scores.dtype() == DataType::Float(32);
  std::vector<int64_t> selected;
  std::vector<Candidate> heap;  // few of many are taken
  std::vector<Box> kept;
  for (int64_t n = 0; n < batches; ++n) {
    for (int64_t c = 0; c < classes; ++c) {
      heap.clear();
      kept.clear();
      const int64_t first = (n * classes + c) * count;
      // What is too small is written over.
      heap.resize(static_cast<size_t>(count) + 1);
      size_t above = 0;
      for (int64_t i = 0; i < count; ++i) {
        const double score = f32 ? static_cast<const float*>(scores.data())[first + i] : scores.Get(first + i);
        heap[above] = {score, i};
        above += score > threshold ? 1 : 0;
      }
      heap.resize(above);
      std::make_heap(heap.begin(), heap.end());
      while (!heap.empty() && std::ssize(kept) < most) {
        std::pop_heap(heap.begin(), heap.end());
        const int64_t i = heap.back().box;
        heap.pop_back();
        const Box box = BoxAt(boxes, n * count + i, center);
        if (std::ranges::any_of(kept, [&](const Box& other) { return Overlap(box, other) > iou; })) continue;
        kept.push_back(box);
        selected.insert(selected.end(), {n, c, i});
      }
    }
  }
  return Arrays{Int64Array(selected, {std::ssize(selected) / 3, 3})};
}

}  // namespace tilewright::graph

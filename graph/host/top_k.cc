// TopK: the first k of each line by a pass that compares with the worst so far, or by sorting.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/host/array.h"
#include "graph/host/selection.h"

namespace tilewright::graph {
namespace {

// An integer that is ordered as the element is: NaN as the largest number, both zeros alike.
template <class T>
auto OrderOf(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    if (std::isnan(value)) return std::numeric_limits<Bits>::max();
    const auto bits = std::bit_cast<Bits>(value + T{0});  // -0 becomes 0.
    return bits < 0 ? bits ^ std::numeric_limits<Bits>::max() : bits;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return std::bit_cast<int64_t>(value ^ (uint64_t{1} << 63));
  } else if constexpr (sizeof(T) == 8 || std::is_same_v<T, uint32_t>) {
    return static_cast<int64_t>(value);
  } else {
    return static_cast<int32_t>(value);
  }
}

// An element of a line: what comes first is less. The first of equal elements comes first.
template <class Key>
struct Ranked {
  Key key;
  int64_t place;
  Ranked(Key k, int64_t p) : key(k), place(p) {}
  int64_t position() const { return place; }
  bool operator<(const Ranked& other) const { return key != other.key ? key < other.key : place < other.place; }
};
// Both in one number.
template <>
struct Ranked<int32_t> {
  int64_t both;
  Ranked(int32_t k, int64_t p) : both(static_cast<int64_t>(k) * (int64_t{1} << 32) + p) {}
  int64_t position() const { return both & 0xffffffff; }
  bool operator<(const Ranked& other) const { return both < other.both; }
};

// The first k elements of a line, the largest or the least, in their order.
template <class T, bool kLargest>
class Selector {
 public:
  using Key = decltype(OrderOf(T()));
  using Entry = Ranked<Key>;

  absl::Span<const Entry> First(absl::Span<const T> line, int64_t k) {
    best_.clear();
    const auto count = std::ssize(line);
    if (k == 0) return {};
    const bool few = k * kFew <= count;
    int64_t p = 0;
    for (; p < (few ? k : count); ++p) best_.push_back(EntryAt(line, p));
    if (!few && k < count) std::nth_element(best_.begin(), best_.begin() + (k - 1), best_.end());
    best_.erase(best_.begin() + k, best_.end());
    std::sort(best_.begin(), best_.end());
    if (few) Scan(line, p);
    return best_;
  }

 private:
  static constexpr int64_t kFew = 6, kBlock = 16;

  static Entry EntryAt(absl::Span<const T> line, int64_t p) {
    const Key key = OrderOf(line[static_cast<size_t>(p)]);
    return {kLargest ? static_cast<Key>(~key) : key, p};
  }

  // No element of most blocks is among the first.
  void Scan(absl::Span<const T> line, int64_t p) {
    const auto count = std::ssize(line);
    for (; p + kBlock <= count; p += kBlock) {
      const T* block = line.data() + p;
      const T worst = line[static_cast<size_t>(best_.back().position())];
      bool any = false;
      for (int64_t i = 0; i < kBlock; ++i) any |= !(kLargest ? block[i] <= worst : block[i] >= worst);
      for (int64_t i = 0; any && i < kBlock; ++i) Offer(EntryAt(line, p + i));
    }
    for (; p < count; ++p) Offer(EntryAt(line, p));
  }

  void Offer(Entry entry) {
    if (!(entry < best_.back())) return;
    size_t at = best_.size() - 1;
    for (; at > 0 && entry < best_[at - 1]; --at) best_[at] = best_[at - 1];
    best_[at] = entry;
  }

  std::vector<Entry> best_;
};

struct Lines {
  int64_t outer = 1, extent = 1, inner = 1, k = 0;
};

template <class T>
struct Results {
  T* values;
  int64_t* positions;
};

// Lines of one `outer`, from `begin` to `end` of its `inner` ones, whose elements lie `inner` apart. Some are gathered
// at a time, so that what is read together lies together.
template <class T, bool kLargest>
void SelectLines(const T* x, const Lines& lines, int64_t begin, int64_t end, Selector<T, kLargest>& selector,
                 std::vector<T>& strip, const Results<T>& results) {
  constexpr int64_t kStrip = 16;
  const int64_t extent = lines.extent, inner = lines.inner;
  for (int64_t first = begin; first < end; first += kStrip) {
    const int64_t width = std::min(kStrip, end - first);
    const T* gathered = x;
    if (inner > 1) {
      strip.resize(static_cast<size_t>(kStrip * extent));
      for (int64_t p = 0; p < extent; ++p) {
        for (int64_t i = 0; i < width; ++i) {
          strip[static_cast<size_t>(i * extent + p)] = x[p * inner + first + i];
        }
      }
      gathered = strip.data();
    }
    for (int64_t i = 0; i < width; ++i) {
      const absl::Span<const T> line(gathered + i * extent, static_cast<size_t>(extent));
      int64_t at = first + i;
      for (const auto& entry : selector.First(line, lines.k)) {
        results.positions[at] = entry.position();
        results.values[at] = line[static_cast<size_t>(entry.position())];
        at += inner;
      }
    }
  }
}

template <class T, bool kLargest>
void Select(const T* x, const Lines& lines, const Results<T>& results, const TwParallelHook* parallel) {
  const int64_t all = lines.outer * lines.inner;
  // Elements that are sorted are moved some times each.
  constexpr int64_t kMoves = 8;
  ForParts(parallel, all, all * (lines.extent + kMoves * lines.k), [&](int64_t begin, int64_t end) {
    Selector<T, kLargest> selector;
    std::vector<T> strip;
    for (int64_t line = begin; line < end;) {
      const int64_t o = line / lines.inner, first = line % lines.inner;
      const int64_t last = std::min(lines.inner, first + end - line);
      const Results<T> here = {results.values + o * lines.k * lines.inner,
                               results.positions + o * lines.k * lines.inner};
      SelectLines(x + o * lines.extent * lines.inner, lines, first, last, selector, strip, here);
      line += last - first;
    }
  });
}

template <class T>
Arrays TopKOf(const NDArray& x, const Lines& lines, std::vector<int64_t> shape, bool largest,
              const TwParallelHook* parallel) {
  NDArray values = Unwritten(x.dtype(), shape), positions = Unwritten(DataType::Int(64), shape);
  const Results<T> results = {static_cast<T*>(values.data()), static_cast<int64_t*>(positions.data())};
  const auto* elements = static_cast<const T*>(x.data());
  largest ? Select<T, true>(elements, lines, results, parallel) : Select<T, false>(elements, lines, results, parallel);
  return {values, positions};
}

// Orders of floats of 16 bits: NaN as the largest number, both zeros alike.
void OrderHalves(const NDArray& x, int32_t* to) {
  const int32_t infinity = x.dtype() == DataType::Float(16) ? 0x7c00 : 0x7f80;
  const auto* bits = static_cast<const uint16_t*>(x.data());
  for (int64_t i = 0; i < x.size(); ++i) {
    const int32_t magnitude = bits[i] & 0x7fff;
    const int32_t order = bits[i] >> 15 != 0 ? -magnitude : magnitude;
    to[i] = magnitude > infinity ? INT32_MAX : order;
  }
}

// Elements of other types, which have 16 bits at most, by numbers in their order.
Arrays TopKByOrders(const NDArray& x, const Lines& lines, const std::vector<int64_t>& shape, bool largest,
                    const TwParallelHook* parallel) {
  NDArray orders = Unwritten(DataType::Int(32), x.shape());
  auto* const to = static_cast<int32_t*>(orders.data());
  if (x.dtype() == DataType::Float(16) || x.dtype() == DataType::BFloat16()) {
    OrderHalves(x, to);
  } else {
    for (int64_t i = 0; i < x.size(); ++i) {
      to[i] = x.dtype().is_float() ? OrderOf(static_cast<float>(x.Get(i))) : static_cast<int32_t>(x.GetInt(i));
    }
  }
  const Arrays found = TopKOf<int32_t>(orders, lines, shape, largest, parallel);
  NDArray values = Unwritten(x.dtype(), shape);
  const auto* positions = static_cast<const int64_t*>(found[1].data());
  const auto bytes = static_cast<size_t>(x.dtype().bytes());
  for (int64_t at = 0; at < values.size(); ++at) {
    const int64_t o = at / (lines.k * lines.inner), i = at % lines.inner;
    const int64_t from = (o * lines.extent + positions[at]) * lines.inner + i;
    std::memcpy(static_cast<std::byte*>(values.data()) + static_cast<size_t>(at) * bytes,
                static_cast<const std::byte*>(x.data()) + static_cast<size_t>(from) * bytes, bytes);
  }
  return {values, found[1]};
}

}  // namespace

absl::StatusOr<Arrays> RunTopK(const Attrs& attrs, const Arrays& args, const TwParallelHook* parallel) {
  const NDArray& x = args[0];
  const auto axis = static_cast<size_t>(*attrs.at("axis").As<int64_t>());
  const bool largest = *attrs.at("largest").As<bool>();
  Lines lines{.extent = x.shape()[axis], .k = args[1].GetInt(0)};
  if (lines.k < 0 || lines.k > lines.extent) {
    return absl::InvalidArgumentError(absl::StrCat("the largest ", lines.k, " of ", lines.extent, " elements"));
  }
  if (lines.extent > std::numeric_limits<int32_t>::max()) return absl::InvalidArgumentError("a line is too long");
  for (size_t i = 0; i < x.shape().size(); ++i) {
    if (i != axis) (i < axis ? lines.outer : lines.inner) *= x.shape()[i];
  }
  std::vector<int64_t> shape = x.shape();
  shape[axis] = lines.k;
  const DataType type = x.dtype();
  if (type == DataType::Float(32)) return TopKOf<float>(x, lines, shape, largest, parallel);
  if (type == DataType::Float(64)) return TopKOf<double>(x, lines, shape, largest, parallel);
  if (type == DataType::Int(64)) return TopKOf<int64_t>(x, lines, shape, largest, parallel);
  if (type == DataType::UInt(64)) return TopKOf<uint64_t>(x, lines, shape, largest, parallel);
  if (type == DataType::Int(32)) return TopKOf<int32_t>(x, lines, shape, largest, parallel);
  if (type == DataType::UInt(32)) return TopKOf<uint32_t>(x, lines, shape, largest, parallel);
  if (type == DataType::Int(16)) return TopKOf<int16_t>(x, lines, shape, largest, parallel);
  if (type == DataType::Int(8)) return TopKOf<int8_t>(x, lines, shape, largest, parallel);
  if (type == DataType::UInt(8)) return TopKOf<uint8_t>(x, lines, shape, largest, parallel);
  return TopKByOrders(x, lines, shape, largest, parallel);
}

}  // namespace tilewright::graph

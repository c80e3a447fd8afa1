// N-grams of a pool, counted in rows of integers. What does not depend on the rows is prepared once: numbers of the
// pool's elements, and a tree in which an n-gram is a path.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/host/array.h"
#include "graph/host/selection.h"

namespace tilewright::graph {
namespace {

constexpr int32_t kNone = -1;

// Numbers of the different elements of a pool, from 0: a table where they are close together, and a map otherwise.
class Words {
 public:
  explicit Words(const std::vector<int64_t>& pool) {
    if (pool.empty()) return;
    const auto [least, most] = std::minmax_element(pool.begin(), pool.end());
    first_ = *least;
    const uint64_t range = static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least);
    if (range < kLargestTable) table_.assign(range + 1, kNone);
    for (const int64_t element : pool) {
      if (NumberOf(element) != kNone) continue;
      if (table_.empty()) {
        map_.emplace(element, count_++);
      } else {
        table_[Offset(element)] = count_++;
      }
    }
  }
  int32_t count() const { return count_; }
  int32_t NumberOf(int64_t element) const {
    if (!table_.empty()) return Offset(element) < table_.size() ? table_[Offset(element)] : kNone;
    const auto known = map_.find(element);
    return known == map_.end() ? kNone : known->second;
  }

 private:
  static constexpr uint64_t kLargestTable = 1 << 16;
  size_t Offset(int64_t element) const { return static_cast<uint64_t>(element) - static_cast<uint64_t>(first_); }

  int64_t first_ = 0;
  int32_t count_ = 0;
  std::vector<int32_t> table_;
  absl::flat_hash_map<int64_t, int32_t> map_;
};

// Nodes are numbered from the root, 0, on. Children are looked up in a table where it is small.
class Tree {
 public:
  // `pool` holds the n-grams of each length from counts[n - 1] on, of numbers below `words`; that number itself is all
  // others'.
  Tree(const std::vector<int32_t>& pool, const std::vector<int64_t>& counts, int32_t words) : words_(words + 1) {
    grams_ = {kNone};
    int32_t gram = 0;
    for (size_t n = 1; n <= counts.size(); ++n) {
      const int64_t end = n < counts.size() ? counts[n] : std::ssize(pool);
      for (int64_t at = counts[n - 1]; at + static_cast<int64_t>(n) <= end; at += static_cast<int64_t>(n), ++gram) {
        int32_t node = 0;
        for (size_t i = 0; i < n; ++i) node = AddChild(node, pool[static_cast<size_t>(at) + i]);
        if (grams_[static_cast<size_t>(node)] == kNone) grams_[static_cast<size_t>(node)] = gram;
      }
    }
    const uint64_t cells = grams_.size() * static_cast<uint64_t>(words_);
    if (cells > kLargestTable) return;
    table_.assign(cells, kNone);
    for (const auto& [edge, child] : edges_) table_[edge] = child;
  }
  int32_t Child(int32_t node, int32_t word) const {
    if (!table_.empty()) return table_[Edge(node, word)];
    const auto known = edges_.find(Edge(node, word));
    return known == edges_.end() ? kNone : known->second;
  }
  int32_t size() const { return static_cast<int32_t>(grams_.size()); }
  // The number in the pool of the n-gram that ends in a node.
  int32_t GramOf(int32_t node) const { return grams_[static_cast<size_t>(node)]; }

 private:
  static constexpr uint64_t kLargestTable = 1 << 16;
  uint64_t Edge(int32_t node, int32_t word) const {
    return static_cast<uint64_t>(node) * static_cast<uint64_t>(words_) + static_cast<uint64_t>(word);
  }
  int32_t AddChild(int32_t node, int32_t word) {
    const auto [place, added] = edges_.emplace(Edge(node, word), static_cast<int32_t>(grams_.size()));
    if (added) grams_.push_back(kNone);
    return place->second;
  }

  int32_t words_;
  std::vector<int32_t> grams_;  // by node
  absl::flat_hash_map<uint64_t, int32_t> edges_;
  std::vector<int32_t> table_;
};

std::vector<int32_t> NumbersOf(const Words& words, const std::vector<int64_t>& pool) {
  std::vector<int32_t> numbers;
  for (const int64_t element : pool) numbers.push_back(words.NumberOf(element));
  return numbers;
}

class Ngrams {
 public:
  explicit Ngrams(const Attrs& attrs)
      : words_(*attrs.at("pool").As<IntList>()),
        tree_(NumbersOf(words_, *attrs.at("pool").As<IntList>()), *attrs.at("counts").As<IntList>(), words_.count()),
        indexes_(*attrs.at("indexes").As<IntList>()),
        weights_(*attrs.at("weights").As<FloatList>()),
        least_(*attrs.at("least").As<int64_t>()),
        most_(*attrs.at("most").As<int64_t>()),
        skips_(*attrs.at("skips").As<int64_t>()) {
    const std::string& mode = *attrs.at("mode").As<std::string>();
    once_ = mode == "IDF";
    weighted_ = mode != "TF";
    for (int64_t index : indexes_) columns_ = std::max(columns_, index + 1);
    for (int32_t node = 0; node < tree_.size(); ++node) ends_.push_back(EndOf(tree_.GramOf(node)));
  }

  Arrays Count(const NDArray& x, const TwParallelHook* parallel) const {
    std::vector<int64_t> shape(x.shape().begin(), x.shape().end() - 1);
    shape.push_back(columns_);
    NDArray result(DataType::Float(32), shape);
    const int64_t length = x.shape().back(), rows = length == 0 ? 0 : x.size() / length;
    const int64_t steps = x.size() * (most_ - least_ + 1) * (skips_ + 1) * 8;
    ForParts(parallel, rows, steps, [&](int64_t begin, int64_t end) {
      std::vector<int32_t> row(static_cast<size_t>(length));
      for (int64_t r = begin; r < end; ++r) {
        Read(x, r * length, &row);
        CountRow(row, static_cast<float*>(result.data()) + r * columns_);
      }
    });
    return {result};
  }

 private:
  template <class T>
  void ReadAs(const T* x, std::vector<int32_t>* row) const {
    for (size_t i = 0; i < row->size(); ++i) {
      const int32_t number = words_.NumberOf(static_cast<int64_t>(x[i]));
      (*row)[i] = number == kNone ? words_.count() : number;
    }
  }
  void Read(const NDArray& x, int64_t first, std::vector<int32_t>* row) const {
    if (x.dtype() == DataType::Int(64)) return ReadAs(static_cast<const int64_t*>(x.data()) + first, row);
    if (x.dtype() == DataType::Int(32)) return ReadAs(static_cast<const int32_t*>(x.data()) + first, row);
    std::vector<int64_t> elements;
    for (int64_t i = first; i < first + std::ssize(*row); ++i) elements.push_back(x.GetInt(i));
    ReadAs(elements.data(), row);
  }

  void CountRow(const std::vector<int32_t>& row, float* found) const {
    const auto length = std::ssize(row);
    for (int64_t n = least_; n <= most_; ++n) {
      for (int64_t skip = 0; skip <= (n == 1 ? 0 : skips_); ++skip) {
        const int64_t step = skip + 1;
        const int32_t* word = row.data();
        for (int64_t left = length - step * (n - 1); left > 0; --left, ++word) {
          int32_t node = tree_.Child(0, *word);
          for (int64_t i = 1; i < n && node != kNone; ++i) node = tree_.Child(node, word[i * step]);
          if (node == kNone) continue;
          const End& end = ends_[static_cast<size_t>(node)];
          if (end.column != kNone) found[end.column] = once_ ? end.weight : found[end.column] + end.weight;
        }
      }
    }
  }

  // What an n-gram that ends in a node is counted as.
  struct End {
    int32_t column = kNone;
    float weight = 1;
  };
  End EndOf(int32_t gram) const {
    if (gram == kNone || gram >= std::ssize(indexes_)) return {};
    const auto at = static_cast<size_t>(gram);
    return {static_cast<int32_t>(indexes_[at]),
            weighted_ && at < weights_.size() ? static_cast<float>(weights_[at]) : 1.0f};
  }

  Words words_;
  Tree tree_;
  IntList indexes_;
  FloatList weights_;
  int64_t least_, most_, skips_, columns_ = 0;
  bool once_ = false, weighted_ = false;
  std::vector<End> ends_;  // by node
};

}  // namespace

HostFunction PrepareNgrams(const Attrs& attrs) {
  return [ngrams = std::make_shared<const Ngrams>(attrs)](const Attrs&, const Arrays& args,
                                                          const TwParallelHook* parallel) -> absl::StatusOr<Arrays> {
    return ngrams->Count(args[0], parallel);
  };
}

}  // namespace tilewright::graph

// A list that grows at its end and is copied all the time: what a schedule has recorded, in each of its forks.
//
//   ForkedList<int> list;
//   list.push_back(1);
//   ForkedList<int> fork = list;   // a reference count
//   fork.push_back(2);             // copies the last chunk and the addresses of the others; `list` holds 1 alone
//
// Elements lie in chunks that lists share until one of them changes a chunk. Lists that share chunks may be used by
// different threads, as long as each list is used by one.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace tilewright {

template <class T>
class ForkedList {
 public:
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    Iterator(const ForkedList* list, size_t place) : list_(list), place_(place) {}
    reference operator*() const { return (*list_)[place_]; }
    pointer operator->() const { return &(*list_)[place_]; }
    Iterator& operator++() {
      ++place_;
      return *this;
    }
    Iterator operator++(int) { return {list_, place_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const ForkedList* list_ = nullptr;
    size_t place_ = 0;
  };
  using value_type = T;
  using const_iterator = Iterator;

  ForkedList() = default;
  explicit ForkedList(std::vector<T> elements) {
    for (T& element : elements) push_back(std::move(element));
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t place) const { return (*(*chunks_)[place / kChunk])[place % kChunk]; }
  const T& back() const { return (*this)[size_ - 1]; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }
  std::vector<T> ToVector() const { return {begin(), end()}; }

  void push_back(T element) {
    if (size_ % kChunk == 0) {
      OwnChunks().push_back(std::make_shared<Chunk>());
      chunks_->back()->reserve(kChunk);
    }
    OwnChunk(size_ / kChunk).push_back(std::move(element));
    ++size_;
  }
  void Set(size_t place, T element) { OwnChunk(place / kChunk)[place % kChunk] = std::move(element); }

 private:
  // Elements that a fork copies at most when it grows.
  static constexpr size_t kChunk = 128;
  using Chunk = std::vector<T>;
  using Chunks = std::vector<std::shared_ptr<Chunk>>;

  Chunks& OwnChunks() {
    if (chunks_ == nullptr) chunks_ = std::make_shared<Chunks>();
    if (chunks_.use_count() != 1) chunks_ = std::make_shared<Chunks>(*chunks_);
    return *chunks_;
  }
  Chunk& OwnChunk(size_t number) {
    std::shared_ptr<Chunk>& chunk = OwnChunks()[number];
    if (chunk.use_count() != 1) {
      auto copy = std::make_shared<Chunk>();
      copy->reserve(kChunk);
      copy->assign(chunk->begin(), chunk->end());
      chunk = std::move(copy);
    }
    return *chunk;
  }

  std::shared_ptr<Chunks> chunks_;
  size_t size_ = 0;
};

}  // namespace tilewright

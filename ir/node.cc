#include "ir/node.h"

#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define TW_NODES_FROM_HEAP 1  // so that uses of dropped nodes are found
#endif
#endif

namespace tilewright {
namespace {

#ifndef TW_NODES_FROM_HEAP

// Memory of nodes that were dropped, by size. Each piece was allocated on its own, so it does not matter on which
// thread it ends; a thread keeps a bounded number of each size and gives the others, and at its end all, back.
class FreeLists {
 public:
  static constexpr size_t kGrain = 16, kLargest = 512, kMostKept = 4096;

  ~FreeLists() {
    for (List& list : lists_) {
      list.room = 0;  // nodes that end after this go to the heap
      while (list.first != nullptr) ::operator delete(std::exchange(list.first, list.first->next));
    }
  }
  void* Take(size_t bytes) {
    List& list = lists_[ListOf(bytes)];
    if (list.first == nullptr) return ::operator new((bytes + kGrain - 1) / kGrain * kGrain);
    ++list.room;
    return std::exchange(list.first, list.first->next);
  }
  void Keep(void* memory, size_t bytes) {
    List& list = lists_[ListOf(bytes)];
    if (list.room == 0) return ::operator delete(memory);
    --list.room;
    list.first = new (memory) Piece{list.first};
  }

 private:
  struct Piece {
    Piece* next;
  };
  struct List {
    Piece* first = nullptr;
    size_t room = kMostKept;
  };
  static size_t ListOf(size_t bytes) { return (bytes - 1) / kGrain; }

  List lists_[kLargest / kGrain];
};

constinit thread_local FreeLists free_lists;

#endif

}  // namespace

#ifdef TW_NODES_FROM_HEAP
void* Node::operator new(size_t bytes) { return ::operator new(bytes); }
void Node::operator delete(void* memory, size_t bytes) { ::operator delete(memory, bytes); }
#else
void* Node::operator new(size_t bytes) {
  return bytes <= FreeLists::kLargest ? free_lists.Take(bytes) : ::operator new(bytes);
}
void Node::operator delete(void* memory, size_t bytes) {
  bytes <= FreeLists::kLargest ? free_lists.Keep(memory, bytes) : ::operator delete(memory);
}
#endif

}  // namespace tilewright

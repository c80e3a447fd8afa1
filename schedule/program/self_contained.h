// Whether each iteration of a loop uses only what it wrote itself.
//
//   for i in range(64):
//       with T.block("X"): T[i] = A[i]
//       with T.block("Y"): B[i] = T[i] * 2       # T[i - 1] is refused: another iteration wrote it
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {

// Which blocks below a loop write and read a buffer, by their places in a list: a nest is asked about each of them.
class UsersBelow {
 public:
  explicit UsersBelow(const std::vector<BlockBelow>& blocks) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (const BufferRegion& write : blocks[i].realize->block->writes) Add(i, write.buffer, writers_);
      for (const BufferRegion& read : blocks[i].realize->block->reads) Add(i, read.buffer, readers_);
    }
  }

  // In order, each once.
  std::span<const size_t> Writers(const Buffer& buffer) const { return Of(buffer, writers_); }
  std::span<const size_t> Readers(const Buffer& buffer) const { return Of(buffer, readers_); }

 private:
  using Places = std::unordered_map<const BufferNode*, std::vector<size_t>>;

  static void Add(size_t place, const Buffer& buffer, Places& places) {
    std::vector<size_t>& of_buffer = places[buffer.get()];
    if (of_buffer.empty() || of_buffer.back() != place) of_buffer.push_back(place);
  }
  static std::span<const size_t> Of(const Buffer& buffer, const Places& places) {
    const auto found = places.find(buffer.get());
    return found == places.end() ? std::span<const size_t>() : found->second;
  }

  Places writers_, readers_;
};

// Why an iteration of `loop`, which `path` leads to, is not self-contained: a block below `innermost` (`loop` or a loop
// of the nest below it) may use elements that another block writes in another iteration, or two blocks may write the
// same elements in different ones. A block's own instances are not compared. Nothing when it is.
std::optional<Refusal> WhyNotSelfContained(const char* primitive, const Path& path, const ForNode& loop,
                                           const ForNode& innermost);

}  // namespace tilewright

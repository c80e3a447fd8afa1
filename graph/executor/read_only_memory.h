// Memory that is written once and then only read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace tilewright::graph {

class ReadOnlyMemory {
 public:
  ReadOnlyMemory() = default;
  // Zeros, page-aligned, writable until Seal.
  static absl::StatusOr<ReadOnlyMemory> Reserve(int64_t bytes);
  ~ReadOnlyMemory();
  ReadOnlyMemory(ReadOnlyMemory&& other) noexcept;
  ReadOnlyMemory& operator=(ReadOnlyMemory&& other) noexcept;

  // From here on the system ends a process that writes to it.
  void Seal();
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace tilewright::graph

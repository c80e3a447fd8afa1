#include "graph/executor/read_only_memory.h"

#include <sys/mman.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace tilewright::graph {

absl::StatusOr<ReadOnlyMemory> ReadOnlyMemory::Reserve(int64_t bytes) {
  ReadOnlyMemory memory;
  if (bytes == 0) return memory;
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes of constants"));
  }
  // Fewer faults while it is filled, and fewer misses of address translation while weights are read.
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  return memory;
}

ReadOnlyMemory::~ReadOnlyMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

ReadOnlyMemory::ReadOnlyMemory(ReadOnlyMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ReadOnlyMemory& ReadOnlyMemory::operator=(ReadOnlyMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void ReadOnlyMemory::Seal() {
  if (data_ != nullptr) mprotect(data_, static_cast<size_t>(bytes_), PROT_READ);
}

}  // namespace tilewright::graph

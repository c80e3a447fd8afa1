// Running code that may do what it may not: divide by zero, read or write outside of its arrays.
//
//   FaultReport report({args.operands()[0], ...});       from here on a fault ends the process with a sentence
//   auto memory = GuardedArray::Allocate("A", bytes, 64);
//   ... call compiled code with memory->data() ...
//
// A guarded array lies at the end of its pages; pages behind and in front of it cannot be touched, so that an access
// outside faults where it happens, and the report says which array it missed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tilewright {

class GuardedArray {
 public:
  // `bytes` of zeros at a multiple of `alignment` (a power of two). An error names the array and the bytes.
  static absl::StatusOr<GuardedArray> Allocate(const std::string& name, int64_t bytes, int64_t alignment);
  GuardedArray(GuardedArray&& other) noexcept
      : mapped_(std::exchange(other.mapped_, nullptr)), mapped_bytes_(other.mapped_bytes_), data_(other.data_) {}
  GuardedArray& operator=(GuardedArray&&) = delete;
  ~GuardedArray();

  std::byte* data() const { return data_; }

 private:
  GuardedArray(std::byte* mapped, size_t mapped_bytes, std::byte* data)
      : mapped_(mapped), mapped_bytes_(mapped_bytes), data_(data) {}

  std::byte* mapped_;
  size_t mapped_bytes_;
  std::byte* data_;
};

// While one exists, SIGFPE, SIGSEGV, SIGBUS, SIGILL and SIGABRT end the process with exit status 1 and a sentence on
// standard error that begins with `prefix`. One at a time: handlers of signals belong to the process.
class FaultReport {
 public:
  // `where` says what runs, "kernel.cu:17"; it is called by the handler, once, and may be null.
  explicit FaultReport(const std::string& prefix, std::string (*where)() = nullptr);
  ~FaultReport();
  FaultReport(const FaultReport&) = delete;
  FaultReport& operator=(const FaultReport&) = delete;
};

}  // namespace tilewright

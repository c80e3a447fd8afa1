// The arrays that a kernel may touch. Everything else is out of bounds.
//
//   GlobalMemory memory;
//   memory.Add("A", a.data(), a.size() * 2, GlobalMemory::kInput);
//   memory.Add("C", c.data(), c.size() * 4, GlobalMemory::kOutput);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/shadow.h"

namespace tilewright::emulator {

class GlobalMemory {
 public:
  enum Use : uint8_t {
    kInput,   // only read
    kOutput,  // holds nothing before the kernel writes it; filled with NaNs when a kernel starts
    kInOut,
  };
  struct Array {
    std::string name;
    std::byte* begin = nullptr;
    size_t bytes = 0;
    Use use = kInput;
    std::unique_ptr<Shadow> shadow;  // of the launch under way; none of an input
  };

  // Arrays must not overlap, and outlive the launches.
  void Add(std::string name, void* first, size_t bytes, Use use);
  void Add(std::string name, const void* first, size_t bytes) {
    Add(std::move(name), const_cast<void*>(first), bytes, kInput);
  }

  // A launch begins: histories are empty, outputs hold nothing.
  void BeginLaunch();

  const std::vector<std::unique_ptr<Array>>& arrays() const { return arrays_; }
  // The array that holds the address (or ends there), null if there is none.
  Array* Find(const void* address);
  // The array that holds the address or is nearest to it, at most `distance` bytes away; null if there is none.
  Array* Nearest(const void* address, size_t distance);

 private:
  std::vector<std::unique_ptr<Array>> arrays_;
};

}  // namespace tilewright::emulator

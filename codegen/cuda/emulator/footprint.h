// Which bytes of memory grids touch, and the grids of a stream that may still run when the next one begins.
//
// A grid that is launched as a dependent one may begin before the grid in front of it has ended
// (griddepcontrol). Its part before griddepcontrol.wait is concurrent with all of that grid: what it reads must not be
// what that one writes, and what it writes must not be what that one touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

namespace tilewright::emulator {

class Footprint {
 public:
  void Add(const void* first, size_t bytes, bool write);
  void Add(const Footprint& other);
  // Calls `run` with each run of bytes within [first, first + bytes) that was written (`write`) or read.
  using Run = std::function<void(const std::byte* first, size_t bytes)>;
  void ForEach(const void* first, size_t bytes, bool write, const Run& run) const;

 private:
  static constexpr size_t kPageBytes = 4096;
  // A bit a byte.
  struct Bits {
    uint64_t words[kPageBytes / 64] = {};
    bool Has(size_t byte) const { return (words[byte / 64] >> byte % 64 & 1) != 0; }
  };
  struct Page {
    Bits read, written;
  };
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
};

// A stream: what may be under way when its next grid begins.
struct GridChain {
  std::string last;  // the grid in front, empty where all work has ended
  Footprint touched;
};

}  // namespace tilewright::emulator

// Counts the cycles that a warp loses where its lanes access different words of one bank of shared memory.
//
// Lanes run one after another here, so the accesses that hardware would do at once are found afterwards: the n-th time
// that each lane has come to one place of the kernel's text since the warp last met.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilewright::emulator {

// Extra cycles of accesses of `bytes` (a power of two to 16) at the addresses. Hardware takes 128 bytes at a time.
int ConflictsOf(const std::vector<uint32_t>& addresses, uint32_t bytes);

class BankConflicts {
 public:
  void Add(const void* site, int lane, uint32_t address, uint32_t bytes) {
    log_.push_back({site, address, static_cast<uint8_t>(lane), static_cast<uint8_t>(bytes)});
  }
  bool full() const { return log_.size() >= 8192; }
  // The lanes have met: returns the extra cycles of what was added since they last did.
  uint64_t Flush();

 private:
  struct Entry {
    const void* site;
    uint32_t address;
    uint8_t lane, bytes;
  };
  struct Site {
    uint32_t times[32] = {};
    std::vector<std::vector<uint32_t>> accesses;  // by occurrence
    uint32_t used = 0, bytes = 0;
  };
  std::vector<Entry> log_;
  std::unordered_map<const void*, Site> sites_;
};

}  // namespace tilewright::emulator

#include "codegen/cuda/emulator/bank_conflicts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::emulator {

int ConflictsOf(const std::vector<uint32_t>& addresses, uint32_t bytes) {
  constexpr uint32_t kBanks = 32, kMostWords = 32 * 4;
  const size_t at_once = bytes <= 4 ? 32 : 128 / bytes;
  int extra = 0;
  for (size_t begin = 0; begin < addresses.size(); begin += at_once) {
    uint32_t words[kMostWords], count = 0;
    for (size_t i = begin; i < std::min(addresses.size(), begin + at_once); ++i) {
      for (uint32_t at = addresses[i] / 4; at <= (addresses[i] + bytes - 1) / 4; ++at) {
        if (count < kMostWords) words[count++] = at;
      }
    }
    std::sort(words, words + count);
    count = static_cast<uint32_t>(std::unique(words, words + count) - words);
    int of_bank[kBanks] = {}, most = 1;
    for (uint32_t i = 0; i < count; ++i) most = std::max(most, ++of_bank[words[i] % kBanks]);
    extra += most - 1;
  }
  return extra;
}

uint64_t BankConflicts::Flush() {
  for (const Entry& entry : log_) {
    Site& site = sites_[entry.site];
    const uint32_t time = site.times[entry.lane]++;
    if (time >= site.accesses.size()) site.accesses.resize(time + 1);
    if (time >= site.used) site.used = time + 1;
    site.accesses[time].push_back(entry.address);
    site.bytes = entry.bytes;
  }
  uint64_t extra = 0;
  for (auto& [place, site] : sites_) {
    for (uint32_t i = 0; i < site.used; ++i) {
      extra += static_cast<uint64_t>(ConflictsOf(site.accesses[i], site.bytes));
      site.accesses[i].clear();
    }
    site.used = 0;
    std::fill(site.times, site.times + 32, 0u);
  }
  log_.clear();
  return extra;
}

}  // namespace tilewright::emulator

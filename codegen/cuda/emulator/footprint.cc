#include "codegen/cuda/emulator/footprint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilewright::emulator {

void Footprint::Add(const void* first, size_t bytes, bool write) {
  for (auto at = reinterpret_cast<uintptr_t>(first); bytes > 0;) {
    std::unique_ptr<Page>& page = pages_[at / kPageBytes];
    if (page == nullptr) page = std::make_unique<Page>();
    const size_t in_page = at % kPageBytes, bit = in_page % 64;
    const size_t count = std::min(bytes, 64 - bit);
    Bits& bits = write ? page->written : page->read;
    bits.words[in_page / 64] |= ~uint64_t{0} >> (64 - count) << bit;
    at += count;
    bytes -= count;
  }
}

void Footprint::Add(const Footprint& other) {
  for (const auto& [number, page] : other.pages_) {
    std::unique_ptr<Page>& own = pages_[number];
    if (own == nullptr) own = std::make_unique<Page>();
    for (size_t i = 0; i < kPageBytes / 64; ++i) {
      own->read.words[i] |= page->read.words[i];
      own->written.words[i] |= page->written.words[i];
    }
  }
}

void Footprint::ForEach(const void* first, size_t bytes, bool write, const Run& run) const {
  const auto begin = reinterpret_cast<uintptr_t>(first), end = begin + bytes;
  for (uintptr_t at = begin; at < end;) {
    const uintptr_t stop = std::min(end, (at / kPageBytes + 1) * kPageBytes);
    const auto page = pages_.find(at / kPageBytes);
    if (page == pages_.end()) {
      at = stop;
      continue;
    }
    const Bits& bits = write ? page->second->written : page->second->read;
    while (at < stop) {
      const uintptr_t start = at;
      const bool has = bits.Has(at % kPageBytes);
      while (at < stop && bits.Has(at % kPageBytes) == has) ++at;
      if (has) run(reinterpret_cast<const std::byte*>(start), at - start);
    }
  }
}

}  // namespace tilewright::emulator

// Hashes that are the same in every process (absl's are seeded), for structural hashes that name things in caches.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright::graph {

inline uint64_t MixHash(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

inline uint64_t HashBytes(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return MixHash(hash, bytes.size());
}

}  // namespace tilewright::graph

#include "autoschedule/database/caches.h"

#include <algorithm>
#include <iterator>

namespace tilewright {

std::optional<Caches> CachesOfValue(int64_t value) {
  if (value < 0 || value >= std::ssize(kCachesNames)) return std::nullopt;
  return static_cast<Caches>(value);
}

std::optional<Caches> ParseCaches(std::string_view name) {
  return CachesOfValue(std::ranges::find(kCachesNames, name) - std::begin(kCachesNames));
}

}  // namespace tilewright

// Which caches hold what a timed call reads and writes when the call begins. Times of different kinds are not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

// Values are kept in databases.
enum class Caches : uint8_t {
  // Inputs and outputs rotate through copies that together are larger than the second-level caches; constant operands
  // stay where they are. A program between others.
  kRotating = 0,
  // In no cache: everything is taken out before each call.
  kCold = 1,
  // In the level in which the previous call left it. A program that is called in a loop on the same arrays.
  kWarm = 2,
};

inline constexpr std::string_view kCachesNames[] = {"rotating", "cold", "warm"};  // by value

inline std::string CachesName(Caches caches) { return std::string(kCachesNames[static_cast<size_t>(caches)]); }
// Nothing for a number, or a name, that no kind has.
std::optional<Caches> CachesOfValue(int64_t value);
std::optional<Caches> ParseCaches(std::string_view name);

}  // namespace tilewright

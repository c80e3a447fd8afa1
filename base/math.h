// Divisions of whole numbers that round up.
#pragma once

#include <type_traits>

namespace tilewright {

// The number of parts of `size` that cover n: CeilDiv(10, 4) = 3. n is not negative, `size` is positive. The result
// has the type of n.
template <class T>
constexpr T CeilDiv(T n, std::type_identity_t<T> size) {
  return (n + size - 1) / size;
}

// The least multiple of `size` that is at least n: RoundUp(10, 4) = 12.
template <class T>
constexpr T RoundUp(T n, std::type_identity_t<T> size) {
  return CeilDiv(n, size) * size;
}

}  // namespace tilewright

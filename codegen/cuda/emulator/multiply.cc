#include "codegen/cuda/emulator/multiply.h"

#include <cstring>

#include "codegen/cuda/emulator/dispatch.h"

namespace tilewright::emulator {
namespace {

// Eight floats that the compiler keeps in as many registers as the processor needs.
using Vector = float __attribute__((vector_size(32)));

TW_EMULATOR_INLINE void MultiplyTiles(const float* a, const float* b, float* c, int m, int n, int k) {
  for (int i = 0; i < m; i += 4) {
    for (int j = 0; j < n; j += 8) {
      Vector sums[4], row;
      for (int r = 0; r < 4; ++r) std::memcpy(&sums[r], c + (i + r) * n + j, sizeof row);
      for (int l = 0; l < k; ++l) {
        std::memcpy(&row, b + l * n + j, sizeof row);
        for (int r = 0; r < 4; ++r) sums[r] += a[(i + r) * k + l] * row;
      }
      for (int r = 0; r < 4; ++r) std::memcpy(c + (i + r) * n + j, &sums[r], sizeof row);
    }
  }
}
TW_EMULATOR_DISPATCH(MultiplyDispatched, MultiplyTiles, (const float* a, const float* b, float* c, int m, int n, int k),
                     (a, b, c, m, n, k))

}  // namespace

void Multiply(const float* a, const float* b, float* c, int m, int n, int k) { MultiplyDispatched(a, b, c, m, n, k); }

}  // namespace tilewright::emulator

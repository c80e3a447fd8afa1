#include "codegen/cuda/emulator/multiply.h"

#include "codegen/cuda/emulator/dispatch.h"

namespace tilewright::emulator {
namespace {

// Eight floats that the compiler keeps in as many registers as the processor needs.
using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));

TW_EMULATOR_INLINE void MultiplyTiles(const float* a, const float* b, float* c, int m, int n, int k) {
  for (int i = 0; i < m; i += 4) {
    for (int j = 0; j < n; j += 8) {
      Vector sums[4];
      for (int r = 0; r < 4; ++r) sums[r] = *reinterpret_cast<const Vector*>(c + (i + r) * n + j);
      for (int l = 0; l < k; ++l) {
        const Vector row = *reinterpret_cast<const Vector*>(b + l * n + j);
        for (int r = 0; r < 4; ++r) sums[r] += a[(i + r) * k + l] * row;
      }
      for (int r = 0; r < 4; ++r) *reinterpret_cast<Vector*>(c + (i + r) * n + j) = sums[r];
    }
  }
}
TW_EMULATOR_DISPATCH(MultiplyDispatched, MultiplyTiles, (const float* a, const float* b, float* c, int m, int n, int k),
                     (a, b, c, m, n, k))

}  // namespace

void Multiply(const float* a, const float* b, float* c, int m, int n, int k) { MultiplyDispatched(a, b, c, m, n, k); }

}  // namespace tilewright::emulator

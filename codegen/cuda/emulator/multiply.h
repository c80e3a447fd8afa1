// The products that matrix instructions are made of. Internal to the emulator.
#pragma once

namespace tilewright::emulator {

// c[m][n] += a[m][k] * b[k][n], rows contiguous. `m` is a multiple of 4 and `n` of 8.
void Multiply(const float* a, const float* b, float* c, int m, int n, int k);

}  // namespace tilewright::emulator

// The same as bilinear.py, in plain loops: y[b, o] = sum over i, j of x[b, i] W[o, i, j] z[b, j].
const long bilinear_iterations = 64;

void bilinear(long begin, long end, const float *restrict x, const float *restrict w, const float *restrict z,
              float *restrict y) {
  for (long b = begin; b < end; ++b)
    for (long o = 0; o < 96; ++o) {
      float sum = 0;
      for (long i = 0; i < 64; ++i)
        for (long j = 0; j < 64; ++j) sum += x[b * 64 + i] * w[(o * 64 + i) * 64 + j] * z[b * 64 + j];
      y[b * 96 + o] = sum;
    }
}

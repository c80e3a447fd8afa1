// The same as plane_sums.py, in plain loops.
const long plane_sums_iterations = 64;

void plane_sums(long begin, long end, const float *restrict x, float *restrict y) {
  for (long c = begin; c < end; ++c)
    for (long h = 0; h < 28; ++h) {
      float sum = 0;
      for (long n = 0; n < 8; ++n)
        for (long w = 0; w < 28; ++w) sum += x[((n * 64 + c) * 28 + h) * 28 + w];
      y[c * 28 + h] = sum;
    }
}

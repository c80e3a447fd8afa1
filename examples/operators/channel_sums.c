// The same as channel_sums.py, in plain loops: those over channels are the inner ones, as they lie in memory.
const long channel_sums_iterations = 8;

void channel_sums(long begin, long end, const float *restrict x, float *restrict y) {
  for (long n = begin; n < end; ++n) {
    for (long c = 0; c < 64; ++c) y[n * 64 + c] = 0;
    for (long p = 0; p < 28 * 28; ++p)
      for (long c = 0; c < 64; ++c) y[n * 64 + c] += x[(n * 28 * 28 + p) * 64 + c];
  }
}

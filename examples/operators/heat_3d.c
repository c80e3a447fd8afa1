// The same as heat_3d.py, in plain loops.
const long heat_3d_iterations = 24;

void heat_3d(long begin, long end, const float *restrict a, float *restrict b) {
  for (long i = begin + 1; i < end + 1; ++i)
    for (long j = 1; j < 33; ++j)
      for (long k = 1; k < 129; ++k) {
        const long at = (i * 34 + j) * 130 + k;
        b[at] = 0.4f * a[at] + 0.1f * (a[at - 34 * 130] + a[at + 34 * 130] + a[at - 130] + a[at + 130] + a[at - 1] + a[at + 1]);
      }
}

// The same as jacobi_2d_9.py, in plain loops.
const long jacobi_2d_9_iterations = 256;

void jacobi_2d_9(long begin, long end, const float *restrict a, float *restrict b) {
  for (long i = begin + 1; i < end + 1; ++i)
    for (long j = 1; j < 513; ++j) {
      const float *p = a + i * 514 + j;
      b[i * 514 + j] = 0.2f * p[0] + 0.15f * (p[-514] + p[514] + p[-1] + p[1]) +
                       0.05f * (p[-515] + p[-513] + p[513] + p[515]);
    }
}

// The same as jacobi_2d.py, in plain loops.
const long jacobi_2d_iterations = 256;

void jacobi_2d(long begin, long end, const float *restrict a, float *restrict b) {
  for (long i = begin + 1; i < end + 1; ++i)
    for (long j = 1; j < 513; ++j)
      b[i * 514 + j] =
          0.2f * (a[i * 514 + j] + a[(i - 1) * 514 + j] + a[(i + 1) * 514 + j] + a[i * 514 + j - 1] + a[i * 514 + j + 1]);
}

// The same as outer_product_update.py, in plain loops.
const long outer_product_update_iterations = 512;

void outer_product_update(long begin, long end, const float *restrict x, const float *restrict y, float *restrict a) {
  for (long i = begin; i < end; ++i)
    for (long j = 0; j < 768; ++j) {
      float sum = 0;
      for (long k = 0; k < 64; ++k) sum += x[k * 512 + i] * y[k * 768 + j];
      a[i * 768 + j] += sum;
    }
}

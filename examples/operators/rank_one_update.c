// The same as rank_one_update.py, in plain loops.
const long rank_one_update_iterations = 384;

void rank_one_update(long begin, long end, const float *restrict x, const float *restrict y, float *restrict a) {
  for (long i = begin; i < end; ++i)
    for (long j = 0; j < 1024; ++j) a[i * 1024 + j] += x[i] * y[j];
}

// The same as attention_score.py, in plain loops.
const long attention_score_iterations = 2 * 12;

void attention_score(long begin, long end, const float *restrict q, const float *restrict k, const float *restrict m,
                     float *restrict s) {
  for (long bh = begin; bh < end; ++bh) {
    const long b = bh / 12, h = bh % 12;
    for (long i = 0; i < 128; ++i)
      for (long j = 0; j < 128; ++j) {
        float dot = 0;
        for (long d = 0; d < 64; ++d) dot += q[((b * 128 + i) * 12 + h) * 64 + d] * k[((b * 128 + j) * 12 + h) * 64 + d];
        s[(bh * 128 + i) * 128 + j] = dot * 0.125f + m[(b * 128 + i) * 128 + j];
      }
  }
}

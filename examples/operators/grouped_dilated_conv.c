// The same as grouped_dilated_conv.py, in plain loops; what the padding would multiply is left out.
#include <math.h>

const long grouped_dilated_conv_iterations = 28;

void grouped_dilated_conv(long begin, long end, const float *restrict x, const float *restrict w, float *restrict y) {
  for (long h = begin; h < end; ++h)
    for (long v = 0; v < 28; ++v)
      for (long o = 0; o < 128; ++o) {
        float sum = 0;
        for (long kh = 0; kh < 3; ++kh)
          for (long kw = 0; kw < 3; ++kw) {
            const long i = h + 2 * kh - 2, j = v + 2 * kw - 2;
            if (i < 0 || i >= 28 || j < 0 || j >= 28) continue;
            for (long c = 0; c < 32; ++c)
              sum += x[(i * 28 + j) * 128 + o / 32 * 32 + c] * w[((kh * 3 + kw) * 32 + c) * 128 + o];
          }
        y[(h * 28 + v) * 128 + o] = sum * 0.5f * (1 + sum / (1 + fabsf(sum)));
      }
}

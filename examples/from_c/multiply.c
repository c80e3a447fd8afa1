// Calls a compiled program from C: a product of small integers, exact in float32, compared with plain loops.
#include <stdio.h>

#include "examples/from_c/matmul.h"

enum { kM = 64, kN = 80, kK = 48 };

static _Alignas(64) float a[kM][kK], b[kK][kN], c[kM][kN];

static TwTensor Matrix(void* data, int64_t* shape) {
  return (TwTensor){
      .data = data, .device = {kTwCpu, 0}, .ndim = 2, .dtype = {.code = kTwFloat, .bits = 32, .lanes = 1}, .shape = shape};
}

int main(void) {
  for (int i = 0; i < kM; ++i) {
    for (int k = 0; k < kK; ++k) a[i][k] = (float)((i * 7 + k * 3) % 11 - 5);
  }
  for (int k = 0; k < kK; ++k) {
    for (int j = 0; j < kN; ++j) b[k][j] = (float)((k * 5 + j) % 13 - 6);
  }
  int64_t a_shape[] = {kM, kK}, b_shape[] = {kK, kN}, c_shape[] = {kM, kN};
  TwTensor tensors[] = {Matrix(a, a_shape), Matrix(b, b_shape), Matrix(c, c_shape)};
  TwTensor* args[] = {&tensors[0], &tensors[1], &tensors[2]};
  char message[256] = "";
  const TwCall call = {.message = message, .message_bytes = sizeof message};

  if (tw_main(&call, args, 2) != kTwErrorArgumentCount) {
    fprintf(stderr, "a missing argument was not noticed\n");
    return 1;
  }
  printf("%s\n", message);
  if (tw_main(&call, args, 3) != kTwOk) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += a[i][k] * b[k][j];
      if (c[i][j] != sum) {
        fprintf(stderr, "C[%d, %d] is %g, expected %g\n", i, j, (double)c[i][j], (double)sum);
        return 1;
      }
    }
  }
  printf("all %d elements are right\n", kM * kN);
  return 0;
}

/* Calls a library that the installed program wrote, with the one C header of the installation. */
#include <stdio.h>

#include "tilewright_abi.h"

int tw_main(const TwCall* call, TwTensor* const* args, int32_t num_args);

static _Alignas(64) float a[64 * 48], b[48 * 80], c[64 * 80];

int main(void) {
  int64_t of_a[] = {64, 48}, of_b[] = {48, 80}, of_c[] = {64, 80};
  const TwDevice cpu = {kTwCpu, 0};
  const TwDataType f32 = {kTwFloat, 32, 1};
  TwTensor ta = {a, cpu, 2, f32, of_a, 0, 0}, tb = {b, cpu, 2, f32, of_b, 0, 0}, tc = {c, cpu, 2, f32, of_c, 0, 0};
  TwTensor* args[] = {&ta, &tb, &tc};
  char message[256] = "";
  TwCall call = {.message = message, .message_bytes = sizeof message};
  for (int i = 0; i < 64 * 48; ++i) a[i] = 1;
  for (int i = 0; i < 48 * 80; ++i) b[i] = 2;
  if (tw_main(&call, args, 3) != kTwOk) return fprintf(stderr, "%s\n", message), 1;
  printf("c[0] = %g\n", c[0]);
  return c[0] == 96 ? 0 : 1;
}

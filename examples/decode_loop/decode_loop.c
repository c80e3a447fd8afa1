// Continues a sequence with a language model that was compiled once, for every length.
//
//   decode_loop PROMPT STEPS      prints the PROMPT tokens it begins with and the STEPS that follow, each the likeliest
//
// The caches have room for all keys from the start, and are argument and result of a call at once: a call writes the keys
// of its tokens behind those that are there, and copies nothing. Nothing is allocated after the first call.
#include <stdio.h>
#include <stdlib.h>

#include "examples/decode_loop/decoder.h"

enum { kWords = 256, kLayers = 2, kHeads = 2, kHeadSize = 16, kCaches = 2 * kLayers, kMost = 1000 };

static void* Zeros(int64_t bytes) {
  char* memory = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
  for (int64_t i = 0; memory != NULL && i < bytes; ++i) memory[i] = 0;
  return memory;
}

static TwTensor Tensor(void* data, TwDataType type, int32_t rank, int64_t* shape) {
  return (TwTensor){.data = data, .device = {kTwCpu, 0}, .ndim = rank, .dtype = type, .shape = shape};
}

static int64_t Likeliest(const float* logits) {
  int64_t best = 0;
  for (int64_t word = 1; word < kWords; ++word) {
    if (logits[word] > logits[best]) best = word;
  }
  return best;
}

int main(int argc, char** argv) {
  const int64_t prompt = argc == 3 ? atoll(argv[1]) : 0, steps = argc == 3 ? atoll(argv[2]) : 0;
  if (prompt < 1 || steps < 1 || prompt + steps > kMost) {
    fprintf(stderr, "decode_loop PROMPT STEPS\n");
    return 2;
  }
  const TwDataType word = {.code = kTwInt, .bits = 64, .lanes = 1}, real = {.code = kTwFloat, .bits = 32, .lanes = 1};
  const int64_t room = prompt + steps;
  int64_t ids_shape[] = {1, prompt}, mask_shape[] = {1, prompt}, logits_shape[] = {1, prompt, kWords};
  int64_t cache_shape[] = {1, kHeads, room, kHeadSize};
  int64_t* tokens = Zeros(room * 8);
  int64_t* ids = Zeros(prompt * 8);
  int64_t* mask = Zeros(room * 8);
  float* logits = Zeros(prompt * kWords * 4);
  TwTensor tensors[3 + kCaches];
  TwTensor* args[3 + 2 * kCaches];
  tensors[0] = Tensor(ids, word, 2, ids_shape);
  tensors[1] = Tensor(mask, word, 2, mask_shape);
  tensors[2] = Tensor(logits, real, 3, logits_shape);
  args[0] = &tensors[0];
  args[1] = &tensors[1];
  args[2 + kCaches] = &tensors[2];
  for (int c = 0; c < kCaches; ++c) {
    tensors[3 + c] = Tensor(Zeros(kHeads * room * kHeadSize * 4), real, 4, cache_shape);
    args[2 + c] = args[3 + kCaches + c] = &tensors[3 + c];
  }
  // Room for the values of the longest call.
  char message[256] = "";
  TwCall call = {.message = message, .message_bytes = sizeof message};
  call.workspace_bytes = decoder_workspace_bytes(1, prompt, room, room);
  call.workspace = Zeros(call.workspace_bytes);

  for (int64_t i = 0; i < room; ++i) mask[i] = 1;
  for (int64_t i = 0; i < prompt; ++i) tokens[i] = ids[i] = (37 * i + 11) % kWords;
  for (int64_t total = prompt; total < room; ++total) {
    mask_shape[1] = total;
    if (decoder(&call, args, 3 + 2 * kCaches) != kTwOk) {
      fprintf(stderr, "%s\n", message);
      return 1;
    }
    ids[0] = tokens[total] = Likeliest(logits + (logits_shape[1] - 1) * kWords);
    ids_shape[1] = logits_shape[1] = 1;
  }
  for (int64_t i = 0; i < room; ++i) printf(i + 1 < room ? "%lld " : "%lld\n", (long long)tokens[i]);
  return 0;
}

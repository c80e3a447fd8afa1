// Calls an ONNX model that was compiled once, for every batch and every length of the sequences.
//
//   encode --write-inputs FOLDER BATCH LENGTH     makes inputs
//   encode FOLDER BATCH LENGTH                    runs the model on them, compares with what another program computed
//
// The function finds batch and length in the shapes of its tensors; encoder_workspace_bytes takes them as arguments.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/model_from_c/encoder.h"

enum { kWords = 100, kWidth = 32, kHeader = 128 };

// Files of NumPy with a header of 128 bytes, as this program and tilewright write them.
static FILE* Open(const char* folder, const char* name, const char* mode) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.npy", folder, name);
  FILE* file = fopen(path, mode);
  if (file == NULL) fprintf(stderr, "%s cannot be opened\n", path);
  return file;
}

static int WriteInput(const char* folder, const char* name, const int64_t* elements, int64_t batch, int64_t length) {
  FILE* file = Open(folder, name, "wb");
  if (file == NULL) return 0;
  char text[kHeader - 10 + 1];
  const int used = snprintf(text, sizeof text, "{'descr': '<i8', 'fortran_order': False, 'shape': (%lld, %lld), }",
                            (long long)batch, (long long)length);
  memset(text + used, ' ', sizeof text - (size_t)used);
  text[kHeader - 11] = '\n';
  const unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, kHeader - 10, 0};
  int good = fwrite(start, 1, 10, file) == 10 && fwrite(text, 1, kHeader - 10, file) == kHeader - 10 &&
             fwrite(elements, sizeof *elements, (size_t)(batch * length), file) == (size_t)(batch * length);
  return fclose(file) == 0 && good;
}

static int Differs(const char* folder, const char* name, const float* elements, int64_t count) {
  FILE* file = Open(folder, name, "rb");
  float* expected = malloc((size_t)count * sizeof *expected);
  unsigned char start[10];
  int good = file != NULL && expected != NULL && fread(start, 1, 10, file) == 10 &&
             fseek(file, 10 + start[8] + 256 * start[9], SEEK_SET) == 0 &&
             fread(expected, sizeof *expected, (size_t)count, file) == (size_t)count;
  if (file != NULL) fclose(file);
  for (int64_t i = 0; good && i < count; ++i) good = fabsf(elements[i] - expected[i]) < 1e-4f;
  free(expected);
  if (!good) fprintf(stderr, "%s is not what was expected\n", name);
  return !good;
}

static void* Aligned(int64_t bytes) { return aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64); }

static TwTensor Tensor(void* data, TwDataType type, int32_t rank, int64_t* shape) {
  return (TwTensor){.data = data, .device = {kTwCpu, 0}, .ndim = rank, .dtype = type, .shape = shape};
}

static int Run(const char* folder, int64_t* const inputs[3], int64_t batch, int64_t length) {
  const TwDataType word = {.code = kTwInt, .bits = 64, .lanes = 1}, real = {.code = kTwFloat, .bits = 32, .lanes = 1};
  float *hidden = Aligned(batch * length * kWidth * 4), *pooled = Aligned(batch * kWidth * 4);
  int64_t words[] = {batch, length}, hidden_shape[] = {batch, length, kWidth}, pooled_shape[] = {batch, kWidth};
  TwTensor tensors[] = {Tensor(inputs[0], word, 2, words), Tensor(inputs[1], word, 2, words),
                        Tensor(inputs[2], word, 2, words), Tensor(hidden, real, 3, hidden_shape),
                        Tensor(pooled, real, 2, pooled_shape)};
  TwTensor* args[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3], &tensors[4]};
  char message[256] = "";
  TwCall call = {.message = message, .message_bytes = sizeof message};
  call.workspace_bytes = encoder_workspace_bytes(batch, length);
  if (call.workspace_bytes < 0) {
    fprintf(stderr, "the model takes no batch of %lld and length of %lld\n", (long long)batch, (long long)length);
    return 1;
  }
  call.workspace = Aligned(call.workspace_bytes);
  if (encoder(&call, args, 5) != kTwOk) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  printf("%lldx%lld in %lld bytes\n", (long long)batch, (long long)length, (long long)call.workspace_bytes);
  const int differs = Differs(folder, "last_hidden_state", hidden, batch * length * kWidth) |
                      Differs(folder, "pooler_output", pooled, batch * kWidth);
  free(call.workspace);
  free(hidden);
  free(pooled);
  return differs;
}

int main(int argc, char** argv) {
  const int writes = argc == 5 && strcmp(argv[1], "--write-inputs") == 0;
  if (argc != 4 && !writes) {
    fprintf(stderr, "encode [--write-inputs] FOLDER BATCH LENGTH\n");
    return 2;
  }
  const char* folder = argv[argc - 3];
  const int64_t batch = atoll(argv[argc - 2]), length = atoll(argv[argc - 1]);
  if (batch < 1 || length < 1 || batch > 64 || length > 1024) return 2;
  // Words, which of them count, and to which sentence they belong.
  int64_t* inputs[3];
  for (int n = 0; n < 3; ++n) inputs[n] = Aligned(batch * length * 8);
  for (int64_t i = 0; i < batch * length; ++i) {
    inputs[0][i] = (i * 37 + 11) % kWords;
    inputs[1][i] = i % length <= length / 2 + i / length;
    inputs[2][i] = i % length > length / 4;
  }
  int failed = 0;
  if (writes) {
    failed = !WriteInput(folder, "input_ids", inputs[0], batch, length) ||
             !WriteInput(folder, "attention_mask", inputs[1], batch, length) ||
             !WriteInput(folder, "token_type_ids", inputs[2], batch, length);
  } else {
    failed = Run(folder, inputs, batch, length);
  }
  for (int n = 0; n < 3; ++n) free(inputs[n]);
  return failed;
}

// Calls a compiled ONNX model from C.
//
//   classify --write-input INPUT.npy        makes an input
//   classify INPUT.npy OUTPUT.npy           runs the model on it, compares with what another program computed
//
// The model is a function like any other (docs/abi.md): it takes one tensor for each input and output, a workspace of
// NAME_workspace_bytes(), which the caller keeps, and a hook to the caller's threads, here none.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/model_from_c/classifier.h"

enum { kInputs = 1 * 3 * 32 * 32, kClasses = 10 };

static _Alignas(64) float image[kInputs], scores[kClasses], expected[kClasses];

static TwTensor Tensor(void* data, int32_t rank, int64_t* shape) {
  return (TwTensor){.data = data,
                    .device = {kTwCpu, 0},
                    .ndim = rank,
                    .dtype = {.code = kTwFloat, .bits = 32, .lanes = 1},
                    .shape = shape};
}

// Files of NumPy: 10 bytes, the last two of which are the length of the text that follows, then the elements.
static int ReadNpy(const char* path, float* elements, size_t count) {
  FILE* file = fopen(path, "rb");
  unsigned char start[10];
  int good = file != NULL && fread(start, 1, 10, file) == 10 &&
             fseek(file, 10 + start[8] + 256 * start[9], SEEK_SET) == 0 &&
             fread(elements, sizeof(float), count, file) == count;
  if (file != NULL) fclose(file);
  if (!good) fprintf(stderr, "%s cannot be read\n", path);
  return good;
}

static int WriteInput(const char* path) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) return 0;
  char text[118];
  memset(text, ' ', sizeof text);
  const char* header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }";
  memcpy(text, header, strlen(header));
  text[sizeof text - 1] = '\n';
  const unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, sizeof text, 0};
  for (int i = 0; i < kInputs; ++i) image[i] = (float)((i * 7 + i / 32 * 3) % 23 - 11) / 11;
  int good = fwrite(start, 1, 10, file) == 10 && fwrite(text, 1, sizeof text, file) == sizeof text &&
             fwrite(image, sizeof(float), kInputs, file) == kInputs;
  return fclose(file) == 0 && good;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--write-input") == 0) return WriteInput(argv[2]) ? 0 : 1;
  if (argc != 3) {
    fprintf(stderr, "classify INPUT.npy OUTPUT.npy\n");
    return 2;
  }
  if (!ReadNpy(argv[1], image, kInputs) || !ReadNpy(argv[2], expected, kClasses)) return 1;

  int64_t image_shape[] = {1, 3, 32, 32}, scores_shape[] = {1, kClasses};
  TwTensor input = Tensor(image, 4, image_shape), output = Tensor(scores, 2, scores_shape);
  TwTensor* args[] = {&input, &output};
  char message[256] = "";
  const int64_t bytes = classifier_workspace_bytes();
  const TwCall call = {.workspace = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64),
                       .workspace_bytes = bytes,
                       .message = message,
                       .message_bytes = sizeof message};
  if (classifier(&call, args, 1) != kTwErrorArgumentCount) {
    fprintf(stderr, "a missing argument was not noticed\n");
    return 1;
  }
  printf("%s\n", message);
  if (classifier(&call, args, 2) != kTwOk) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  free(call.workspace);
  for (int i = 0; i < kClasses; ++i) {
    printf("class %d: %g\n", i, (double)scores[i]);
    if (!(fabsf(scores[i] - expected[i]) < 1e-4f)) {
      fprintf(stderr, "class %d has %g, expected %g\n", i, (double)scores[i], (double)expected[i]);
      return 1;
    }
  }
  return 0;
}

// The headers of compiled models are C++ as well.
#include "examples/model_from_c/classifier.h"
#include "examples/model_from_c/encoder.h"

static_assert(sizeof(classifier_workspace_bytes()) == 8);

int main() {
  const bool grows = encoder_workspace_bytes(1, 128) > encoder_workspace_bytes(1, 16);
  return grows && encoder_workspace_bytes(1, -1) == -kTwErrorShape ? 0 : 1;
}

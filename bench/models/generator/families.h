// The families of models behind GenerateModel.
#pragma once

#include "bench/models/generator/models.h"

namespace tilewright::bench {

GeneratedModel GenerateResNet50(const GeneratorOptions& options);
GeneratedModel GenerateMobileNetV2(const GeneratorOptions& options);

struct TransformerSize {
  std::string name;
  int64_t width = 768, layers = 12, heads = 12, hidden = 3072;
  int64_t patch = 16;  // of an image, in pixels
};
GeneratedModel GenerateVit(const TransformerSize& size, const GeneratorOptions& options);
GeneratedModel GenerateBert(const TransformerSize& size, const GeneratorOptions& options);

GeneratedModel GenerateLayerNorm(const GeneratorOptions& options);
GeneratedModel GenerateResidualNorm(const GeneratorOptions& options);
GeneratedModel GenerateMaskedSoftmax(const GeneratorOptions& options);
GeneratedModel GenerateBiasGelu(const GeneratorOptions& options);

// A language model with weights of four bits and a cache of keys and values, by the attention of com.microsoft or in
// plain operators.
struct DecoderSize {
  std::string name;
  int64_t width = 2048, layers = 8, heads = 32, shared_heads = 8, hidden = 5632, words = 32000, positions = 8192;
  bool plain = false;
};
GeneratedModel GenerateDecoder(const DecoderSize& size, const GeneratorOptions& options);

GeneratedModel GenerateUnet(const GeneratorOptions& options);
GeneratedModel GenerateGanGenerator(const GeneratorOptions& options);
GeneratedModel GenerateTextDetector(const GeneratorOptions& options);
GeneratedModel GenerateLstmTagger(const GeneratorOptions& options);

GeneratedModel GenerateUnrolledLstm(const GeneratorOptions& options);
GeneratedModel GenerateUnrolledDense(const GeneratorOptions& options);
GeneratedModel GenerateElementwiseChain(const GeneratorOptions& options);

}  // namespace tilewright::bench

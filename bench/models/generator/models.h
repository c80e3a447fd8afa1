// The models that //bench:models measures, as ONNX files with seeded random weights.
//
//   absl::StatusOr<GeneratedModel> model = GenerateModel("bert_base", {});
//   WriteModel(model->proto, "bert_base.onnx");
//
// The graphs are those that PyTorch's exporter writes at opset 17: batch normalization folded into the convolutions,
// GELU by Erf, ReLU6 as Clip, multi-head attention with its reshapes, transposes and splits. BERT's layer normalization
// is decomposed into ReduceMean, Sub, Pow, Sqrt, Div, as files of older exporters have it; ViT's is the operator.
//
// Weights keep activations of the order of 1 through all layers, so that errors are not hidden by numbers that vanish,
// explode or saturate.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"

namespace tilewright::bench {

struct GeneratorOptions {
  uint64_t seed = 1;
  int64_t batch = 1;
  int64_t sequence = 256;  // tokens of the language models and of the tagger
  // Batch and sequence are dimensions "batch" and "sequence" of the file instead.
  bool symbolic = false;
  // The type of inputs, weights and outputs: FLOAT, FLOAT16 or BFLOAT16 of onnx::TensorProto.
  int32_t type = onnx::TensorProto::FLOAT;
  // What MatMulNBits of the decoders allows (its attribute accuracy_level); 0: nothing.
  int64_t accuracy_level = 0;
  // For tests: a fraction of the width and one layer of each kind.
  bool tiny = false;
};

struct GeneratedModel {
  onnx::ModelProto proto;
  // Integer inputs: their elements are below this.
  std::map<std::string, int64_t> below;
};

// "resnet50", "mobilenet_v2", "vit_b_16", "vit_l_32", "bert_base", "bert_large".
const std::vector<std::string>& ModelNames();
// Networks of other kinds: "unet" of four levels on 256 x 256 pixels, "gan_generator" of 64 x 64 pixels,
// "text_detector" with features of four sizes on 320 x 320 pixels, "lstm_tagger" of two bidirectional layers.
const std::vector<std::string>& NetworkNames();
// Chains out of transformers, without products, as files decompose them: "layer_norm" of 4096x768, "residual_norm" of
// 256x768, "masked_softmax" of the scores of 12 heads of 256 tokens, "bias_gelu" of 1024x3072.
const std::vector<std::string>& PartNames();
// Loops that a file writes out, which are short to run and long to load: "lstm_unrolled" of 40 steps, "dense_unrolled"
// of 189, "elementwise_chain" of 1,000 nodes.
const std::vector<std::string>& UnrolledNames();
// Language models that continue a sequence: "decoder" as ONNX Runtime GenAI's builder writes a Llama with weights of
// four bits (GroupQueryAttention), "decoder_plain" as Optimum does (a Concat of past and present, shared heads
// expanded). Batch, sequence and the lengths of the cache are symbolic dimensions always.
const std::vector<std::string>& DecoderNames();
// The graph of a model, a network, a part, a loop or a decoder. An unknown name is an error that lists the known ones.
absl::StatusOr<GeneratedModel> GenerateModel(const std::string& name, const GeneratorOptions& options);

absl::Status WriteModel(const onnx::ModelProto& model, const std::string& path);

}  // namespace tilewright::bench

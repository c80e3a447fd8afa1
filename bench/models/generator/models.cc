#include "bench/models/generator/models.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/models/generator/element_type.h"
#include "bench/models/generator/families.h"

namespace tilewright::bench {
namespace {

using Generator = std::function<GeneratedModel(const GeneratorOptions&)>;
using Named = std::vector<std::pair<std::string, Generator>>;

TransformerSize Tiny(TransformerSize size, bool tiny) {
  if (!tiny) return size;
  return {.name = size.name, .width = 32, .layers = 1, .heads = 2, .hidden = 64, .patch = size.patch};
}

const Named& Generators() {
  static const auto* const generators = new Named{
      {"resnet50", GenerateResNet50},
      {"mobilenet_v2", GenerateMobileNetV2},
      {"vit_b_16", [](const GeneratorOptions& o) { return GenerateVit(Tiny({.name = "vit_b_16"}, o.tiny), o); }},
      {"vit_l_32",
       [](const GeneratorOptions& o) {
         return GenerateVit(
             Tiny({.name = "vit_l_32", .width = 1024, .layers = 24, .heads = 16, .hidden = 4096, .patch = 32}, o.tiny),
             o);
       }},
      {"bert_base", [](const GeneratorOptions& o) { return GenerateBert(Tiny({.name = "bert_base"}, o.tiny), o); }},
      {"bert_large",
       [](const GeneratorOptions& o) {
         return GenerateBert(
             Tiny({.name = "bert_large", .width = 1024, .layers = 24, .heads = 16, .hidden = 4096}, o.tiny), o);
       }},
  };
  return *generators;
}

const Named& Networks() {
  static const auto* const networks = new Named{
      {"unet", GenerateUnet},
      {"gan_generator", GenerateGanGenerator},
      {"text_detector", GenerateTextDetector},
      {"lstm_tagger", GenerateLstmTagger},
  };
  return *networks;
}

const Named& Unrolled() {
  static const auto* const unrolled = new Named{
      {"lstm_unrolled", GenerateUnrolledLstm},
      {"dense_unrolled", GenerateUnrolledDense},
      {"elementwise_chain", GenerateElementwiseChain},
  };
  return *unrolled;
}

GeneratedModel Decoder(DecoderSize size, const GeneratorOptions& options) {
  if (options.tiny) {
    size = {.name = size.name,
            .width = 64,
            .layers = 2,
            .heads = 4,
            .shared_heads = 2,
            .hidden = 128,
            .words = 256,
            .positions = 1024,
            .plain = size.plain};
  }
  return GenerateDecoder(size, options);
}

const Named& Decoders() {
  static const auto* const decoders = new Named{
      {"decoder", [](const GeneratorOptions& o) { return Decoder({.name = "decoder"}, o); }},
      {"decoder_plain", [](const GeneratorOptions& o) { return Decoder({.name = "decoder_plain", .plain = true}, o); }},
  };
  return *decoders;
}

const Named& Parts() {
  static const auto* const parts = new Named{
      {"layer_norm", GenerateLayerNorm},
      {"residual_norm", GenerateResidualNorm},
      {"masked_softmax", GenerateMaskedSoftmax},
      {"bias_gelu", GenerateBiasGelu},
  };
  return *parts;
}

std::vector<std::string>* NamesOf(const Named& generators) {
  auto* names = new std::vector<std::string>;
  for (const auto& [name, generator] : generators) names->push_back(name);
  return names;
}

}  // namespace

const std::vector<std::string>& ModelNames() {
  static const auto* const names = NamesOf(Generators());
  return *names;
}

const std::vector<std::string>& NetworkNames() {
  static const auto* const names = NamesOf(Networks());
  return *names;
}

const std::vector<std::string>& PartNames() {
  static const auto* const names = NamesOf(Parts());
  return *names;
}

const std::vector<std::string>& UnrolledNames() {
  static const auto* const names = NamesOf(Unrolled());
  return *names;
}

const std::vector<std::string>& DecoderNames() {
  static const auto* const names = NamesOf(Decoders());
  return *names;
}

absl::StatusOr<GeneratedModel> GenerateModel(const std::string& name, const GeneratorOptions& options) {
  for (const Named* named : {&Generators(), &Networks(), &Parts(), &Unrolled(), &Decoders()}) {
    for (const auto& [known, generator] : *named) {
      if (known != name) continue;
      GeneratedModel model = generator(options);
      if (options.type != onnx::TensorProto::FLOAT) ConvertFloats(options.type, &model.proto);
      return model;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no model \"", name, "\"; there are ", absl::StrJoin(ModelNames(), ", "),
      ", networks: ", absl::StrJoin(NetworkNames(), ", "), ", parts: ", absl::StrJoin(PartNames(), ", "),
      ", loops: ", absl::StrJoin(UnrolledNames(), ", "), ", and decoders: ", absl::StrJoin(DecoderNames(), ", ")));
}

absl::Status WriteModel(const onnx::ModelProto& model, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  if (model.SerializeToOstream(&file) && file.flush()) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat(path, " cannot be written: ", std::strerror(errno)));
}

}  // namespace tilewright::bench

// ResNet-50 and MobileNetV2, as torchvision defines them.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/families.h"
#include "bench/models/generator/onnx_builder.h"

namespace tilewright::bench {
namespace {

// Convolutions over a value whose channels it follows.
class ConvNet {
 public:
  ConvNet(const std::string& name, const GeneratorOptions& options) : b_(name, options.seed), options_(options) {
    batch_ = options.symbolic ? OnnxBuilder::Dim("batch") : OnnxBuilder::Dim(options.batch);
    extent_ = options.tiny ? 32 : 224;
    value_ = b_.Input("input", onnx::TensorProto::FLOAT, {batch_, int64_t{3}, extent_, extent_});
  }

  OnnxBuilder& builder() { return b_; }
  const std::string& value() const { return value_; }
  int64_t channels() const { return channels_; }
  void Set(std::string value, int64_t channels) {
    value_ = std::move(value);
    channels_ = channels;
  }
  int64_t Width(int64_t channels) const { return options_.tiny ? std::max<int64_t>(channels / 8, 4) : channels; }

  // Convolution with the batch normalization folded in. `gain` scales the deviation of the result.
  void Conv(const std::string& name, int64_t out, int64_t kernel, int64_t stride, int64_t groups = 1, double gain = 1) {
    const int64_t inputs = channels_ / groups, pad = kernel / 2;
    const double magnitude = gain * std::sqrt(6.0 / static_cast<double>(inputs * kernel * kernel));
    const std::string weight = b_.Weight(name + ".weight", {out, inputs, kernel, kernel}, magnitude);
    const std::string bias = b_.Weight(name + ".bias", {out}, 0.2);
    value_ = b_.Node("Conv", {value_, weight, bias},
                     {{"dilations", std::vector<int64_t>{1, 1}},
                      {"group", groups},
                      {"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                      {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                      {"strides", std::vector<int64_t>{stride, stride}}});
    channels_ = out;
  }
  void Apply(const std::string& op, std::vector<std::string> more = {}) {
    more.insert(more.begin(), value_);
    value_ = b_.Node(op, more);
  }

  GeneratedModel Classify(const std::string& name) {
    const int64_t classes = options_.tiny ? 10 : 1000;
    b_.set_scope("");
    Apply("GlobalAveragePool");
    value_ = b_.Node("Flatten", {value_}, {{"axis", int64_t{1}}});
    const double magnitude = std::sqrt(3.0 / static_cast<double>(channels_));
    const std::string weight = b_.Weight(name + ".weight", {classes, channels_}, magnitude);
    const std::string bias = b_.Weight(name + ".bias", {classes}, 0.1);
    value_ = b_.Node("Gemm", {value_, weight, bias}, {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
    b_.Output("output", value_, {batch_, classes});
    return {.proto = b_.Finish()};
  }

 private:
  OnnxBuilder b_;
  const GeneratorOptions options_;
  OnnxBuilder::Dim batch_;
  int64_t extent_ = 224;
  std::string value_;
  int64_t channels_ = 3;
};

void Bottleneck(ConvNet& net, const std::string& name, int64_t width, int64_t stride, bool project) {
  net.builder().set_scope(absl::StrCat("/", name));
  const std::string before = net.value();
  const int64_t channels = net.channels();
  net.Conv(name + ".conv1", width, 1, 1);
  net.Apply("Relu");
  net.Conv(name + ".conv2", width, 3, stride);
  net.Apply("Relu");
  // A fraction: the sum with what bypasses the block stays of the same order.
  net.Conv(name + ".conv3", 4 * width, 1, 1, 1, 0.3);
  std::string bypass = before;
  const std::string value = net.value();
  const int64_t out = net.channels();
  if (project) {
    net.Set(before, channels);
    net.Conv(name + ".downsample.0", out, 1, stride, 1, 0.7);
    bypass = net.value();
  }
  net.Set(net.builder().Node("Add", {value, bypass}), out);
  net.Apply("Relu");
}

void InvertedResidual(ConvNet& net, const std::string& name, int64_t expand, int64_t out, int64_t stride) {
  net.builder().set_scope(absl::StrCat("/", name));
  const std::string before = net.value();
  const int64_t channels = net.channels(), hidden = channels * expand;
  const auto clip = [&] { net.Apply("Clip", {net.builder().Scalar(0), net.builder().Scalar(6)}); };
  int next = 0;
  if (expand != 1) {
    net.Conv(absl::StrCat(name, ".conv.", next++, ".0"), hidden, 1, 1);
    clip();
  }
  net.Conv(absl::StrCat(name, ".conv.", next++, ".0"), hidden, 3, stride, hidden);
  clip();
  net.Conv(absl::StrCat(name, ".conv.", next), out, 1, 1, 1, 0.7);
  if (stride == 1 && channels == out) net.Set(net.builder().Node("Add", {before, net.value()}), out);
}

}  // namespace

GeneratedModel GenerateResNet50(const GeneratorOptions& options) {
  ConvNet net("resnet50", options);
  net.Conv("conv1", net.Width(64), 7, 2);
  net.Apply("Relu");
  net.Set(net.builder().Node("MaxPool", {net.value()},
                             {{"ceil_mode", int64_t{0}},
                              {"kernel_shape", std::vector<int64_t>{3, 3}},
                              {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                              {"strides", std::vector<int64_t>{2, 2}}}),
          net.channels());
  const int64_t depths[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t i = 0; i < (options.tiny ? 1 : depths[stage]); ++i) {
      const std::string name = absl::StrCat("layer", stage + 1, ".", i);
      Bottleneck(net, name, net.Width(64 << stage), i == 0 && stage > 0 ? 2 : 1, i == 0);
    }
  }
  return net.Classify("fc");
}

GeneratedModel GenerateMobileNetV2(const GeneratorOptions& options) {
  struct Stage {
    int64_t expand, channels, count, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  ConvNet net("mobilenet_v2", options);
  OnnxBuilder& b = net.builder();
  net.Conv("features.0.0", net.Width(32), 3, 2);
  net.Apply("Clip", {b.Scalar(0), b.Scalar(6)});
  int64_t number = 1;
  for (const Stage& stage : kStages) {
    for (int64_t i = 0; i < (options.tiny ? std::min<int64_t>(stage.count, 2) : stage.count); ++i) {
      InvertedResidual(net, absl::StrCat("features.", number++), stage.expand, net.Width(stage.channels),
                       i == 0 ? stage.stride : 1);
    }
  }
  b.set_scope(absl::StrCat("/features.", number));
  net.Conv(absl::StrCat("features.", number, ".0"), net.Width(1280), 1, 1);
  net.Apply("Clip", {b.Scalar(0), b.Scalar(6)});
  return net.Classify("classifier.1");
}

}  // namespace tilewright::bench

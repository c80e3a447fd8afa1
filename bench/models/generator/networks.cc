// Networks beyond classifiers and transformers: images to images by transposed convolutions and by interpolation, and
// labels of words by recurrent layers.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/families.h"
#include "bench/models/generator/onnx_builder.h"

namespace tilewright::bench {
namespace {

using Dim = OnnxBuilder::Dim;
using Ints = std::vector<int64_t>;

Dim BatchOf(const GeneratorOptions& options) { return options.symbolic ? Dim("batch") : Dim(options.batch); }

// A value and its channels.
struct Image {
  std::string value;
  int64_t channels = 0;
};

// Layers of images.
class ImageNet {
 public:
  ImageNet(const std::string& name, const GeneratorOptions& options) : b_(name, options.seed), tiny_(options.tiny) {}

  OnnxBuilder& builder() { return b_; }
  int64_t Width(int64_t channels) const { return tiny_ ? std::max<int64_t>(channels / 16, 2) : channels; }

  // `gain` scales the deviation of the result.
  Image Conv(const std::string& name, const Image& x, int64_t out, int64_t kernel, int64_t stride = 1,
             double gain = 1) {
    const double magnitude = gain * std::sqrt(6.0 / static_cast<double>(x.channels * kernel * kernel));
    const std::string weight = b_.Weight(name + ".weight", {out, x.channels, kernel, kernel}, magnitude);
    const std::string bias = b_.Weight(name + ".bias", {out}, 0.2);
    const int64_t pad = kernel / 2;
    return {b_.Node("Conv", {x.value, weight, bias},
                    {{"kernel_shape", Ints{kernel, kernel}},
                     {"pads", Ints{pad, pad, pad, pad}},
                     {"strides", Ints{stride, stride}}}),
            out};
  }
  // The result is `stride` times as large where twice `pad` is the kernel's size less the stride.
  Image Transposed(const std::string& name, const Image& x, int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                   double gain = 1) {
    const auto terms = static_cast<double>(x.channels * kernel * kernel) / static_cast<double>(stride * stride);
    const std::string weight =
        b_.Weight(name + ".weight", {x.channels, out, kernel, kernel}, gain * std::sqrt(6.0 / terms));
    const std::string bias = b_.Weight(name + ".bias", {out}, 0.2);
    return {b_.Node("ConvTranspose", {x.value, weight, bias},
                    {{"kernel_shape", Ints{kernel, kernel}},
                     {"pads", Ints{pad, pad, pad, pad}},
                     {"strides", Ints{stride, stride}}}),
            out};
  }
  Image Apply(const std::string& op, const Image& x, const std::vector<OnnxBuilder::Attr>& attributes = {}) {
    return {b_.Node(op, {x.value}, attributes), x.channels};
  }
  Image ConvRelu(const std::string& name, const Image& x, int64_t out, int64_t kernel, int64_t stride = 1) {
    return Apply("Relu", Conv(name, x, out, kernel, stride));
  }
  Image Pool(const Image& x, int64_t kernel, int64_t pad) {
    return Apply("MaxPool", x,
                 {{"kernel_shape", Ints{kernel, kernel}}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{2, 2}}});
  }
  Image Add(const Image& x, const Image& y) { return {b_.Node("Add", {x.value, y.value}), x.channels}; }
  Image Concat(const std::vector<Image>& parts) {
    std::vector<std::string> values;
    int64_t channels = 0;
    for (const Image& part : parts) {
      values.push_back(part.value);
      channels += part.channels;
    }
    return {b_.Node("Concat", values, {{"axis", int64_t{1}}}), channels};
  }
  // The nearest pixel, as torch's exporter writes an interpolation by a whole factor.
  Image Enlarge(const Image& x, float factor) {
    const std::string scales = b_.Floats(absl::StrCat("scales.", ++resizes_), {4}, {1, 1, factor, factor});
    return {b_.Node("Resize", {x.value, "", scales},
                    {{"coordinate_transformation_mode", "asymmetric"}, {"mode", "nearest"}, {"nearest_mode", "floor"}}),
            x.channels};
  }

 private:
  OnnxBuilder b_;
  const bool tiny_;
  int resizes_ = 0;
};

// Two 3x3 convolutions with a bypass.
Image BasicBlock(ImageNet& net, const std::string& name, const Image& x, int64_t out, int64_t stride) {
  net.builder().set_scope(absl::StrCat("/", name));
  const Image inner = net.ConvRelu(name + ".conv1", x, out, 3, stride);
  const Image result = net.Conv(name + ".conv2", inner, out, 3, 1, 0.4);
  const bool same = stride == 1 && out == x.channels;
  return net.Apply("Relu", net.Add(result, same ? x : net.Conv(name + ".downsample", x, out, 1, stride, 0.7)));
}

}  // namespace

GeneratedModel GenerateUnet(const GeneratorOptions& options) {
  ImageNet net("unet", options);
  const Dim batch = BatchOf(options);
  const int64_t extent = options.tiny ? 32 : 256, levels = options.tiny ? 2 : 4;
  Image x = {net.builder().Input("input", onnx::TensorProto::FLOAT, {batch, int64_t{3}, extent, extent}), 3};
  const auto two = [&](const std::string& name, const Image& image, int64_t width) {
    net.builder().set_scope(absl::StrCat("/", name));
    return net.ConvRelu(name + ".conv2", net.ConvRelu(name + ".conv1", image, width, 3), width, 3);
  };
  std::vector<Image> kept;
  for (int64_t level = 0; level < levels; ++level) {
    kept.push_back(two(absl::StrCat("down", level), x, net.Width(32) << level));
    x = net.Pool(kept.back(), 2, 0);
  }
  x = two("bottom", x, net.Width(32) << levels);
  for (int64_t level = levels - 1; level >= 0; --level) {
    const Image& bypass = kept[static_cast<size_t>(level)];
    const std::string name = absl::StrCat("up", level);
    net.builder().set_scope(absl::StrCat("/", name));
    const Image larger = net.Transposed(name + ".enlarge", x, bypass.channels, 4, 2, 1);
    x = two(name, net.Concat({bypass, larger}), bypass.channels);
  }
  net.builder().set_scope("");
  net.builder().Output("output", net.Conv("classes", x, 2, 1, 1, 0.5).value, {batch, int64_t{2}, extent, extent});
  return {.proto = net.builder().Finish()};
}

GeneratedModel GenerateGanGenerator(const GeneratorOptions& options) {
  ImageNet net("gan_generator", options);
  const Dim batch = BatchOf(options);
  const int64_t noise = options.tiny ? 8 : 100;
  Image x = {net.builder().Input("noise", onnx::TensorProto::FLOAT, {batch, noise, int64_t{1}, int64_t{1}}), noise};
  // One pixel becomes 4 x 4: each of them has one term of every channel.
  x = net.Apply("Relu", net.Transposed("layer0", x, net.Width(512), 4, 1, 0, 4));
  for (int64_t layer = 1; layer < 4; ++layer) {
    x = net.Apply("Relu", net.Transposed(absl::StrCat("layer", layer), x, net.Width(512 >> layer), 4, 2, 1));
  }
  x = net.Apply("Tanh", net.Transposed("layer4", x, 3, 4, 2, 1));
  net.builder().Output("image", x.value, {batch, int64_t{3}, int64_t{64}, int64_t{64}});
  return {.proto = net.builder().Finish()};
}

GeneratedModel GenerateTextDetector(const GeneratorOptions& options) {
  ImageNet net("text_detector", options);
  OnnxBuilder& b = net.builder();
  const Dim batch = BatchOf(options);
  const int64_t extent = options.tiny ? 64 : 320;
  Image x = {b.Input("input", onnx::TensorProto::FLOAT, {batch, int64_t{3}, extent, extent}), 3};
  x = net.Pool(net.ConvRelu("stem", x, net.Width(64), 7, 2), 3, 1);
  // Features of four sizes become one image of the largest.
  std::vector<Image> features;
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t i = 0; i < (options.tiny ? 1 : 2); ++i) {
      const std::string name = absl::StrCat("layer", stage + 1, ".", i);
      x = BasicBlock(net, name, x, net.Width(64 << stage), i == 0 && stage > 0 ? 2 : 1);
    }
    features.push_back(x);
  }
  b.set_scope("/neck");
  for (size_t i = 0; i < features.size(); ++i) {
    features[i] = net.Conv(absl::StrCat("in", i + 2), features[i], net.Width(128), 1, 1, 0.7);
  }
  for (size_t i = features.size() - 1; i > 0; --i) {
    features[i - 1] = net.Add(features[i - 1], net.Enlarge(features[i], 2));
  }
  std::vector<Image> parts;
  for (size_t i = 0; i < features.size(); ++i) {
    const Image part = net.Conv(absl::StrCat("out", i + 2), features[i], net.Width(32), 3);
    parts.push_back(i == 0 ? part : net.Enlarge(part, static_cast<float>(1 << i)));
  }
  b.set_scope("/head");
  x = net.ConvRelu("head.conv", net.Concat(parts), net.Width(32), 3);
  x = net.Apply("Relu", net.Transposed("head.enlarge", x, net.Width(32), 2, 2, 0));
  x = net.Apply("Sigmoid", net.Transposed("head.map", x, 1, 2, 2, 0));
  b.Output("map", x.value, {batch, int64_t{1}, extent, extent});
  return {.proto = b.Finish()};
}

GeneratedModel GenerateLstmTagger(const GeneratorOptions& options) {
  OnnxBuilder b("lstm_tagger", options.seed);
  const int64_t words = options.tiny ? 50 : 20000, width = options.tiny ? 6 : 128, tags = options.tiny ? 4 : 20;
  const int64_t hidden = options.tiny ? 5 : 128;
  const Dim batch = BatchOf(options), sequence = options.symbolic ? Dim("sequence") : Dim(options.sequence);
  const std::string ids = b.Input("tokens", onnx::TensorProto::INT64, {batch, sequence});
  std::string x = b.Node("Gather", {b.Weight("embedding", {words, width}, 1), ids});
  x = b.Node("Transpose", {x}, {{"perm", Ints{1, 0, 2}}});
  int64_t inputs = width;
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = absl::StrCat("lstm", layer);
    b.set_scope(absl::StrCat("/", name));
    const double magnitude = std::sqrt(3.0 / static_cast<double>(hidden));
    const std::string weight = b.Weight(name + ".weight", {2, 4 * hidden, inputs}, magnitude);
    const std::string recurrent = b.Weight(name + ".recurrent", {2, 4 * hidden, hidden}, magnitude);
    const std::string bias = b.Weight(name + ".bias", {2, 8 * hidden}, 0.1);
    x = b.Node("LSTM", {x, weight, recurrent, bias}, {{"direction", "bidirectional"}, {"hidden_size", hidden}});
    x = b.Node("Transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}});
    x = b.Node("Reshape", {x, b.Int64s({0, 0, 2 * hidden})});
    inputs = 2 * hidden;
  }
  b.set_scope("");
  x = b.Node("Transpose", {x}, {{"perm", Ints{1, 0, 2}}});
  const std::string scores = b.Node("MatMul", {x, b.Weight("tags.weight", {inputs, tags}, 0.3)});
  x = b.Node("LogSoftmax", {b.Node("Add", {scores, b.Weight("tags.bias", {tags}, 0.1)})}, {{"axis", int64_t{2}}});
  b.Output("scores", x, {batch, sequence, tags});
  return {.proto = b.Finish(), .below = {{"tokens", words}}};
}

}  // namespace tilewright::bench

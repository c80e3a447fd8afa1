// ViT, as torchvision defines it, and BERT, as the Transformers library does.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/families.h"
#include "bench/models/generator/onnx_builder.h"

namespace tilewright::bench {
namespace {

using Dims = OnnxBuilder::Dims;
using Ints = std::vector<int64_t>;

class Transformer {
 public:
  Transformer(const TransformerSize& size, const GeneratorOptions& options)
      : b(size.name, options.seed), size_(size), options_(options) {
    batch = options.symbolic ? OnnxBuilder::Dim("batch") : OnnxBuilder::Dim(options.batch);
    sequence = options.symbolic ? OnnxBuilder::Dim("sequence") : OnnxBuilder::Dim(options.sequence);
  }

  std::string Reshape(const std::string& x, const Ints& shape) { return b.Node("Reshape", {x, b.Int64s(shape)}); }
  std::string Transpose(const std::string& x, const Ints& perm) { return b.Node("Transpose", {x}, {{"perm", perm}}); }

  // x [.., in] times a weight [in, out] plus a bias, as MatMul and Add.
  std::string Linear(const std::string& name, const std::string& x, int64_t in, int64_t out, double gain = 1) {
    const std::string weight = b.Weight(name + ".weight", {in, out}, Magnitude(in, gain));
    const std::string bias = b.Weight(name + ".bias", {out}, 0.1);
    return b.Node("Add", {b.Node("MatMul", {x, weight}), bias});
  }
  // x [rows, in], with the weight [out, in].
  std::string Gemm(const std::string& name, const std::string& x, int64_t in, int64_t out) {
    const std::string weight = b.Weight(name + ".weight", {out, in}, Magnitude(in, 1));
    const std::string bias = b.Weight(name + ".bias", {out}, 0.1);
    return b.Node("Gemm", {x, weight, bias}, {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
  }

  std::string LayerNorm(const std::string& name, const std::string& x, float epsilon, bool decomposed) {
    const std::string scale = b.Weight(name + ".weight", {size_.width}, 0.2, 1);
    const std::string bias = b.Weight(name + ".bias", {size_.width}, 0.1);
    if (!decomposed) {
      return b.Node("LayerNormalization", {x, scale, bias}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
    }
    const auto mean = [&](const std::string& of) {
      return b.Node("ReduceMean", {of}, {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}});
    };
    const std::string centered = b.Node("Sub", {x, mean(x)});
    const std::string variance = mean(b.Node("Pow", {centered, b.Scalar(2)}));
    const std::string deviation = b.Node("Sqrt", {b.Node("Add", {variance, b.Scalar(epsilon)})});
    const std::string normalized = b.Node("Div", {centered, deviation});
    return b.Node("Add", {b.Node("Mul", {normalized, scale}), bias});
  }

  std::string Gelu(const std::string& x) {
    const std::string erf = b.Node("Erf", {b.Node("Div", {x, b.Scalar(std::sqrt(2.0f))})});
    const std::string product = b.Node("Mul", {x, b.Node("Add", {erf, b.Scalar(1)})});
    return b.Node("Mul", {product, b.Scalar(0.5f)});
  }

  OnnxBuilder b;
  OnnxBuilder::Dim batch, sequence;

 private:
  static double Magnitude(int64_t in, double gain) { return gain * std::sqrt(3.0 / static_cast<double>(in)); }
  const TransformerSize size_;
  const GeneratorOptions options_;
};

// torch.nn.MultiheadAttention on x [batch, tokens, width]: sequence first, one product for queries, keys and values.
std::string MultiheadAttention(Transformer& t, const std::string& name, const std::string& x, int64_t tokens,
                               int64_t width, int64_t heads) {
  OnnxBuilder& b = t.b;
  const int64_t size = width / heads;
  const std::string sequence_first = t.Transpose(x, {1, 0, 2});
  std::string all = t.Linear(name + ".in_proj", sequence_first, width, 3 * width);
  all = t.Reshape(all, {tokens, -1, 3, width});
  all = b.Node("Unsqueeze", {all, b.Int64s({0})});
  all = t.Transpose(all, {3, 1, 2, 0, 4});
  all = b.Node("Squeeze", {all, b.Int64s({3})});
  const auto part = [&](int64_t i) {
    const std::string one = b.Node("Gather", {all, b.Int64Scalar(i)}, {{"axis", int64_t{0}}});
    // [batch, heads, tokens, size] of what is [tokens, batch, heads * size].
    return t.Transpose(t.Reshape(one, {tokens, -1, heads, size}), {1, 2, 0, 3});
  };
  const std::string queries = part(0), keys = t.Transpose(part(1), {0, 1, 3, 2}), values = part(2);
  const std::string scale = b.Scalar(static_cast<float>(std::pow(static_cast<double>(size), -0.25)));
  const std::string scores = b.Node("MatMul", {b.Node("Mul", {queries, scale}), b.Node("Mul", {keys, scale})});
  const std::string weights = b.Node("Softmax", {scores}, {{"axis", int64_t{-1}}});
  const std::string heads_last = t.Transpose(b.Node("MatMul", {weights, values}), {2, 0, 1, 3});
  const std::string projected = t.Gemm(name + ".out_proj", t.Reshape(heads_last, {-1, width}), width, width);
  return t.Transpose(t.Reshape(projected, {tokens, -1, width}), {1, 0, 2});
}

// x [batch, tokens, width], mask [batch, 1, 1, tokens] to be added to the scores.
std::string BertAttention(Transformer& t, const std::string& name, const std::string& x, const std::string& mask,
                          int64_t width, int64_t heads) {
  OnnxBuilder& b = t.b;
  const int64_t size = width / heads;
  const auto part = [&](const char* which, const Ints& perm) {
    const std::string linear = t.Linear(absl::StrCat(name, ".self.", which), x, width, width);
    return t.Transpose(t.Reshape(linear, {0, 0, heads, size}), perm);
  };
  const std::string queries = part("query", {0, 2, 1, 3}), keys = part("key", {0, 2, 3, 1});
  const std::string values = part("value", {0, 2, 1, 3});
  std::string scores = b.Node("MatMul", {queries, keys});
  scores = b.Node("Div", {scores, b.Scalar(std::sqrt(static_cast<float>(size)))});
  scores = b.Node("Add", {scores, mask});
  const std::string weights = b.Node("Softmax", {scores}, {{"axis", int64_t{-1}}});
  const std::string heads_last = t.Transpose(b.Node("MatMul", {weights, values}), {0, 2, 1, 3});
  return t.Linear(name + ".output.dense", t.Reshape(heads_last, {0, 0, width}), width, width);
}

// What the parts share: a width, rows of it, which a test has few of.
struct Rows {
  Rows(const std::string& name, int64_t wide, int64_t tall, const GeneratorOptions& options)
      : width(options.tiny ? 32 : wide),
        t({.name = name, .width = width}, options),
        dims{options.symbolic || options.tiny ? t.sequence : OnnxBuilder::Dim(tall), width} {}
  std::string Input(const std::string& name) { return t.b.Input(name, onnx::TensorProto::FLOAT, dims); }
  GeneratedModel Output(const std::string& value) {
    t.b.Output("output", value, dims);
    return {.proto = t.b.Finish()};
  }
  const int64_t width;
  Transformer t;
  const Dims dims;
};

}  // namespace

GeneratedModel GenerateLayerNorm(const GeneratorOptions& options) {
  Rows rows("layer_norm", 768, 4096, options);
  return rows.Output(rows.t.LayerNorm("norm", rows.Input("input"), 1e-12f, true));
}

GeneratedModel GenerateResidualNorm(const GeneratorOptions& options) {
  Rows rows("residual_norm", 768, 256, options);
  const std::string sum = rows.t.b.Node("Add", {rows.Input("input"), rows.Input("residual")});
  return rows.Output(rows.t.LayerNorm("norm", sum, 1e-12f, true));
}

GeneratedModel GenerateBiasGelu(const GeneratorOptions& options) {
  Rows rows("bias_gelu", 3072, 1024, options);
  const std::string bias = rows.t.b.Weight("bias", {rows.width}, 0.1);
  return rows.Output(rows.t.Gelu(rows.t.b.Node("Add", {rows.Input("input"), bias})));
}

GeneratedModel GenerateMaskedSoftmax(const GeneratorOptions& options) {
  Transformer t({.name = "masked_softmax"}, options);
  const Dims scores = {t.batch, int64_t{options.tiny ? 2 : 12}, t.sequence, t.sequence};
  std::string x = t.b.Input("scores", onnx::TensorProto::FLOAT, scores);
  const std::string mask = t.b.Input("mask", onnx::TensorProto::FLOAT, {t.batch, int64_t{1}, int64_t{1}, t.sequence});
  x = t.b.Node("Add", {t.b.Node("Div", {x, t.b.Scalar(8)}), mask});
  t.b.Output("output", t.b.Node("Softmax", {x}, {{"axis", int64_t{-1}}}), scores);
  return {.proto = t.b.Finish()};
}

GeneratedModel GenerateVit(const TransformerSize& size, const GeneratorOptions& options) {
  Transformer t(size, options);
  OnnxBuilder& b = t.b;
  const int64_t width = size.width, patch = size.patch, extent = options.tiny ? 2 * patch : 224;
  const int64_t patches = (extent / patch) * (extent / patch), tokens = patches + 1;
  const std::string image = b.Input("input", onnx::TensorProto::FLOAT, {t.batch, int64_t{3}, extent, extent});
  const std::string kernel =
      b.Weight("conv_proj.weight", {width, 3, patch, patch}, std::sqrt(3.0 / static_cast<double>(3 * patch * patch)));
  std::string x = b.Node("Conv", {image, kernel, b.Weight("conv_proj.bias", {width}, 0.1)},
                         {{"dilations", Ints{1, 1}},
                          {"group", int64_t{1}},
                          {"kernel_shape", Ints{patch, patch}},
                          {"pads", Ints{0, 0, 0, 0}},
                          {"strides", Ints{patch, patch}}});
  x = t.Transpose(t.Reshape(x, {options.symbolic ? -1 : options.batch, width, patches}), {0, 2, 1});
  std::string shape;
  if (!options.symbolic) {
    shape = b.Int64s({options.batch, 1, width});
  } else {
    const std::string batch = b.Node("Slice", {b.Node("Shape", {x}), b.Int64s({0}), b.Int64s({1}), b.Int64s({0})});
    shape = b.Node("Concat", {batch, b.Int64s({1, width})}, {{"axis", int64_t{0}}});
  }
  const std::string token = b.Node("Expand", {b.Weight("class_token", {1, 1, width}, 1), shape});
  x = b.Node("Concat", {token, x}, {{"axis", int64_t{1}}});
  x = b.Node("Add", {x, b.Weight("encoder.pos_embedding", {1, tokens, width}, 0.5)});
  for (int64_t layer = 0; layer < size.layers; ++layer) {
    const std::string name = absl::StrCat("encoder.layers.encoder_layer_", layer);
    b.set_scope(absl::StrCat("/", name));
    const std::string normalized = t.LayerNorm(name + ".ln_1", x, 1e-6f, false);
    x = b.Node("Add", {MultiheadAttention(t, name + ".self_attention", normalized, tokens, width, size.heads), x});
    const std::string again = t.LayerNorm(name + ".ln_2", x, 1e-6f, false);
    const std::string hidden = t.Gelu(t.Linear(name + ".mlp.0", again, width, size.hidden));
    x = b.Node("Add", {x, t.Linear(name + ".mlp.3", hidden, size.hidden, width, 1.5)});
  }
  b.set_scope("");
  x = t.LayerNorm("encoder.ln", x, 1e-6f, false);
  x = b.Node("Gather", {x, b.Int64Scalar(0)}, {{"axis", int64_t{1}}});
  const int64_t classes = options.tiny ? 10 : 1000;
  b.Output("output", t.Gemm("heads.head", x, width, classes), {t.batch, classes});
  return {.proto = b.Finish()};
}

GeneratedModel GenerateBert(const TransformerSize& size, const GeneratorOptions& options) {
  Transformer t(size, options);
  OnnxBuilder& b = t.b;
  const int64_t width = size.width, words = options.tiny ? 100 : 30522, positions = 512;
  const auto input = [&](const char* name) { return b.Input(name, onnx::TensorProto::INT64, {t.batch, t.sequence}); };
  const std::string ids = input("input_ids"), mask = input("attention_mask"), types = input("token_type_ids");
  const auto embedding = [&](const char* name, int64_t rows) {
    return b.Weight(absl::StrCat("embeddings.", name, "_embeddings.weight"), {rows, width}, 1);
  };
  b.set_scope("/embeddings");
  std::string x = b.Node("Add", {b.Node("Gather", {embedding("word", words), ids}),
                                 b.Node("Gather", {embedding("token_type", 2), types})});
  std::string position_ids;
  if (options.symbolic) {
    Ints all(static_cast<size_t>(positions));
    for (int64_t i = 0; i < positions; ++i) all[static_cast<size_t>(i)] = i;
    const std::string length = b.Node("Slice", {b.Node("Shape", {ids}), b.Int64s({1}), b.Int64s({2}), b.Int64s({0})});
    position_ids = b.Node("Slice", {b.Int64s(all), b.Int64s({0}), length, b.Int64s({0})});
  } else {
    Ints all(static_cast<size_t>(options.sequence));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    position_ids = b.Int64s(all);
  }
  x = b.Node("Add", {x, b.Node("Gather", {embedding("position", positions), position_ids})});
  x = t.LayerNorm("embeddings.LayerNorm", x, 1e-12f, true);
  // 0 where the mask is 1, the least number where it is 0.
  b.set_scope("");
  std::string bias = b.Node("Unsqueeze", {b.Node("Unsqueeze", {mask, b.Int64s({1})}), b.Int64s({2})});
  bias = b.Node("Cast", {bias}, {{"to", static_cast<int64_t>(onnx::TensorProto::FLOAT)}});
  bias = b.Node("Mul", {b.Node("Sub", {b.Scalar(1), bias}), b.Scalar(-3.4028234663852886e38f)});
  for (int64_t layer = 0; layer < size.layers; ++layer) {
    const std::string name = absl::StrCat("encoder.layer.", layer);
    b.set_scope(absl::StrCat("/", name));
    const std::string attention = BertAttention(t, name + ".attention", x, bias, width, size.heads);
    x = t.LayerNorm(name + ".attention.output.LayerNorm", b.Node("Add", {attention, x}), 1e-12f, true);
    const std::string hidden = t.Gelu(t.Linear(name + ".intermediate.dense", x, width, size.hidden));
    const std::string out = t.Linear(name + ".output.dense", hidden, size.hidden, width, 1.5);
    x = t.LayerNorm(name + ".output.LayerNorm", b.Node("Add", {out, x}), 1e-12f, true);
  }
  b.set_scope("/pooler");
  const std::string first = b.Node("Gather", {x, b.Int64Scalar(0)}, {{"axis", int64_t{1}}});
  const std::string pooled = b.Node("Tanh", {t.Gemm("pooler.dense", first, width, width)});
  b.Output("last_hidden_state", x, {t.batch, t.sequence, width});
  b.Output("pooler_output", pooled, {t.batch, width});
  return {.proto = b.Finish(), .below = {{"input_ids", words}, {"attention_mask", 2}, {"token_type_ids", 2}}};
}

}  // namespace tilewright::bench

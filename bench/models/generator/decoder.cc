// A Llama that continues a sequence: weights of four bits, rotary positions, a cache whose heads several queries share.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/families.h"
#include "bench/models/generator/onnx_builder.h"

namespace tilewright::bench {
namespace {

using Ints = std::vector<int64_t>;
using Dims = OnnxBuilder::Dims;
using onnx::TensorProto;

constexpr int64_t kBlock = 32;  // elements of a weight that share a scale
constexpr const char* kMicrosoft = "com.microsoft";

class Decoder {
 public:
  Decoder(const DecoderSize& size, const GeneratorOptions& options)
      : b_(size.name, options.seed), size_(size), options_(options), head_(size.width / size.heads) {}

  GeneratedModel Generate() {
    const std::string ids = b_.Input("input_ids", TensorProto::INT64, {"batch_size", "sequence_length"});
    mask_ = b_.Input("attention_mask", TensorProto::INT64, {"batch_size", "total_sequence_length"});
    if (size_.plain) places_ = b_.Input("position_ids", TensorProto::INT64, {"batch_size", "sequence_length"});
    AddTables();
    size_.plain ? AddScoresOfMask() : AddLengths();
    std::string x = b_.Node("Gather", {b_.Weight("embed_tokens", {size_.words, size_.width}, 1), ids});
    for (int64_t layer = 0; layer < size_.layers; ++layer) {
      const std::string name = absl::StrCat("layers.", layer);
      b_.set_scope(absl::StrCat("/", name));
      x = b_.Node("Add", {x, Attention(name + ".attn", Norm(name + ".input_norm", x), layer)});
      x = b_.Node("Add", {x, Feedforward(name + ".mlp", Norm(name + ".post_norm", x))});
    }
    b_.set_scope("");
    b_.Output("logits", Linear("lm_head", Norm("norm", x), size_.width, size_.words, 4),
              {"batch_size", "sequence_length", size_.words});
    for (const auto& [name, value] : presents_) b_.Output(name, value, CacheDims("total_sequence_length"));
    return {.proto = b_.Finish(), .below = {{"input_ids", size_.words}, {"attention_mask", 2}}};
  }

 private:
  Dims CacheDims(const char* length) const { return {"batch_size", size_.shared_heads, length, head_}; }

  // Cosines and sines of the angles of each position, by pairs.
  void AddTables() {
    std::vector<float> cosines, sines;
    for (int64_t position = 0; position < size_.positions; ++position) {
      for (int64_t pair = 0; pair < head_ / 2; ++pair) {
        const double angle = static_cast<double>(position) *
                             std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(head_));
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    cosines_ = b_.Floats("cos_cache", {size_.positions, head_ / 2}, cosines);
    sines_ = b_.Floats("sin_cache", {size_.positions, head_ / 2}, sines);
  }

  // How many keys each sequence has with the new ones, less one, and the greatest number.
  void AddLengths() {
    const auto narrow = [&](const std::string& x) {
      return b_.Node("Cast", {x}, {{"to", static_cast<int64_t>(TensorProto::INT32)}});
    };
    const std::string sum = b_.Node("ReduceSum", {mask_, b_.Int64s({1})}, {{"keepdims", int64_t{0}}});
    lengths_ = narrow(b_.Node("Sub", {sum, b_.Int64s({1})}));
    total_ = narrow(b_.Node("Gather", {b_.Node("Shape", {mask_}), b_.Int64Scalar(1)}));
  }

  // What is added to the scores [batch, heads, sequence, total]: the least number for keys that come later than the
  // query, or that the mask leaves out.
  void AddScoresOfMask() {
    const std::string total = b_.Node("Gather", {b_.Node("Shape", {mask_}), b_.Int64Scalar(1)});
    const std::string keys = b_.Node("Range", {b_.Int64Scalar(0), total, b_.Int64Scalar(1)});
    const std::string queries = b_.Node("Unsqueeze", {places_, b_.Int64s({1, 3})});
    const std::string seen = b_.Node("LessOrEqual", {keys, queries});
    const std::string counts = b_.Node("Cast", {mask_}, {{"to", static_cast<int64_t>(TensorProto::BOOL)}});
    const std::string both = b_.Node("And", {seen, b_.Node("Unsqueeze", {counts, b_.Int64s({1, 2})})});
    bias_ = b_.Node("Where", {both, b_.Scalar(0), b_.Scalar(-3.4028234663852886e38f)});
    const auto of_places = [&](const std::string& table) {
      const std::string halves = b_.Node("Gather", {table, places_});
      return b_.Node("Unsqueeze", {b_.Node("Concat", {halves, halves}, {{"axis", int64_t{-1}}}), b_.Int64s({1})});
    };
    cosines_ = of_places(cosines_);
    sines_ = of_places(sines_);
  }

  std::string Norm(const std::string& name, const std::string& x) {
    const std::string scale = b_.Weight(name + ".weight", {size_.width}, 0.2, 1);
    if (!size_.plain) {
      return b_.Node("SimplifiedLayerNormalization", {x, scale}, {{"axis", int64_t{-1}}, {"epsilon", 1e-5f}});
    }
    const std::string square = b_.Node("Pow", {x, b_.Scalar(2)});
    const std::string mean = b_.Node("ReduceMean", {square}, {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}});
    const std::string root = b_.Node("Sqrt", {b_.Node("Add", {mean, b_.Scalar(1e-5f)})});
    return b_.Node("Mul", {b_.Node("Mul", {x, b_.Node("Div", {b_.Scalar(1), root})}), scale});
  }

  // x [.., in] times a matrix [in, out] of integers below 16, less 8, with a scale for each block of a column.
  std::string Linear(const std::string& name, const std::string& x, int64_t in, int64_t out, double gain = 1) {
    const int64_t blocks = in / kBlock;
    // Uniform integers of [-8, 7] have a variance of 21.5.
    const double scale = gain / std::sqrt(21.5 * static_cast<double>(in));
    const std::string weight = b_.Bytes(name + ".weight_Q4", {out, blocks, kBlock / 2});
    const std::string scales = b_.Weight(name + ".weight_scales", {out * blocks}, 0.2 * scale, scale);
    std::vector<OnnxBuilder::Attr> facts = {{"K", in}, {"N", out}, {"bits", int64_t{4}}, {"block_size", kBlock}};
    if (options_.accuracy_level != 0) facts.emplace_back("accuracy_level", options_.accuracy_level);
    return b_.NodeOf(kMicrosoft, "MatMulNBits", {x, weight, scales}, facts)[0];
  }

  std::string Attention(const std::string& name, const std::string& x, int64_t layer) {
    const int64_t shared = size_.shared_heads * head_;
    const std::string q = Linear(name + ".q_proj", x, size_.width, size_.width, 2);
    const std::string k = Linear(name + ".k_proj", x, size_.width, shared, 2);
    const std::string v = Linear(name + ".v_proj", x, size_.width, shared);
    const auto past = [&](const char* what) {
      return b_.Input(absl::StrCat("past_key_values.", layer, ".", what), TensorProto::FLOAT,
                      CacheDims("past_sequence_length"));
    };
    const std::string keys = past("key"), values = past("value");
    std::vector<std::string> results = size_.plain ? Spelled(q, k, v, keys, values) : Grouped(q, k, v, keys, values);
    presents_.emplace_back(absl::StrCat("present.", layer, ".key"), results[1]);
    presents_.emplace_back(absl::StrCat("present.", layer, ".value"), results[2]);
    return Linear(name + ".o_proj", results[0], size_.width, size_.width);
  }

  std::vector<std::string> Grouped(const std::string& q, const std::string& k, const std::string& v,
                                   const std::string& keys, const std::string& values) {
    return b_.NodeOf(kMicrosoft, "GroupQueryAttention", {q, k, v, keys, values, lengths_, total_, cosines_, sines_},
                     {{"num_heads", size_.heads},
                      {"kv_num_heads", size_.shared_heads},
                      {"scale", static_cast<float>(1 / std::sqrt(static_cast<double>(head_)))},
                      {"do_rotary", int64_t{1}},
                      {"rotary_interleaved", int64_t{0}}},
                     3);
  }

  // The same in operators of ONNX alone.
  std::vector<std::string> Spelled(const std::string& q, const std::string& k, const std::string& v,
                                   const std::string& keys, const std::string& values) {
    const auto reshape = [&](const std::string& x, const Ints& shape) {
      return b_.Node("Reshape", {x, b_.Int64s(shape)});
    };
    const auto heads_first = [&](const std::string& x, int64_t heads) {
      return b_.Node("Transpose", {reshape(x, {0, 0, heads, head_})}, {{"perm", Ints{0, 2, 1, 3}}});
    };
    const auto slice = [&](const std::string& x, int64_t begin, int64_t end) {
      return b_.Node("Slice", {x, b_.Int64s({begin}), b_.Int64s({end}), b_.Int64s({3})});
    };
    const auto turn = [&](const std::string& x) {
      const std::string behind = b_.Node("Neg", {slice(x, head_ / 2, head_)});
      const std::string half = b_.Node("Concat", {behind, slice(x, 0, head_ / 2)}, {{"axis", int64_t{-1}}});
      return b_.Node("Add", {b_.Node("Mul", {x, cosines_}), b_.Node("Mul", {half, sines_})});
    };
    const auto join = [&](const std::string& past, const std::string& x) {
      return b_.Node("Concat", {past, x}, {{"axis", int64_t{-2}}});
    };
    // Each head as often as queries share it.
    const auto expand = [&](const std::string& x) {
      const Ints by_group = {1, 1, size_.heads / size_.shared_heads, 1, 1};
      const std::string copies = b_.Node("Expand", {b_.Node("Unsqueeze", {x, b_.Int64s({2})}), b_.Int64s(by_group)});
      return reshape(copies, {0, size_.heads, -1, head_});
    };
    const std::string all_keys = join(keys, turn(heads_first(k, size_.shared_heads)));
    const std::string all_values = join(values, heads_first(v, size_.shared_heads));
    const std::string turned = b_.Node("Transpose", {expand(all_keys)}, {{"perm", Ints{0, 1, 3, 2}}});
    std::string scores = b_.Node("MatMul", {turn(heads_first(q, size_.heads)), turned});
    scores = b_.Node("Div", {scores, b_.Scalar(std::sqrt(static_cast<float>(head_)))});
    const std::string weights = b_.Node("Softmax", {b_.Node("Add", {scores, bias_})}, {{"axis", int64_t{-1}}});
    const std::string mixed = b_.Node("MatMul", {weights, expand(all_values)});
    const std::string last = b_.Node("Transpose", {mixed}, {{"perm", Ints{0, 2, 1, 3}}});
    return {reshape(last, {0, 0, size_.width}), all_keys, all_values};
  }

  std::string Feedforward(const std::string& name, const std::string& x) {
    const std::string gate = Linear(name + ".gate_proj", x, size_.width, size_.hidden);
    const std::string up = Linear(name + ".up_proj", x, size_.width, size_.hidden);
    const std::string swish = b_.Node("Mul", {gate, b_.Node("Sigmoid", {gate})});
    return Linear(name + ".down_proj", b_.Node("Mul", {swish, up}), size_.hidden, size_.width, 1.5);
  }

  OnnxBuilder b_;
  const DecoderSize size_;
  const GeneratorOptions options_;
  const int64_t head_;
  std::string mask_, places_, cosines_, sines_, lengths_, total_, bias_;
  std::vector<std::pair<std::string, std::string>> presents_;
};

}  // namespace

GeneratedModel GenerateDecoder(const DecoderSize& size, const GeneratorOptions& options) {
  return Decoder(size, options).Generate();
}

}  // namespace tilewright::bench

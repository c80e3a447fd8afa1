// Writes ONNX models node by node.
//
//   OnnxBuilder b("mlp", /*seed=*/1);
//   const std::string x = b.Input("x", onnx::TensorProto::FLOAT, {1, 784});
//   const std::string w = b.Weight("fc.weight", {10, 784}, 0.06);
//   b.Output("logits", b.Node("Gemm", {x, w}, {{"transB", 1}}), {1, 10});
//   onnx::ModelProto model = b.Finish();
//
// Weights are uniform, by seed and by the position of the weight in the model: the same file on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onnx/onnx_pb.h"

namespace tilewright::bench {

class OnnxBuilder {
 public:
  using Dim = std::variant<int64_t, std::string>;  // an extent, or the name of a symbolic one
  using Dims = std::vector<Dim>;
  using AttrValue = std::variant<int64_t, float, std::string, std::vector<int64_t>>;
  using Attr = std::pair<std::string, AttrValue>;

  OnnxBuilder(const std::string& name, uint64_t seed, int64_t opset = 17);

  std::string Input(const std::string& name, int32_t type, const Dims& dims);
  // Uniform in [center - magnitude, center + magnitude].
  std::string Weight(const std::string& name, const std::vector<int64_t>& shape, double magnitude, double center = 0);
  // Initializers with given elements; scalars have no dimension.
  std::string Floats(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values);
  std::string Scalar(float value);
  std::string Int64Scalar(int64_t value);
  std::string Int64s(const std::vector<int64_t>& values);
  // Bytes of any value.
  std::string Bytes(const std::string& name, const std::vector<int64_t>& shape);

  // Gives the name of the result. Nodes are named by the scope, the operator and a number.
  std::string Node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<Attr>& attrs = {});
  // Gives the names of `count` results of an operator of another domain, at version 1 of it. An input may be "",
  // which is an absent one.
  std::vector<std::string> NodeOf(const std::string& domain, const std::string& op,
                                  const std::vector<std::string>& inputs, const std::vector<Attr>& attrs,
                                  int count = 1);
  // What nodes are named after from here on: "/layer1/layer1.0".
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  // Names the value, which a node of this builder made, as an output.
  void Output(const std::string& name, const std::string& value, const Dims& dims,
              int32_t type = onnx::TensorProto::FLOAT);

  onnx::ModelProto Finish() { return std::move(model_); }

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::TensorProto& Initializer(const std::string& name, int32_t type, const std::vector<int64_t>& shape);
  std::string NextName(const std::string& stem);
  uint64_t NextStream();

  onnx::ModelProto model_;
  const uint64_t seed_;
  std::string scope_;
  int64_t next_ = 0;  // number in the next name
  uint64_t weights_ = 0;
};

}  // namespace tilewright::bench

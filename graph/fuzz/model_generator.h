// What the operators of a random model are made with (random_model.h).
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graph/fuzz/random_model.h"

namespace tilewright::graph {

using Dims = std::vector<int64_t>;

// A value of the model.
struct RandomValue {
  std::string name;
  int32_t type = onnx::TensorProto::FLOAT;
  Dims shape;
  double low = -1, high = 1;  // of its elements
  bool exact = true;          // the same bits however it is computed

  size_t rank() const { return shape.size(); }
  int64_t size() const;
  bool is_float() const { return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE; }
};

// The greatest magnitude of its elements.
double Most(const RandomValue& x);
// Says that elements are rounded and at most so large. False where that is too much.
bool Bound(RandomValue& out, double most);

class ModelGenerator {
 public:
  explicit ModelGenerator(uint64_t seed);
  RandomModel Finish();

  // --- Choices.
  int64_t Pick(int64_t low, int64_t high);  // both ends included
  bool Chance(int percent) { return Pick(1, 100) <= percent; }
  template <class T>
  const T& OneOf(const std::vector<T>& all) {
    return all[static_cast<size_t>(Pick(0, static_cast<int64_t>(all.size()) - 1))];
  }
  int64_t Extent();
  Dims Shape(int64_t rank);

  // --- Values.
  // A value that is there, recent ones more often; of that kind, with at most `most` elements.
  RandomValue Any(bool is_float = true, int64_t most = 20000);
  RandomValue Input(Dims shape, int32_t type = onnx::TensorProto::FLOAT);
  RandomValue Constant(Dims shape, double low, double high, int32_t type = onnx::TensorProto::FLOAT);
  std::string Int64s(const Dims& values, bool scalar = false);
  std::string Floats(const std::vector<float>& values, const Dims& shape);
  std::string Scalar(double value, int32_t type);
  // A value of a shape that broadcasts to that one and does not enlarge it: a constant or one that is there.
  RandomValue BroadcastTo(const RandomValue& like);

  // --- Nodes. The result of a node: its shape, bounds and exactness are what the caller says.
  onnx::NodeProto* Node(const std::string& op, const std::vector<std::string>& inputs, int outputs = 1);
  void Add(RandomValue value) { values_.push_back(std::move(value)); }
  static void Set(onnx::NodeProto* node, const std::string& name, int64_t value);
  static void Set(onnx::NodeProto* node, const std::string& name, float value);
  static void Set(onnx::NodeProto* node, const std::string& name, const std::string& value);
  static void Set(onnx::NodeProto* node, const std::string& name, const Dims& values);
  // The node's first output as a value.
  static RandomValue Result(const onnx::NodeProto* node, RandomValue like) {
    like.name = node->output(0);
    return like;
  }

 private:
  std::string Name() { return "v" + std::to_string(names_++); }

  std::mt19937_64 random_;
  RandomModel out_;
  std::vector<RandomValue> values_;
  int names_ = 0;
};

// Adds a node or a few; false where no value fits.
using NodeMaker = bool (*)(ModelGenerator&);
const std::vector<NodeMaker>& ElementwiseMakers();
const std::vector<NodeMaker>& MovementMakers();
const std::vector<NodeMaker>& ReductionMakers();
const std::vector<NodeMaker>& ProductMakers();
const std::vector<NodeMaker>& QuantizedMakers();

}  // namespace tilewright::graph

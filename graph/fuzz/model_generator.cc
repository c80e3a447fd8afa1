#include "graph/fuzz/model_generator.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright::graph {
namespace {

DataType TypeOf(int32_t type) {
  switch (type) {
    case onnx::TensorProto::DOUBLE:
      return DataType::Float(64);
    case onnx::TensorProto::INT64:
      return DataType::Int(64);
    case onnx::TensorProto::INT32:
      return DataType::Int(32);
    case onnx::TensorProto::BOOL:
      return DataType::Bool();
    case onnx::TensorProto::INT8:
      return DataType::Int(8);
    case onnx::TensorProto::UINT8:
      return DataType::UInt(8);
    default:
      return DataType::Float(32);
  }
}

}  // namespace

int64_t RandomValue::size() const {
  int64_t size = 1;
  for (int64_t extent : shape) size *= extent;
  return size;
}

double Most(const RandomValue& x) { return std::max(std::abs(x.low), std::abs(x.high)); }

bool Bound(RandomValue& out, double most) {
  out.low = -most, out.high = most;
  out.exact = false;
  return most < 200;
}

ModelGenerator::ModelGenerator(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) {
  out_.model.set_ir_version(8);
  auto* import = out_.model.add_opset_import();
  import->set_domain("");
  import->set_version(17);
  auto* microsoft = out_.model.add_opset_import();
  microsoft->set_domain("com.microsoft");
  microsoft->set_version(1);
  out_.model.mutable_graph()->set_name("random");
}

int64_t ModelGenerator::Pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

int64_t ModelGenerator::Extent() {
  if (Chance(15)) return 1;
  return Chance(20) ? Pick(8, 40) : Pick(2, 7);
}

Dims ModelGenerator::Shape(int64_t rank) {
  Dims shape;
  for (int64_t d = 0; d < rank; ++d) shape.push_back(Extent());
  return shape;
}

RandomValue ModelGenerator::Any(bool is_float, int64_t most) {
  std::vector<const RandomValue*> fit;
  for (const RandomValue& value : values_) {
    if (value.is_float() == is_float && value.size() <= most) fit.push_back(&value);
  }
  if (fit.empty()) return is_float ? Input(Shape(Pick(1, 3))) : Input(Shape(Pick(0, 2)), onnx::TensorProto::INT64);
  const auto count = static_cast<int64_t>(fit.size());
  const int64_t at = Chance(60) ? Pick(std::max<int64_t>(0, count - 3), count - 1) : Pick(0, count - 1);
  return *fit[static_cast<size_t>(at)];
}

RandomValue ModelGenerator::Input(Dims shape, int32_t type) {
  RandomValue value{.name = Name(), .type = type, .shape = std::move(shape)};
  auto* input = out_.model.mutable_graph()->add_input();
  input->set_name(value.name);
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (int64_t extent : value.shape) {
    auto* dim = tensor->mutable_shape()->add_dim();
    // A symbol for each extent: equal ones are equal.
    if (extent > 7 && Chance(30)) {
      dim->set_dim_param("n" + std::to_string(extent));
    } else {
      dim->set_dim_value(extent);
    }
  }
  const NDArray array(TypeOf(type), value.shape);
  if (type == onnx::TensorProto::BOOL) {
    FillUniform(array, random_(), 0, 2);
  } else if (value.is_float()) {
    FillUniform(array, random_());
  } else {
    FillUniform(array, random_(), -8, 8);
    value.low = -8, value.high = 8;
  }
  out_.inputs.emplace(value.name, array);
  values_.push_back(value);
  return value;
}

RandomValue ModelGenerator::Constant(Dims shape, double low, double high, int32_t type) {
  RandomValue value{.name = Name(), .type = type, .shape = std::move(shape), .low = low, .high = high};
  auto* tensor = out_.model.mutable_graph()->add_initializer();
  tensor->set_name(value.name);
  tensor->set_data_type(type);
  for (int64_t extent : value.shape) tensor->add_dims(extent);
  const int64_t size = value.size();
  std::uniform_real_distribution<double> real(low, high);
  for (int64_t i = 0; i < size; ++i) {
    switch (type) {
      case onnx::TensorProto::FLOAT:
        tensor->add_float_data(static_cast<float>(real(random_)));
        break;
      case onnx::TensorProto::DOUBLE:
        tensor->add_double_data(real(random_));
        break;
      case onnx::TensorProto::INT64:
        tensor->add_int64_data(Pick(static_cast<int64_t>(low), static_cast<int64_t>(high)));
        break;
      default:
        tensor->add_int32_data(static_cast<int32_t>(Pick(static_cast<int64_t>(low), static_cast<int64_t>(high))));
    }
  }
  return value;
}

std::string ModelGenerator::Floats(const std::vector<float>& values, const Dims& shape) {
  const std::string name = Name();
  auto* tensor = out_.model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t extent : shape) tensor->add_dims(extent);
  for (float value : values) tensor->add_float_data(value);
  return name;
}

std::string ModelGenerator::Int64s(const Dims& values, bool scalar) {
  auto* tensor = out_.model.mutable_graph()->add_initializer();
  tensor->set_name(Name());
  tensor->set_data_type(onnx::TensorProto::INT64);
  if (!scalar) tensor->add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values) tensor->add_int64_data(value);
  return tensor->name();
}

std::string ModelGenerator::Scalar(double value, int32_t type) {
  auto* tensor = out_.model.mutable_graph()->add_initializer();
  tensor->set_name(Name());
  tensor->set_data_type(type);
  if (type == onnx::TensorProto::DOUBLE) {
    tensor->add_double_data(value);
  } else if (type == onnx::TensorProto::FLOAT) {
    tensor->add_float_data(static_cast<float>(value));
  } else if (type == onnx::TensorProto::INT64) {
    tensor->add_int64_data(static_cast<int64_t>(value));
  } else {
    tensor->add_int32_data(static_cast<int32_t>(value));
  }
  return tensor->name();
}

RandomValue ModelGenerator::BroadcastTo(const RandomValue& like) {
  std::vector<const RandomValue*> fit;
  for (const RandomValue& value : values_) {
    bool fits = value.type == like.type && value.rank() <= like.rank();
    for (size_t d = 0; fits && d < value.rank(); ++d) {
      const int64_t extent = value.shape[d];
      fits = extent == 1 || extent == like.shape[like.rank() - value.rank() + d];
    }
    if (fits) fit.push_back(&value);
  }
  if (!fit.empty() && Chance(65)) return *OneOf(fit);
  Dims shape(like.shape.begin() + Pick(0, static_cast<int64_t>(like.rank())), like.shape.end());
  for (int64_t& extent : shape) {
    if (Chance(25)) extent = 1;
  }
  const double low = like.is_float() ? -1 : 0, high = like.type == onnx::TensorProto::BOOL ? 1
                                                      : like.is_float()                    ? 1
                                                                                           : 5;
  return Constant(shape, low, high, like.type);
}

onnx::NodeProto* ModelGenerator::Node(const std::string& op, const std::vector<std::string>& inputs, int outputs) {
  auto* node = out_.model.mutable_graph()->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  for (int i = 0; i < outputs; ++i) node->add_output(Name());
  node->set_name(op + "_" + node->output(0));
  return node;
}

void ModelGenerator::Set(onnx::NodeProto* node, const std::string& name, int64_t value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}
void ModelGenerator::Set(onnx::NodeProto* node, const std::string& name, float value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(value);
}
void ModelGenerator::Set(onnx::NodeProto* node, const std::string& name, const std::string& value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(value);
}
void ModelGenerator::Set(onnx::NodeProto* node, const std::string& name, const Dims& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}

RandomModel ModelGenerator::Finish() {
  std::set<std::string> read, made;
  for (const auto& node : out_.model.graph().node()) {
    read.insert(node.input().begin(), node.input().end());
    made.insert(node.output().begin(), node.output().end());
  }
  for (const RandomValue& value : values_) {
    if (!made.contains(value.name) || (read.contains(value.name) && !Chance(12))) continue;
    auto* output = out_.model.mutable_graph()->add_output();
    output->set_name(value.name);
    output->mutable_type()->mutable_tensor_type()->set_elem_type(value.type);
  }
  return std::move(out_);
}

RandomModel MakeRandomModel(uint64_t seed, int nodes) {
  ModelGenerator g(seed);
  const int64_t kind = g.Pick(0, 3);
  // Images, sequences, matrices, anything.
  if (kind == 0) {
    g.Input({g.Pick(1, 2), g.OneOf<int64_t>({1, 3, 4, 8, 16}), g.Pick(4, 14), g.Pick(4, 14)});
  } else if (kind == 1) {
    g.Input({g.Pick(1, 2), g.Pick(3, 24), g.OneOf<int64_t>({4, 8, 16, 32, 48})});
  } else {
    g.Input(g.Shape(kind == 2 ? 2 : g.Pick(0, 5)), g.Chance(5) ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
  }
  if (g.Chance(30)) g.Input(g.Shape(g.Pick(0, 3)), onnx::TensorProto::INT64);
  const std::vector<const std::vector<NodeMaker>*> kinds = {&ElementwiseMakers(), &MovementMakers(), &ReductionMakers(),
                                                            &ProductMakers(), &QuantizedMakers()};
  for (int made = 0, tries = 0; made < nodes && tries < nodes * 20; ++tries) {
    const int64_t weight = g.Pick(1, 11);
    const size_t of = weight <= 4 ? 0 : weight <= 7 ? 1 : weight == 8 ? 2 : weight <= 10 ? 3 : 4;
    made += g.OneOf(*kinds[of])(g) ? 1 : 0;
  }
  return g.Finish();
}

}  // namespace tilewright::graph

// Random quantized products: at opt_level 2 they compute what they do at 0, and multiply bytes.
#include "graph/fusion/integer_products.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "autoschedule/program/contraction.h"
#include "graph/executor/onnx_model.h"
#include "graph/fusion/integer_form.h"
#include "graph/fusion/quantized_calls.h"
#include "graph/fusion/quantized_operand.h"
#include "graph/fusion/sink_dequantization.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "ir/functor.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using Dims = std::vector<int64_t>;

// A model of one quantized product, the same for the same seed.
class QuantizedModel {
 public:
  explicit QuantizedModel(uint64_t seed) : writer_(19), random_(seed) {}

  int64_t Pick(int64_t low, int64_t high) { return low + static_cast<int64_t>(random_() % (high - low + 1)); }
  template <class T>
  T OneOf(std::vector<T> values) {
    return values[random_() % values.size()];
  }
  bool Chance(int percent) { return Pick(1, 100) <= percent; }

  // An input of bytes, whose first extent is symbolic or not.
  std::string Input(int32_t type, const Dims& dims, bool symbolic) {
    std::vector<ModelWriter::Dim> declared;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d == 0 && symbolic) {
        declared.emplace_back("n");
      } else {
        declared.emplace_back(static_cast<int>(dims[d]));
      }
    }
    const NDArray array(Type(type), dims);
    Fill(array);
    writer_.Input("x", type, declared);
    inputs_["x"] = {Item::Kind::kTensor, {array}};
    return "x";
  }
  std::string Bytes(int32_t type, const Dims& dims, int64_t low = -200, int64_t high = 300) {
    const NDArray array(Type(type), dims);
    Fill(array, low, high);
    return Raw(type, dims, array);
  }
  std::string Ints(const Dims& dims) {
    const NDArray array(DataType::Int(32), dims);
    Fill(array, -2000, 2000);
    return Raw(TensorProto::INT32, dims, array);
  }
  std::string Floats(const Dims& dims, float low, float high) {
    int64_t size = 1;
    for (int64_t dim : dims) size *= dim;
    std::vector<float> values(static_cast<size_t>(size));
    for (float& value : values) value = low + (high - low) * static_cast<float>(Pick(0, 1000)) / 1000;
    writer_.Floats(Name(), dims, values);
    return last_;
  }
  onnx::NodeProto* Node(const std::string& op, const std::vector<std::string>& inputs) {
    return writer_.Node(op, inputs, {Name()});
  }
  static void Set(onnx::NodeProto* node, const std::string& name, const Dims& values) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INTS);
    attribute->mutable_ints()->Add(values.begin(), values.end());
  }
  std::string Name() { return last_ = "v" + std::to_string(++count_); }

  absl::StatusOr<std::unique_ptr<OnnxModel>> Load(const std::string& output, int level, Precision precision,
                                                  bool compiled = false) {
    if (writer_.graph().output_size() == 0) writer_.Output(output);
    return OnnxModel::Load(*writer_.File(), {.executor = {.interpret = !compiled},
                                             .passes = {.opt_level = level, .precision = precision, .check = true}});
  }
  const OnnxModel::Inputs& inputs() const { return inputs_; }

 private:
  static DataType Type(int32_t type) {
    if (type == TensorProto::INT32) return DataType::Int(32);
    return type == TensorProto::INT8 ? DataType::Int(8) : DataType::UInt(8);
  }
  void Fill(const NDArray& array, int64_t low = -200, int64_t high = 300) {
    if (array.dtype() == DataType::Int(8)) low = std::max<int64_t>(low, -128), high = std::min<int64_t>(high, 127);
    if (array.dtype() == DataType::UInt(8)) low = std::max<int64_t>(low, 0), high = std::min<int64_t>(high, 255);
    for (int64_t i = 0; i < array.size(); ++i) array.SetInt(i, Pick(low, high));
  }
  std::string Raw(int32_t type, const Dims& dims, const NDArray& array) {
    onnx::TensorProto* tensor = writer_.graph().add_initializer();
    tensor->set_name(Name());
    tensor->set_data_type(type);
    for (int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data(array.data(), static_cast<size_t>(array.bytes()));
    return last_;
  }

  ModelWriter writer_;
  std::mt19937_64 random_;
  int count_ = 0;
  std::string last_;
  OnnxModel::Inputs inputs_;
};

// What a random product is made of.
struct Operands {
  int32_t x_type, w_type;
  std::string x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero;
  bool symbolic = false;
};

// Weights [columns, ...] or [..., columns], with scales and zero points for all of them or for each column.
void AddOperands(QuantizedModel& m, Operands& o, const Dims& x, const Dims& w, int64_t columns) {
  o.x_type = m.OneOf<int32_t>({TensorProto::UINT8, TensorProto::UINT8, TensorProto::INT8});
  o.w_type = m.OneOf<int32_t>({TensorProto::INT8, TensorProto::INT8, TensorProto::UINT8});
  o.symbolic = m.Chance(40);
  const Dims each = m.Chance(60) ? Dims{columns} : Dims{};
  o.x = m.Input(o.x_type, x, o.symbolic);
  o.x_scale = m.Floats({}, 0.01f, 0.03f);
  o.x_zero = m.Chance(30) ? m.Bytes(o.x_type, {}, 0, 0) : m.Bytes(o.x_type, {});
  o.w = m.Bytes(o.w_type, w);
  o.w_scale = m.Floats(each, 0.001f, 0.01f);
  const int64_t middle = o.w_type == TensorProto::UINT8 ? 128 : 0;
  o.w_zero = m.Chance(60) ? m.Bytes(o.w_type, each, middle, middle) : m.Bytes(o.w_type, each, middle - 9, middle + 9);
  o.y_scale = m.Floats({}, 0.1f, 0.5f);
  o.y_zero = m.Bytes(o.x_type, {});
}

struct Window {
  Dims x, w, pads, strides, dilations;
  int64_t groups;
};
Window RandomWindow(QuantizedModel& m) {
  Window win;
  win.groups = m.OneOf<int64_t>({1, 1, 2, 5});
  const int64_t inputs = win.groups == 5 ? 5 : win.groups * m.Pick(1, 6);
  const int64_t filters = win.groups * (win.groups == 5 ? m.Pick(1, 2) : m.Pick(1, 9));
  const int64_t kernel = m.OneOf<int64_t>({1, 2, 3});
  win.x = {m.Pick(1, 3), inputs, m.Pick(5, 9), m.Pick(5, 9)};
  win.w = {filters, inputs / win.groups, kernel, m.OneOf<int64_t>({1, 3})};
  win.pads = {m.Pick(0, 2), m.Pick(0, 1), m.Pick(0, 1), m.Pick(0, 2)};
  win.strides = {m.Pick(1, 2), m.Pick(1, 2)};
  win.dilations = {m.Pick(1, 2), 1};
  return win;
}
void SetWindow(onnx::NodeProto* node, const Window& win) {
  ModelWriter::SetInt(node, "group", win.groups);
  QuantizedModel::Set(node, "pads", win.pads);
  QuantizedModel::Set(node, "strides", win.strides);
  QuantizedModel::Set(node, "dilations", win.dilations);
}

// An operator whose products are integers by its specification; its output.
std::string AddInteger(QuantizedModel& m) {
  Operands o;
  const int64_t kind = m.Pick(0, 3);
  if (kind < 2) {
    const Window win = RandomWindow(m);
    AddOperands(m, o, win.x, win.w, win.w[0]);
    const bool bias = m.Chance(50);
    std::vector<std::string> all = {o.x, o.x_scale, o.x_zero, o.w, o.w_scale, o.w_zero, o.y_scale, o.y_zero};
    if (kind == 0 && bias) all.push_back(m.Ints({win.w[0]}));
    auto* node = kind == 0 ? m.Node("QLinearConv", all) : m.Node("ConvInteger", {o.x, o.w, o.x_zero, o.w_zero});
    SetWindow(node, win);
    return node->output(0);
  }
  const int64_t depth = m.Pick(1, 40), columns = m.Pick(1, 33);
  const Dims x = m.Chance(50) ? Dims{m.Pick(1, 7), depth} : Dims{m.Pick(1, 3), m.Pick(1, 5), depth};
  AddOperands(m, o, x, {depth, columns}, columns);
  if (kind == 2) return m.Node("MatMulInteger", {o.x, o.w, o.x_zero, o.w_zero})->output(0);
  return m.Node("QLinearMatMul", {o.x, o.x_scale, o.x_zero, o.w, o.w_scale, o.w_zero, o.y_scale, o.y_zero})->output(0);
}

std::string Dequantize(QuantizedModel& m, const std::string& x, const std::string& scale, const std::string& zero,
                       int64_t axis) {
  auto* node = m.Node("DequantizeLinear", {x, scale, zero});
  ModelWriter::SetInt(node, "axis", axis);
  return node->output(0);
}

// A product of dequantized operands, in floats.
std::string AddFloat(QuantizedModel& m) {
  Operands o;
  const int64_t kind = m.Pick(0, 2);
  if (kind == 0) {
    const Window win = RandomWindow(m);
    AddOperands(m, o, win.x, win.w, win.w[0]);
    std::vector<std::string> all = {Dequantize(m, o.x, o.x_scale, o.x_zero, 1),
                                    Dequantize(m, o.w, o.w_scale, o.w_zero, 0)};
    if (m.Chance(50)) all.push_back(m.Floats({win.w[0]}, -1, 1));
    auto* node = m.Node("Conv", all);
    SetWindow(node, win);
    return node->output(0);
  }
  const int64_t depth = m.Pick(1, 40), columns = m.Pick(1, 33);
  const bool transposed = kind == 1 && m.Chance(50);
  const Dims x = kind == 1 || m.Chance(50) ? Dims{m.Pick(1, 7), depth} : Dims{m.Pick(1, 3), m.Pick(1, 5), depth};
  AddOperands(m, o, x, transposed ? Dims{columns, depth} : Dims{depth, columns}, columns);
  const std::string a = Dequantize(m, o.x, o.x_scale, o.x_zero, 1);
  const std::string b = Dequantize(m, o.w, o.w_scale, o.w_zero, transposed ? 0 : 1);
  if (kind == 2) return m.Node("MatMul", {a, b})->output(0);
  auto* node = m.Node("Gemm", {a, b, m.Floats({columns}, -1, 1)});
  ModelWriter::SetInt(node, "transB", transposed ? 1 : 0);
  return node->output(0);
}

NDArray RunAt(QuantizedModel& m, const std::string& output, int level, Precision precision, bool compiled = false) {
  const auto model = m.Load(output, level, precision, compiled);
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    return {};
  }
  const auto result = (*model)->Run(m.inputs());
  if (!result.ok()) {
    ADD_FAILURE() << result.status();
    return {};
  }
  return (*result)[0].arrays[0];
}

// The operands' types of the only product in a model's programs.
std::vector<DataType> ProductOf(const OnnxModel& model) {
  std::vector<DataType> types;
  for (const ModuleEntry& entry : model.module().entries()) {
    if (!entry.program) continue;
    PreOrder(entry.program->body, [&](const Stmt& stmt) {
      const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
      if (realize == nullptr || !realize->block->init) return true;
      const auto contraction = MatchContraction(*realize);
      if (contraction.ok()) types = {contraction->row_operand->dtype, contraction->column_operand->dtype};
      return true;
    });
  }
  return types;
}

constexpr int kSeeds = 120;

TEST(IntegerProducts, IntegerOperatorsKeepEveryBit) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    QuantizedModel m(seed);
    const std::string output = AddInteger(m);
    const NDArray plain = RunAt(m, output, 0, Precision::kExact), optimized = RunAt(m, output, 2, Precision::kExact);
    ASSERT_TRUE(BitEqual(plain, optimized)) << "seed " << seed;
    if (seed % 12 == 0) ASSERT_TRUE(BitEqual(plain, RunAt(m, output, 2, Precision::kExact, true))) << "seed " << seed;
  }
}

TEST(IntegerProducts, FloatsDifferByRounding) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    QuantizedModel m(seed);
    const std::string output = AddFloat(m);
    const NDArray plain = RunAt(m, output, 0, Precision::kExact);
    for (const bool compiled : {false, true}) {
      if (compiled && seed % 12 != 0) continue;
      const NDArray integer = RunAt(m, output, 2, Precision::kInteger, compiled);
      ASSERT_EQ(plain.shape(), integer.shape());
      double largest = 1, error = 0;
      for (int64_t i = 0; i < plain.size(); ++i) {
        largest = std::max(largest, std::abs(plain.Get(i)));
        error = std::max(error, std::abs(plain.Get(i) - integer.Get(i)));
      }
      ASSERT_LE(error, 2e-5 * largest) << "seed " << seed;
    }
  }
}

// A convolution of an image with a zero point around it.
std::string AddConvolution(QuantizedModel& m, const Dims& weights, int32_t w_type, int64_t w_zero, bool floats) {
  Operands o;
  o.x = m.Input(TensorProto::UINT8, {2, weights[1], 6, 6}, true);
  o.x_scale = m.Floats({}, 0.5f, 0.5f);
  o.x_zero = m.Bytes(TensorProto::UINT8, {}, 77, 77);
  o.w = m.Bytes(w_type, weights);
  o.w_zero = m.Bytes(w_type, {weights[0]}, w_zero, w_zero);
  auto* node = floats ? m.Node("Conv", {Dequantize(m, o.x, o.x_scale, o.x_zero, 1),
                                        Dequantize(m, o.w, m.Floats({weights[0]}, 0.1f, 0.2f), o.w_zero, 0)})
                      : m.Node("ConvInteger", {o.x, o.w, o.x_zero, o.w_zero});
  QuantizedModel::Set(node, "pads", {1, 1, 1, 1});
  return node->output(0);
}

TEST(IntegerProducts, MultipliesBytes) {
  const std::vector<DataType> bytes = {DataType::UInt(8), DataType::Int(8)};
  for (const bool floats : {false, true}) {
    for (const bool is_signed : {false, true}) {
      QuantizedModel m(1);
      const std::string output = AddConvolution(m, {8, 4, 3, 3}, is_signed ? TensorProto::INT8 : TensorProto::UINT8,
                                                is_signed ? 0 : 128, floats);
      const auto model = m.Load(output, 2, floats ? Precision::kInteger : Precision::kExact);
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_EQ(ProductOf(**model), bytes);
    }
  }
}

TEST(IntegerProducts, LeavesFloatsAsTheModelHasThem) {
  QuantizedModel m(1);
  const std::string output = AddConvolution(m, {8, 4, 3, 3}, TensorProto::INT8, 0, true);
  const auto model = m.Load(output, 2, Precision::kExact);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<DataType> types = ProductOf(**model);
  EXPECT_TRUE(types.empty() || types[0].is_float());
}

// 33 thousand products of bytes may leave int32.
TEST(IntegerProducts, LeavesLongSums) {
  QuantizedModel m(1);
  const int64_t depth = 40000;
  const std::string x = m.Input(TensorProto::UINT8, {1, depth}, false);
  const std::string zero = m.Bytes(TensorProto::UINT8, {}, 200, 200), scale = m.Floats({}, 1, 1);
  const std::string w = m.Bytes(TensorProto::INT8, {depth, 2}, -128, -128);
  const std::string w_zero = m.Bytes(TensorProto::INT8, {}, 0, 0);
  const std::string output =
      m.Node("MatMul", {Dequantize(m, x, scale, zero, 1), Dequantize(m, w, scale, w_zero, 1)})->output(0);
  const auto model = m.Load(output, 2, Precision::kInteger);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<DataType> types = ProductOf(**model);
  EXPECT_TRUE(types.empty() || types[0].is_float());
}

// Two readers of a dequantized value each read bytes.
TEST(SinkDequantization, ReadersReadBytes) {
  QuantizedModel m(1);
  const std::string x = m.Input(TensorProto::UINT8, {4, 8}, false);
  const std::string zero = m.Bytes(TensorProto::UINT8, {}, 3, 3), scale = m.Floats({}, 0.5f, 0.5f);
  const std::string y = Dequantize(m, x, scale, zero, 1);
  const std::string sum = m.Node("Sin", {y})->output(0), product = m.Node("Cos", {y})->output(0);
  auto* concat = m.Node("Concat", {sum, product});
  ModelWriter::SetInt(concat, "axis", 0);
  const std::string output = concat->output(0);
  ASSERT_TRUE(BitEqual(RunAt(m, output, 0, Precision::kExact), RunAt(m, output, 2, Precision::kExact)));
}

}  // namespace
}  // namespace tilewright::graph

// Models loaded for a library have a plan, and give what the host's functions give.
#include "graph/executor/library_programs.h"

#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

struct TopKCase {
  int32_t type;
  std::vector<int> shape;
  int64_t axis, k;
  bool largest;
  bool is_symbolic = false;
};

ModelWriter ModelOf(const TopKCase& c) {
  ModelWriter m(17);
  std::vector<ModelWriter::Dim> dims(c.shape.begin(), c.shape.end());
  if (c.is_symbolic) dims[static_cast<size_t>(c.axis)] = "n";
  m.Input("x", c.type, dims);
  m.Int64s("k", {c.k});
  auto* node = m.Node("TopK", {"x", "k"}, {"values", "places"});
  ModelWriter::SetInt(node, "axis", c.axis);
  ModelWriter::SetInt(node, "largest", c.largest ? 1 : 0);
  m.Output("values");
  m.Output("places");
  return m;
}

// Few different numbers, so that many are equal, and where there are floats also NaN, infinities and both zeros.
NDArray Drawn(const TopKCase& c, uint32_t seed) {
  NDArray x(*ElementType(c.type), {c.shape.begin(), c.shape.end()});
  std::mt19937 random(seed);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double special[] = {-0.0, kInf, -kInf, std::numeric_limits<double>::quiet_NaN()};
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto number = static_cast<double>(random() % 9);
    if (!x.dtype().is_float()) {
      x.SetInt(i, static_cast<int64_t>(number));
    } else {
      x.Set(i, random() % 5 == 0 ? special[random() % 4] : number - 4);
    }
  }
  return x;
}

TEST(LibraryPrograms, TopK) {
  const TopKCase cases[] = {
      {TensorProto::FLOAT, {3, 20}, 1, 5, true},    {TensorProto::FLOAT, {20, 3}, 0, 1, false},
      {TensorProto::FLOAT16, {2, 9}, 1, 9, true},   {TensorProto::BFLOAT16, {7}, 0, 3, false},
      {TensorProto::INT64, {2, 8, 3}, 1, 4, false}, {TensorProto::UINT8, {1, 40}, 1, 2, true},
      {TensorProto::DOUBLE, {4, 1}, 1, 1, true},    {TensorProto::FLOAT, {2, 30}, 1, 4, true, true}};
  for (const TopKCase& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.type, " k ", c.k));
    const ModelWriter m = ModelOf(c);
    const auto host = OnnxModel::Load(*m.File(), {}), library = OnnxModel::Load(*m.File(), {.as_library = true});
    ASSERT_TRUE(host.ok()) << host.status();
    ASSERT_TRUE(library.ok()) << library.status();
    EXPECT_EQ((*host)->executor().planned(), nullptr);
    EXPECT_NE((*library)->executor().planned(), nullptr);
    for (uint32_t seed = 0; seed < 8; ++seed) {
      const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {Drawn(c, seed)}}}};
      const auto wanted = (*host)->Run(inputs), got = (*library)->Run(inputs);
      ASSERT_TRUE(wanted.ok()) << wanted.status();
      ASSERT_TRUE(got.ok()) << got.status();
      for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(BitEqual((*got)[i].arrays[0], (*wanted)[i].arrays[0])) << i;
    }
  }
}

TEST(LibraryPrograms, MoreThanThereAreIsAnError) {
  const TopKCase c{TensorProto::FLOAT, {2, 30}, 1, 4, true, true};
  const auto library = OnnxModel::Load(*ModelOf(c).File(), {.as_library = true});
  ASSERT_TRUE(library.ok()) << library.status();
  TopKCase narrow = c;
  narrow.shape = {2, 3};
  EXPECT_FALSE((*library)->Run({{"x", {Item::Kind::kTensor, {Drawn(narrow, 1)}}}}).ok());
}

// The same results as on the host, from a plan.
void ExpectAsOnHost(const ModelWriter& m, const OnnxModel::Inputs& inputs) {
  const auto host = OnnxModel::Load(*m.File(), {}), library = OnnxModel::Load(*m.File(), {.as_library = true});
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_NE((*library)->executor().planned(), nullptr);
  const auto wanted = (*host)->Run(inputs), got = (*library)->Run(inputs);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), wanted->size());
  for (size_t i = 0; i < got->size(); ++i) {
    const NDArray &a = (*got)[i].arrays[0], &b = (*wanted)[i].arrays[0];
    ASSERT_EQ(a.shape(), b.shape()) << i;
    EXPECT_LE(MaxError(b, a).max_rel, 1e-6) << i;
  }
}

OnnxModel::Tensors Uniform(DataType type, std::vector<int64_t> shape) {
  NDArray array(type, std::move(shape));
  FillUniform(array, 5, -2, 2);
  return {Item::Kind::kTensor, {array}};
}

TEST(LibraryPrograms, Determinants) {
  for (const auto& [type, shape] : {std::pair(TensorProto::FLOAT, std::vector<int>{3, 4, 4}),
                                    {TensorProto::FLOAT, {7, 7}},
                                    {TensorProto::DOUBLE, {2, 3, 1, 1}},
                                    {TensorProto::FLOAT16, {2, 2}}}) {
    SCOPED_TRACE(shape.size());
    ModelWriter m(17);
    m.Input("x", type, {shape.begin(), shape.end()});
    m.Node("Det", {"x"}, {"y"});
    m.Output("y");
    ExpectAsOnHost(m, {{"x", Uniform(*ElementType(type), {shape.begin(), shape.end()})}});
  }
}

// A state of two numbers, and a sequence of three along the second dimension, backwards or not.
ModelWriter ScanModel(bool backwards) {
  ModelWriter m(17);
  m.Input("s", TensorProto::FLOAT, {2});
  m.Input("x", TensorProto::FLOAT, {2, 3});
  onnx::NodeProto* scan = m.Node("Scan", {"s", "x"}, {"last", "all"});
  ModelWriter::SetInt(scan, "num_scan_inputs", 1);
  const auto integers = [&](const char* name, int64_t value) {
    auto* attribute = scan->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INTS);
    attribute->add_ints(value);
  };
  integers("scan_input_axes", 1);
  integers("scan_output_axes", -1);
  integers("scan_input_directions", backwards ? 1 : 0);
  integers("scan_output_directions", backwards ? 1 : 0);
  auto* body = scan->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& g = *body->mutable_g();
  ModelWriter::AddNode(g.add_node(), "Mul", {"state", "element"}, {"product"});
  ModelWriter::AddNode(g.add_node(), "Add", {"product", "s"}, {"next"});
  ModelWriter::AddNode(g.add_node(), "Neg", {"next"}, {"row"});
  ModelWriter::AddValue(g.add_input(), "state", TensorProto::FLOAT, {2});
  ModelWriter::AddValue(g.add_input(), "element", TensorProto::FLOAT, {2});
  ModelWriter::AddValue(g.add_output(), "next", TensorProto::FLOAT, {2});
  ModelWriter::AddValue(g.add_output(), "row", TensorProto::FLOAT, {2});
  m.Output("last");
  m.Output("all");
  return m;
}

TEST(LibraryPrograms, Scans) {
  const DataType f32 = DataType::Float(32);
  for (const bool backwards : {false, true}) {
    ExpectAsOnHost(ScanModel(backwards), {{"s", Uniform(f32, {2})}, {"x", Uniform(f32, {2, 3})}});
  }
}

// Loops count to a number that is known.
TEST(LibraryPrograms, Loops) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {3});
  m.Int64s("trips", {4}, /*scalar=*/true);
  onnx::NodeProto* loop = m.Node("Loop", {"trips", "", "x"}, {"last", "all"});
  auto* body = loop->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& g = *body->mutable_g();
  ModelWriter::AddNode(g.add_node(), "CastLike", {"i", "v"}, {"number"});
  ModelWriter::AddNode(g.add_node(), "Add", {"v", "number"}, {"w"});
  ModelWriter::AddNode(g.add_node(), "Identity", {"c"}, {"go"});
  ModelWriter::AddNode(g.add_node(), "Neg", {"w"}, {"row"});
  ModelWriter::AddValue(g.add_input(), "i", TensorProto::INT64, {});
  ModelWriter::AddValue(g.add_input(), "c", TensorProto::BOOL, {});
  ModelWriter::AddValue(g.add_input(), "v", TensorProto::FLOAT, {3});
  ModelWriter::AddValue(g.add_output(), "go", TensorProto::BOOL, {});
  ModelWriter::AddValue(g.add_output(), "w", TensorProto::FLOAT, {3});
  ModelWriter::AddValue(g.add_output(), "row", TensorProto::FLOAT, {3});
  m.Output("last");
  m.Output("all");
  ExpectAsOnHost(m, {{"x", Uniform(DataType::Float(32), {3})}});
}

}  // namespace
}  // namespace tilewright::graph

// Files whose form is wrong: an attribute, an operand, a name or a declaration that ONNX does not allow is an error
// that names it.
#include <functional>
#include <random>

#include "gmock/gmock.h"
#include "graph/host/host_ops.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/import.h"
#include "graph/onnx/operator_list.h"
#include "graph/onnx/operators.h"
#include "graph/onnx/signatures.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;

// What is wrong with the model; empty: nothing.
std::string RefusalOf(const onnx::ModelProto& model) {
  static const OpTable* const ops = [] {
    auto* table = new OpTable;
    AddBasicOps(table);
    AddHostOps(table);
    return table;
  }();
  const auto file = ModelWriter::FileOf(model.SerializeAsString());
  if (!file.ok()) return std::string(file.status().message());
  const auto imported = ImportModel(**file, *ops);
  return std::string((imported.ok() ? UnsupportedError(*imported) : imported.status()).message());
}

// A convolution by w, an activation, and a function of the model.
ModelWriter Model() {
  ModelWriter m(17);
  m.Import("com.microsoft", 1);
  m.Input("x", TensorProto::FLOAT, {"n", 2, 8, 8});
  m.Floats("w", {4, 2, 3, 3}, std::vector<float>(72, 0.5f));
  m.Node("Conv", {"x", "w"}, {"c"});
  m.Node("FastGelu", {"c"}, {"g"})->set_domain("com.microsoft");
  auto* function = m.model().add_functions();
  function->set_name("Double");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(17);
  ModelWriter::AddNode(function->add_node(), "Add", {"a", "a"}, {"b"});
  m.Node("Double", {"g"}, {"y"})->set_domain("local");
  ModelWriter::AddValue(m.graph().add_output(), "y", TensorProto::FLOAT, {"n", 4, 6, 6});
  return m;
}

struct Fault {
  const char* name;
  std::function<void(onnx::ModelProto&)> apply;
  const char* message;
};

std::vector<Fault> Faults() {
  const auto node = [](onnx::ModelProto& m, int i) { return m.mutable_graph()->mutable_node(i); };
  const auto initializer = [](onnx::ModelProto& m, const char* name) {
    TensorProto& tensor = *m.mutable_graph()->add_initializer();
    tensor = m.graph().initializer(0);
    tensor.set_name(name);
  };
  const auto declared = [](onnx::ModelProto& m) {
    return m.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  };
  return {
      {"misspelt", [=](auto& m) { ModelWriter::SetInt(node(m, 0), "groups", 1); },
       "node \"node_c\", operator Conv, opset 17, inputs (R.Tensor((n, 2, 8, 8), dtype=\"float32\"), R.Tensor((4, 2, "
       "3, 3), "
       "dtype=\"float32\")): the attribute groups is not one of Conv's at opset 17, which are: auto_pad, dilations, "
       "group, "
       "kernel_shape, pads, strides"},
      {"misspelt_microsoft", [=](auto& m) { ModelWriter::SetInt(node(m, 1), "exact", 1); },
       "the attribute exact is not one of FastGelu's at opset 1, which are: none"},
      {"twice",
       [=](auto& m) {
         ModelWriter::SetInt(node(m, 0), "group", 1);
         ModelWriter::SetInt(node(m, 0), "group", 1);
       },
       "operator Conv, opset 17, inputs (R.Tensor((n, 2, 8, 8), dtype=\"float32\"), R.Tensor((4, 2, 3, 3), "
       "dtype=\"float32\")): it "
       "has the attribute group twice"},
      {"twice_of_a_function",
       [=](auto& m) {
         ModelWriter::SetInt(node(m, 2), "k", 1);
         ModelWriter::SetInt(node(m, 2), "k", 1);
       },
       "it has the attribute k twice"},
      {"inputs",
       [=](auto& m) {
         for (int i = 0; i < 2; ++i) node(m, 0)->add_input("x");
       },
       "it has more inputs than the operator takes: 4, at most 3"},
      {"few_inputs", [=](auto& m) { node(m, 0)->mutable_input()->RemoveLast(); },
       "it has fewer inputs than the operator takes: 1, at least 2"},
      {"outputs", [=](auto& m) { node(m, 0)->add_output("more"); },
       "it has more outputs than the operator gives: 2, at most 1"},
      {"operands_of_a_function", [=](auto& m) { node(m, 2)->add_input("x"); },
       "it has more inputs or outputs than the function of the model that it calls"},
      {"initializers", [=](auto& m) { initializer(m, "w"); }, "two initializers have the name \"w\""},
      {"sparse_initializers",
       [=](auto& m) {
         auto* sparse = m.mutable_graph()->add_sparse_initializer();
         *sparse->mutable_values() = m.graph().initializer(0);
         sparse->mutable_values()->clear_dims();
         sparse->mutable_values()->add_dims(72);
         sparse->mutable_indices()->set_data_type(TensorProto::INT64);
         sparse->mutable_indices()->add_dims(72);
         for (int i = 0; i < 72; ++i) sparse->mutable_indices()->add_int64_data(i);
         sparse->add_dims(72);
       },
       "two initializers have the name \"w\""},
      {"initializer_and_output", [=](auto& m) { initializer(m, "c"); },
       "node \"node_c\" (Conv): the value \"c\" is defined twice"},
      {"no_opset", [](auto& m) { m.mutable_opset_import()->DeleteSubrange(0, 1); },
       "the model does not import the domain \"\" (opset_import)"},
      {"no_domain", [](auto& m) { m.mutable_opset_import()->DeleteSubrange(1, 1); },
       "the model does not import the domain \"com.microsoft\" (opset_import)"},
      {"no_opset_of_a_function", [](auto& m) { m.mutable_functions(0)->clear_opset_import(); },
       "the function of the model does not import the domain \"\" (opset_import)"},
      {"declared_type", [=](auto& m) { declared(m)->set_elem_type(TensorProto::INT64); },
       "output \"y\" is declared as INT64 of (n, 4, 6, 6), and node \"node_y\" (local:Double) gives R.Tensor((n, 4, 6, "
       "6), dtype=\"float32\")"},
  };
}

TEST(Structure, FaultsAreErrors) {
  EXPECT_EQ(RefusalOf(Model().model()), "");
  for (const Fault& fault : Faults()) {
    ModelWriter m = Model();
    fault.apply(m.model());
    EXPECT_THAT(RefusalOf(m.model()), HasSubstr(fault.message)) << fault.name;
  }
}

// Two faults at once hide neither.
TEST(Structure, TwoFaultsAreErrors) {
  std::mt19937 random(1);
  const std::vector<Fault> faults = Faults();
  for (int round = 0; round < 200; ++round) {
    ModelWriter m = Model();
    const Fault &first = faults[random() % faults.size()], &second = faults[random() % faults.size()];
    // Each fault counts the nodes and imports of the model as it was.
    if (std::string(first.name).starts_with("no_") || std::string(second.name).starts_with("few")) continue;
    first.apply(m.model());
    second.apply(m.model());
    EXPECT_NE(RefusalOf(m.model()), "") << first.name << ", " << second.name;
  }
}

// What tools write, and ONNX's checker takes.
TEST(Structure, OtherFormsAreAccepted) {
  const std::vector<std::pair<const char*, std::function<void(ModelWriter&)>>> forms = {
      {"an annotation", [](ModelWriter& m) { ModelWriter::SetInt(m.graph().mutable_node(0), "__origin", 3); }},
      {"a newer attribute of com.microsoft, at its default",
       [](ModelWriter& m) { ModelWriter::SetInt(m.graph().mutable_node(1), "exact", 0); }},
      {"a domain that nothing uses", [](ModelWriter& m) { m.Import("ai.onnx.ml", 3); }},
      {"an absent operand", [](ModelWriter& m) { m.graph().mutable_node(0)->add_input(""); }},
      {"texts",
       [](ModelWriter& m) {
         m.graph().mutable_node(0)->set_doc_string("first");
         m.graph().set_doc_string("graph");
       }},
      {"an output without a type", [](ModelWriter& m) { m.graph().mutable_output(0)->clear_type(); }},
      {"an output with another extent",
       [](ModelWriter& m) {
         auto* type = m.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
         type->mutable_shape()->mutable_dim(1)->set_dim_value(5);
       }},
      {"an output without extents",
       [](ModelWriter& m) { m.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape(); }},
      {"a default of an input", [](ModelWriter& m) { m.Input("w", TensorProto::FLOAT, {4, 2, 3, 3}); }},
  };
  for (const auto& [name, apply] : forms) {
    ModelWriter m = Model();
    apply(m);
    EXPECT_EQ(RefusalOf(m.model()), "") << name;
  }
}

// Models of the first versions of the format import no opsets.
TEST(Structure, OldModelsHaveTheFirstOpset) {
  ModelWriter m(1);
  m.model().clear_opset_import();
  m.model().set_ir_version(2);
  m.Input("x", TensorProto::FLOAT, {2, 3});
  auto* node = m.Node("Relu", {"x"}, {"y"});
  auto* attribute = node->add_attribute();
  attribute->set_name("consumed_inputs");
  attribute->set_type(onnx::AttributeProto::INTS);
  attribute->add_ints(0);
  m.Output("y");
  EXPECT_EQ(RefusalOf(m.model()), "");
}

// Attributes come and go.
TEST(Structure, AttributesBelongToOpsets) {
  for (const auto& [opset, inputs, refused] : {std::tuple(11, 1, false), std::tuple(13, 1, true)}) {
    ModelWriter m(opset);
    m.Input("x", TensorProto::FLOAT, {2, 1});
    auto* node = m.Node("Squeeze", {"x"}, {"y"});
    auto* attribute = node->add_attribute();
    attribute->set_name("axes");
    attribute->set_type(onnx::AttributeProto::INTS);
    attribute->add_ints(1);
    m.Output("y");
    EXPECT_THAT(RefusalOf(m.model()),
                refused ? HasSubstr("the attribute axes is not one of Squeeze's at opset 13") : HasSubstr(""));
    EXPECT_EQ(RefusalOf(m.model()).empty(), !refused);
  }
}

TEST(Structure, EveryOperatorHasASignature) {
  for (const auto& [domain, name] : OperatorNames()) {
    // ONNX Runtime has this operator in the default domain only; some tools wrote it elsewhere.
    if (domain == kMicrosoft && name == "LayerNormalization") continue;
    EXPECT_NE(FindSignature(domain, name), nullptr) << domain << " " << name;
  }
  const auto rows = SignatureTable();
  for (size_t i = 1; i < rows.size(); ++i) {
    const std::pair<std::string, std::string> before(rows[i - 1].domain, rows[i - 1].name);
    EXPECT_LT(before, std::pair(std::string(rows[i].domain), std::string(rows[i].name)));
  }
}

}  // namespace
}  // namespace tilewright::graph

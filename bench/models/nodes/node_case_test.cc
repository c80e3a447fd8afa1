#include "bench/models/nodes/node_case.h"

#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "bench/models/nodes/formula.h"
#include "bench/models/nodes/node_attribute.h"
#include "bench/models/nodes/node_tensor.h"
#include "graph/host/host_ops.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/op.h"
#include "graph/onnx/import.h"
#include "graph/onnx/operator_list.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

std::vector<NodeCase> AllCases() {
  std::vector<NodeCase> all;
  for (const auto& entry : std::filesystem::directory_iterator("bench/models/nodes/cases")) {
    const auto text = ReadFile(entry.path().string());
    EXPECT_TRUE(text.ok()) << text.status();
    auto cases = ParseNodeCases(text.value_or(""));
    EXPECT_TRUE(cases.ok()) << entry.path() << ": " << cases.status();
    if (cases.ok()) all.insert(all.end(), cases->begin(), cases->end());
  }
  return all;
}

TEST(Table, HasCasesOfEveryOperator) {
  std::set<std::pair<std::string, std::string>> left = graph::OperatorNames();
  const std::vector<NodeCase> all = AllCases();
  EXPECT_GE(all.size(), 300u);
  for (const NodeCase& one : all) {
    for (const auto& name : one.operators) left.erase(name);
  }
  std::vector<std::string> names;
  for (const auto& [domain, name] : left) names.push_back(absl::StrCat(domain, domain.empty() ? "" : ":", name));
  EXPECT_TRUE(left.empty()) << "no case of bench/models/nodes/cases has " << absl::StrJoin(names, ", ");
}

TEST(Table, IsImported) {
  std::set<std::string> seen;
  graph::OpTable ops;
  graph::AddBasicOps(&ops);
  graph::AddHostOps(&ops);
  for (const NodeCase& one : AllCases()) {
    EXPECT_TRUE(seen.insert(one.text).second) << "twice: " << one.text;
    for (const bool symbolic : {false, true}) {
      if (symbolic && !one.has_batch()) continue;
      auto bytes = std::make_shared<std::string>((symbolic ? one.Symbolic() : one.model).SerializeAsString());
      const absl::Span<const std::byte> view(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size());
      const auto file = graph::ModelFile::FromBytes(bytes, view, "");
      ASSERT_TRUE(file.ok()) << one.text << file.status();
      const auto imported = graph::ImportModel(**file, ops);
      ASSERT_TRUE(imported.ok()) << one.text << ": " << imported.status();
      std::string reasons;
      for (const auto& node : imported->unsupported) absl::StrAppend(&reasons, node.op, " ", node.reason, "; ");
      EXPECT_TRUE(imported->unsupported.empty()) << one.text << (symbolic ? " (symbolic): " : ": ") << reasons;
    }
  }
}

TEST(NodeCase, IsAModel) {
  const auto one = ParseNodeCase("Conv x=n1,8,9,9 w=4,8,3,3 - group=1 pads=1,1,1,1 auto_pad=NOTSET");
  ASSERT_TRUE(one.ok()) << one.status();
  const onnx::GraphProto& graph = one->model.graph();
  ASSERT_EQ(graph.node_size(), 1);
  EXPECT_EQ(graph.node(0).op_type(), "Conv");
  EXPECT_EQ(absl::StrJoin(graph.node(0).input(), ","), "x0,w1,");
  EXPECT_EQ(graph.initializer(0).dims_size(), 4);
  EXPECT_EQ(graph.node(0).attribute(0).i(), 1);
  EXPECT_EQ(graph.node(0).attribute(1).ints_size(), 4);
  EXPECT_EQ(graph.node(0).attribute(2).s(), "NOTSET");
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(0).dim_value(), 1);
  EXPECT_EQ(one->Symbolic().graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "n");
  EXPECT_TRUE(BitEqual(one->Arrays(3)[0], one->Arrays(3)[0]));
  EXPECT_FALSE(BitEqual(one->Arrays(3)[0], one->Arrays(4)[0]));
}

TEST(NodeCase, HasBodiesAndSeveralNodes) {
  const auto one = ParseNodeCase(
      "Identity x=2 -> a | If x=bool:() then_branch={-> t | Relu a -> t} else_branch={-> e | "
      "ms:Gelu a -> e} within=0.5");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->model.graph().node_size(), 2);
  EXPECT_EQ(one->model.graph().node(1).attribute(0).g().node(0).op_type(), "Relu");
  EXPECT_TRUE(one->operators.contains({"com.microsoft", "Gelu"}));
  EXPECT_EQ(one->tolerance, 0.5);
  const auto loop = ParseNodeCase("Loop w=i64:()=2 w=bool:()=1 x=3 body={i:i64:() c s:3 -> c t | Neg s -> t}");
  ASSERT_TRUE(loop.ok()) << loop.status();
  const onnx::GraphProto& body = loop->model.graph().node(0).attribute(0).g();
  EXPECT_EQ(body.input(0).type().tensor_type().elem_type(), onnx::TensorProto::INT64);
  EXPECT_FALSE(body.input(1).has_type());
  EXPECT_EQ(body.input(2).type().tensor_type().shape().dim(0).dim_value(), 3);
}

TEST(NodeCase, RefusesWhatItCannotRead) {
  const std::pair<const char*, const char*> wrong[] = {
      {"Relu x=f33:4", "\"f33\" is not a type"},
      {"Relu x=4,y", "\"y\" is not an extent"},
      {"Relu x=4~5..1", "not a range"},
      {"Relu w=3=1,2", "2 elements for a tensor of 3"},
      {"Relu w=i64:3=i%0", "is not a formula"},
      {"Relu x=4 within=near", "not a tolerance"},
      {"abc:Relu x=4", "the domain is not one of"},
      {"Loop body={a | Relu a -> b}", "INPUTS -> OUTPUTS"},
      {"Relu values=[3=i:A,B]", "there is no word 2"},
      {"Relu x=4 -> a -> b", "a node is"},
      {"Relu x=4 | | Relu y", "a node is"},
  };
  for (const auto& [line, what] : wrong) {
    const auto one = ParseNodeCase(line);
    ASSERT_FALSE(one.ok()) << line;
    EXPECT_NE(std::string(one.status().message()).find(what), std::string::npos) << line << ": " << one.status();
  }
  EXPECT_EQ(ParseNodeCases("# text\n\nRelu x=q\n").status().message().substr(0, 7), "line 3:");
}

TEST(Formula, IsEvaluated) {
  EXPECT_EQ(*EvaluateFormula("(i*7+3)%20", 9), 6);
  EXPECT_EQ(*EvaluateFormula("i%63<31", 64), 1);
  EXPECT_EQ(*EvaluateFormula("2-i*3", 4), -10);
  for (const char* wrong : {"", "i i", "(i", "j", "1/0", "1000000000000", "999999999*999999999*999999999"}) {
    EXPECT_FALSE(EvaluateFormula(wrong, 1).ok()) << wrong;
  }
}

TEST(Attribute, HasTheTypeThatItsTextHas) {
  onnx::NodeProto node;
  for (const auto& [name, text] : std::map<std::string, std::string>{{"a", "2"},
                                                                     {"b", "0.5"},
                                                                     {"c", "\"x,y\""},
                                                                     {"d", "[1]"},
                                                                     {"e", "a,b"},
                                                                     {"f", "i64:2=3,4"},
                                                                     {"g", "[3=i%2:A,B]"},
                                                                     {"h", "[4~-1.0..1.0]"}}) {
    ASSERT_TRUE(AddAttribute(name, text, node).ok()) << text;
  }
  EXPECT_EQ(node.attribute(0).i(), 2);
  EXPECT_EQ(node.attribute(1).f(), 0.5f);
  EXPECT_EQ(node.attribute(2).s(), "x,y");
  EXPECT_EQ(node.attribute(3).ints(0), 1);
  EXPECT_EQ(node.attribute(4).strings(1), "b");
  EXPECT_EQ(node.attribute(5).t().dims(0), 2);
  EXPECT_EQ(absl::StrJoin(node.attribute(6).strings(), ""), "ABA");
  EXPECT_EQ(node.attribute(7).floats_size(), 4);
}

TEST(Tensor, HasElementsOfItsType) {
  const auto given = ParseNodeTensor("i4:3=1,-2,7");
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(ArrayOf(*given, 1).GetInt(1), -2);
  EXPECT_EQ(ProtoOf(*given, "t", 1).raw_data().size(), 2u);
  const NDArray drawn = ArrayOf(*ParseNodeTensor("i64:n100~3..4"), 1);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 100; ++i) seen.insert(drawn.GetInt(i));
  EXPECT_EQ(seen, (std::set<int64_t>{3, 4}));
  EXPECT_EQ(ParseNodeTensor("str:2=a,b")->values.size(), 2u);
  EXPECT_TRUE(ParseNodeTensor("()")->shape.empty());
}

}  // namespace
}  // namespace tilewright::bench

#include "graph/onnx/node.h"

#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;

// The only output of a model of the input x, interpreted.
absl::StatusOr<NDArray> Outcome(ModelWriter& m, const NDArray& x) {
  const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {x}}}};
  TW_ASSIGN_OR_RETURN(auto model, OnnxModel::Load(*m.File(), {.inputs = &inputs, .executor = {.interpret = true}}));
  TW_ASSIGN_OR_RETURN(auto outputs, model->Run(inputs));
  return outputs[0].arrays[0];
}

TEST(OnnxNode, SizesThatOverflowAreErrors) {
  struct Case {
    const char *op, *attribute;
    bool many;
  };
  for (const auto& [op, attribute, many] : {Case{"DepthToSpace", "blocksize", false},
                                            {"SpaceToDepth", "blocksize", false},
                                            {"LRN", "size", false},
                                            {"MaxPool", "kernel_shape", true}}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {1, 4, 4, 4});
    auto* node = m.Node(op, {"x"}, {"y"});
    if (many) {
      auto* sizes = node->add_attribute();
      sizes->set_name(attribute);
      for (const int64_t size : {int64_t{1} << 40, int64_t{2}}) sizes->add_ints(size);
    } else {
      ModelWriter::SetInt(node, attribute, int64_t{1} << 40);
    }
    m.Output("y");
    EXPECT_THAT(std::string(Outcome(m, NDArray(DataType::Float(32), {1, 4, 4, 4})).status().message()),
                HasSubstr(absl::StrCat("the attribute ", attribute, " is 1099511627776, beyond the sizes")))
        << op;
  }
}

TEST(OnnxNode, NumbersThatAreNoSizesHaveSixtyFourBits) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {2, 3});
  auto* shape = m.Node("Shape", {"x"}, {"s"});
  ModelWriter::SetInt(shape, "start", INT64_MIN);
  ModelWriter::SetInt(shape, "end", INT64_MAX);
  m.Node("Reshape", {"x", "s"}, {"y"});
  m.Output("y");
  NDArray x(DataType::Float(32), {2, 3});
  x.Set(4, 5);
  const auto y = Outcome(m, x);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(y->Get(4), 5);
}

// A resized image is the same whether its extents are constants or known at a call.
TEST(OnnxNode, ResizesSymbolicExtentsAlike) {
  NDArray x(DataType::Float(32), {1, 1, 5, 4});
  FillUniform(x, 3, -1, 1);
  for (const char* transformation : {"half_pixel", "half_pixel_symmetric", "asymmetric", "pytorch_half_pixel"}) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      NDArray results[2];
      for (const bool symbolic : {false, true}) {
        ModelWriter m(19);
        m.Input("x", TensorProto::FLOAT,
                symbolic ? std::vector<ModelWriter::Dim>{1, 1, "h", "w"} : std::vector<ModelWriter::Dim>{1, 1, 5, 4});
        m.Floats("scales", {4}, {1, 1, 1.75f, 0.625f});
        auto* node = m.Node("Resize", {"x", "", "scales"}, {"y"});
        *node->add_attribute() = StringAttribute("coordinate_transformation_mode", transformation);
        *node->add_attribute() = StringAttribute("mode", mode);
        m.Output("y");
        const auto y = Outcome(m, x);
        ASSERT_TRUE(y.ok()) << y.status();
        results[symbolic ? 1 : 0] = *y;
      }
      ASSERT_EQ(results[0].shape(), results[1].shape());
      EXPECT_LT(MaxError(results[0], results[1]).max_abs, 1e-5) << transformation << " " << mode;
    }
  }
}

}  // namespace
}  // namespace tilewright::graph

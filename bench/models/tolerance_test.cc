#include "bench/models/tolerance.h"

#include <gtest/gtest.h>

namespace tilewright::bench {
namespace {

onnx::ModelProto WithLevel(int64_t level) {
  onnx::ModelProto model;
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("MatMulNBits");
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("accuracy_level");
  attribute.set_i(level);
  return model;
}

TEST(ToleranceOf, IsWiderWhereActivationsAreRoundedToBytes) {
  EXPECT_EQ(ToleranceOf(WithLevel(4), 1e-3), 1e-2);
  EXPECT_EQ(ToleranceOf(WithLevel(4), 4e-2), 4e-2);
  EXPECT_EQ(ToleranceOf(WithLevel(1), 1e-3), 1e-3);
  EXPECT_EQ(ToleranceOf(onnx::ModelProto(), 1e-3), 1e-3);
}

}  // namespace
}  // namespace tilewright::bench

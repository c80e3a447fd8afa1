#include "graph/onnx/empty_dimensions.h"

#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using Names = std::set<std::string>;

Names EmptyIn(ModelWriter& m) { return DimensionsThatMayBeEmpty(m.graph()); }

TEST(EmptyDimensions, WhatIsJoinedToMore) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"batch", 2, "length", 4});
  m.Input("past", TensorProto::FLOAT, {"batch", 2, "kept", 4});
  m.Node("Relu", {"x"}, {"fresh"});
  ModelWriter::SetInt(m.Node("Concat", {"past", "fresh"}, {"all"}), "axis", -2);
  m.Node("Shape", {"past"}, {"extents"});
  m.Output("all");
  m.Output("extents");
  EXPECT_EQ(EmptyIn(m), Names({"kept"}));
  // Another use of it has to have elements.
  m.Node("ReduceMax", {"past"}, {"most"});
  m.Output("most");
  EXPECT_EQ(EmptyIn(m), Names());
}

// Two inputs could both be empty.
TEST(EmptyDimensions, WhatIsJoinedToAnInputHasElements) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"length", 4});
  m.Input("past", TensorProto::FLOAT, {"kept", 4});
  ModelWriter::SetInt(m.Node("Concat", {"past", "x"}, {"all"}), "axis", 0);
  m.Output("all");
  EXPECT_EQ(EmptyIn(m), Names());
}

TEST(EmptyDimensions, OfAllInputs) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 4});
  m.Input("past", TensorProto::FLOAT, {"n", 4});
  m.Node("Relu", {"x"}, {"y"});
  ModelWriter::SetInt(m.Node("Concat", {"past", "y"}, {"all"}), "axis", 0);
  m.Output("all");
  m.Output("y");
  EXPECT_EQ(EmptyIn(m), Names());
}

TEST(EmptyDimensions, CachesOfAttention) {
  ModelWriter m(17);
  m.Input("q", TensorProto::FLOAT, {"batch", "length", 8});
  m.Input("past_k", TensorProto::FLOAT, {"batch", 2, "kept", 4});
  m.Input("past_v", TensorProto::FLOAT, {"batch", 2, "kept", 4});
  m.Node("GroupQueryAttention", {"q", "q", "q", "past_k", "past_v", "lengths", "total"}, {"y"})
      ->set_domain("com.microsoft");
  m.Output("y");
  EXPECT_EQ(EmptyIn(m), Names({"kept"}));
}

}  // namespace
}  // namespace tilewright::graph

#include "graph/onnx/model_inputs.h"

#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

onnx::ValueInfoProto Value(int32_t type, const std::vector<ModelWriter::Dim>& dims) {
  onnx::ValueInfoProto value;
  ModelWriter::AddValue(&value, "x", type, dims);
  return value;
}

TEST(RandomInput, FollowsTheSeedAndTheBound) {
  const onnx::ValueInfoProto floats = Value(TensorProto::FLOAT, {"n", 4}), ids = Value(TensorProto::INT64, {100});
  const auto one = RandomInput(floats, {{"n", 3}}, 1), same = RandomInput(floats, {{"n", 3}}, 1);
  ASSERT_TRUE(one.ok() && same.ok()) << one.status();
  EXPECT_EQ(one->shape(), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(BitEqual(*one, *same));
  EXPECT_FALSE(BitEqual(*one, *RandomInput(floats, {{"n", 3}}, 2)));
  double most = 0;
  const auto below = RandomInput(ids, {}, 1, 50);
  ASSERT_TRUE(below.ok()) << below.status();
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_GE(below->Get(i), 0);
    EXPECT_LT(below->Get(i), 50);
    most = std::max(most, below->Get(i));
  }
  EXPECT_GT(most, 1);
}

TEST(RandomInput, Refuses) {
  const auto message = [](const onnx::ValueInfoProto& value, const std::map<std::string, int64_t>& dims) {
    return std::string(RandomInput(value, dims, 1).status().message());
  };
  EXPECT_EQ(message(Value(TensorProto::FLOAT, {"n"}), {}), "dimension n needs a number: --dim n=NUMBER");
  EXPECT_EQ(message(Value(TensorProto::FLOAT, {3, ""}), {}), "dimension x_1 needs a number: --dim x_1=NUMBER");
  EXPECT_EQ(message(Value(TensorProto::FLOAT, {"n"}), {{"n", -1}}), "an extent of -1 is negative, or too large to run");
  EXPECT_EQ(message(Value(TensorProto::FLOAT, {"n", 1024}), {{"n", int64_t{1} << 40}}),
            "an extent of 1099511627776 is negative, or too large to run");
  EXPECT_EQ(message({}, {}), "it is not a tensor, and no file gives it");
}

TEST(ArrayPath, HasNoSeparatorsOfTheName) { EXPECT_EQ(ArrayPath("a/b", "c/d:0"), "a/b/c_d_0.npy"); }

}  // namespace
}  // namespace tilewright::graph

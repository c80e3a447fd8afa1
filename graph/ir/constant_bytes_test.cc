#include "graph/ir/constant_bytes.h"

#include <algorithm>
#include <random>

#include "graph/ir/value.h"
#include "gtest/gtest.h"
#include "ir/ndarray.h"

namespace tilewright::graph {
namespace {

using Order = std::vector<int>;

std::vector<int64_t> Permute(const std::vector<int64_t>& values, const Order& order) {
  std::vector<int64_t> result;
  for (int d : order) result.push_back(values[static_cast<size_t>(d)]);
  return result;
}

ConstantBytes BytesOf(const NDArray& array) { return Constant(array)->bytes; }

NDArray Read(const NDArray& like, const Order& order, const ConstantBytes& bytes) {
  return Constant(like.dtype(), Permute(like.shape(), order), bytes)->ToNDArray();
}

// Element by element, by multi-dimensional indices.
NDArray Reference(const NDArray& array, const Order& order) {
  const NDArray result(array.dtype(), Permute(array.shape(), order));
  for (int64_t i = 0; i < result.size(); ++i) {
    std::vector<int64_t> at(order.size());
    int64_t rest = i;
    for (size_t d = order.size(); d-- > 0;) {
      at[static_cast<size_t>(order[d])] = rest % result.shape()[d];
      rest /= result.shape()[d];
    }
    int64_t from = 0;
    for (size_t d = 0; d < order.size(); ++d) from = from * array.shape()[d] + at[d];
    if (array.dtype().is_float()) {
      result.Set(i, array.Get(from));
    } else {
      result.SetInt(i, array.GetInt(from));
    }
  }
  return result;
}

struct Case {
  NDArray array;
  Order order;
};

Case RandomCase(uint64_t trial, std::mt19937_64& random) {
  const DataType types[] = {DataType::Float(32), DataType::Float(64), DataType::Float(16), DataType::Int(8)};
  std::vector<int64_t> shape(1 + random() % 5);
  Order order(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    shape[d] = static_cast<int64_t>(random() % (shape.size() < 3 ? 70 : 20));
    order[d] = static_cast<int>(d);
  }
  std::shuffle(order.begin(), order.end(), random);
  const NDArray array(types[trial % 4], shape);
  FillUniform(array, random(), -100, 100);
  return {array, order};
}

TEST(ConstantBytes, PermutedAreWhatIndicesSay) {
  std::mt19937_64 random(1);
  for (uint64_t trial = 0; trial < 200; ++trial) {
    const auto [array, order] = RandomCase(trial, random);
    const ConstantBytes permuted = BytesOf(array).Permuted(array.shape(), order, array.dtype().bytes());
    EXPECT_TRUE(BitEqual(Read(array, order, permuted), Reference(array, order))) << trial;
  }
}

TEST(ConstantBytes, PermutedTwice) {
  std::mt19937_64 random(2);
  for (uint64_t trial = 0; trial < 50; ++trial) {
    const auto [array, order] = RandomCase(trial, random);
    const NDArray once = Reference(array, order);
    Order again = order;
    std::shuffle(again.begin(), again.end(), random);
    const ConstantBytes permuted = BytesOf(array)
                                       .Permuted(array.shape(), order, array.dtype().bytes())
                                       .Permuted(once.shape(), again, array.dtype().bytes());
    EXPECT_TRUE(BitEqual(Read(once, again, permuted), Reference(once, again))) << trial;
  }
}

TEST(ConstantBytes, ScalarsStay) {
  const NDArray scalar(DataType::Float(32), {});
  scalar.Set(0, 2.5);
  EXPECT_TRUE(BytesOf(scalar).Permuted({}, {}, 4).Same(BytesOf(scalar)));
}

TEST(ConstantBytes, SameInContentAndOrder) {
  const NDArray array(DataType::Int(32), {2, 3});
  FillUniform(array, 1, 0, 100);
  const NDArray copy = array.Clone();
  const ConstantBytes bytes = BytesOf(array);
  EXPECT_TRUE(bytes.Same(BytesOf(copy)));
  EXPECT_TRUE(bytes.Permuted({2, 3}, {1, 0}, 4).Same(BytesOf(copy).Permuted({2, 3}, {1, 0}, 4)));
  EXPECT_FALSE(bytes.Permuted({2, 3}, {1, 0}, 4).Same(bytes));
  EXPECT_FALSE(bytes.Permuted({2, 3}, {1, 0}, 4).Same(bytes.Permuted({3, 2}, {1, 0}, 4)));
  copy.SetInt(4, 1000);
  EXPECT_FALSE(bytes.Same(BytesOf(copy)));
}

TEST(ConstantBytes, EndsAndString) {
  const NDArray array(DataType::Int(8), {2, 2});
  for (int i = 0; i < 4; ++i) array.SetInt(i, 'a' + i);
  const ConstantBytes permuted = BytesOf(array).Permuted({2, 2}, {1, 0}, 1);
  EXPECT_EQ(permuted.ToString(), "acbd");
  EXPECT_EQ(permuted.Ends(1), BytesOf(array).Ends(1));
}

}  // namespace
}  // namespace tilewright::graph

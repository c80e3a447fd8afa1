#include "graph/fusion/permuted_constant.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "ir/ndarray.h"

namespace tilewright::graph {
namespace {

// Element by element, by multi-dimensional indices.
NDArray Reference(const NDArray& array, const Permutation& order) {
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

TEST(PermutedConstant, IsWhatIndicesSay) {
  std::mt19937_64 random(1);
  const DataType types[] = {DataType::Float(32), DataType::Float(64), DataType::Float(16), DataType::Int(8)};
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int64_t> shape(1 + random() % 5);
    Permutation order(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      shape[d] = static_cast<int64_t>(random() % (shape.size() < 3 ? 70 : 20));
      order[d] = static_cast<int>(d);
    }
    std::shuffle(order.begin(), order.end(), random);
    const NDArray array(types[trial % 4], shape);
    FillUniform(array, random(), -100, 100);
    const NDArray permuted = PermutedConstant(*Constant(array), order)->ToNDArray();
    EXPECT_TRUE(BitEqual(permuted, Reference(array, order))) << trial;
  }
}

TEST(PermutedConstant, ScalarsStay) {
  EXPECT_EQ(PermutedConstant(*Constant::Scalar(DataType::Float(32), 2.5), {})->ToNDArray().Get(0), 2.5);
}

}  // namespace
}  // namespace tilewright::graph

#include "codegen/runtime/tensor.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::runtime {
namespace {

using ::testing::ElementsAre;

TEST(Tensor, AllocatesAlignedZeroes) {
  for (int64_t columns : {1, 3, 64, 1000}) {
    std::optional<Tensor> tensor = Tensor::Allocate(kFloat32, {2, columns});
    ASSERT_TRUE(tensor.has_value());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data<float>()) % kTensorAlignment, 0u);
    EXPECT_THAT(tensor->shape(), ElementsAre(2, columns));
    EXPECT_THAT(tensor->strides(), ElementsAre(columns, 1));
    EXPECT_EQ(tensor->num_elements(), 2 * columns);
    EXPECT_TRUE(tensor->owns_elements());
    EXPECT_TRUE(tensor->IsCompact());
    for (int64_t i = 0; i < 2 * columns; ++i) ASSERT_EQ(tensor->data<float>()[i], 0.0f);
  }
}

TEST(Tensor, FieldsAreThoseOfDlpack) {
  std::optional<Tensor> tensor = Tensor::Allocate(kBfloat16, {4, 5, 6});
  ASSERT_TRUE(tensor.has_value());
  const TwTensor& abi = *tensor->abi();
  EXPECT_EQ(abi.device.device_type, 1);
  EXPECT_EQ(abi.device.device_id, 0);
  EXPECT_EQ(abi.ndim, 3);
  EXPECT_EQ(abi.dtype.code, 4);
  EXPECT_EQ(abi.dtype.bits, 16);
  EXPECT_EQ(abi.dtype.lanes, 1);
  EXPECT_EQ(abi.byte_offset, 0u);
  EXPECT_EQ(abi.shape[2], 6);
  EXPECT_EQ(abi.strides[0], 30);
}

TEST(Tensor, ScalarsAndEmptyTensors) {
  std::optional<Tensor> scalar = Tensor::Allocate(kInt64, {});
  ASSERT_TRUE(scalar.has_value());
  EXPECT_EQ(scalar->num_elements(), 1);
  EXPECT_TRUE(scalar->IsCompact());
  std::optional<Tensor> empty = Tensor::Allocate(kFloat32, {3, 0, 5});
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(empty->num_elements(), 0);
  EXPECT_NE(empty->data<float>(), nullptr);
}

TEST(Tensor, RefusesImpossibleShapes) {
  EXPECT_FALSE(Tensor::Allocate(kFloat32, {-1}).has_value());
  EXPECT_FALSE(Tensor::Allocate(kFloat32, {int64_t{1} << 40, int64_t{1} << 40}).has_value());
  EXPECT_FALSE(Tensor::Allocate(kFloat32, {INT64_MAX}).has_value());
}

// AddressSanitizer's allocator aborts where the system's returns null.
#if !__has_feature(address_sanitizer)
TEST(Tensor, LargeOnesBeginAtDifferentOffsetsOfAPage) {
  std::set<uintptr_t> offsets;
  std::vector<Tensor> tensors;
  for (int i = 0; i < 64; ++i) {
    tensors.push_back(*Tensor::Allocate(kFloat32, {64, 1024}));
    float* data = tensors.back().data<float>();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kTensorAlignment, 0u);
    offsets.insert(reinterpret_cast<uintptr_t>(data) % 4096);
    data[64 * 1024 - 1] = 1;
  }
  EXPECT_GE(offsets.size(), 32u);
}

TEST(Tensor, RefusesMoreThanThereIsMemory) { EXPECT_FALSE(Tensor::Allocate(kFloat32, {int64_t{1} << 50}).has_value()); }
#endif

TEST(Tensor, PackedBytesOfNarrowAndVectorTypes) {
  EXPECT_EQ(PackedBytes({kTwInt, 4, 1}, 3), 2);
  EXPECT_EQ(PackedBytes({kTwBool, 8, 1}, 3), 3);
  EXPECT_EQ(PackedBytes({kTwFloat, 32, 4}, 2), 32);
  EXPECT_EQ(PackedBytes(kFloat64, INT64_MAX / 8), std::nullopt);
}

TEST(Tensor, BorrowsWithStridesAndDoesNotFree) {
  std::vector<float> numbers = {0, 1, 2, 3, 4, 5};
  Tensor compact = Tensor::Borrow(numbers.data(), kFloat32, {2, 3});
  EXPECT_FALSE(compact.owns_elements());
  EXPECT_THAT(compact.strides(), ElementsAre(3, 1));
  const int64_t shape[] = {3, 2}, strides[] = {1, 3};
  Tensor transposed = Tensor::Borrow(numbers.data(), kFloat32, shape, strides);
  EXPECT_FALSE(transposed.IsCompact());
  EXPECT_EQ(transposed.data<float>()[transposed.strides()[1]], 3.0f);
}

TEST(Tensor, StrideOfAnExtentOfOneDoesNotMatter) {
  float numbers[6] = {};
  const int64_t shape[] = {1, 6}, strides[] = {99, 1};
  EXPECT_TRUE(Tensor::Borrow(numbers, kFloat32, shape, strides).IsCompact());
}

TEST(Tensor, MovesKeepTheArgumentValid) {
  std::optional<Tensor> tensor = Tensor::Allocate(kFloat32, {2, 3});
  ASSERT_TRUE(tensor.has_value());
  const TwTensor* abi = tensor->abi();
  float* elements = tensor->data<float>();
  Tensor moved = std::move(*tensor);
  EXPECT_EQ(moved.abi(), abi);
  EXPECT_EQ(moved.data<float>(), elements);
  EXPECT_THAT(moved.shape(), ElementsAre(2, 3));
}

TEST(Tensor, AliasSharesElementsAndOffset) {
  std::optional<Tensor> tensor = Tensor::Allocate(kFloat32, {4});
  ASSERT_TRUE(tensor.has_value());
  tensor->abi()->byte_offset = 8;
  Tensor alias = tensor->Alias();
  EXPECT_FALSE(alias.owns_elements());
  alias.data<float>()[0] = 7.0f;
  tensor->abi()->byte_offset = 0;
  EXPECT_EQ(tensor->data<float>()[2], 7.0f);
}

}  // namespace
}  // namespace tilewright::runtime

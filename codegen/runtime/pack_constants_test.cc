#include "codegen/runtime/pack_constants.h"

#include <cstdio>
#include <utility>

#include "gtest/gtest.h"

namespace tilewright::runtime {
namespace {

// B_packed[j, k] = B[k, j], of two by three elements.
int Transpose(const TwCall* call, TwTensor* const* args, int32_t num_args) {
  if (num_args != 2 || args[1]->shape[0] != 3) {
    std::snprintf(call->message, static_cast<size_t>(call->message_bytes), "B_packed has the wrong shape");
    return kTwErrorShape;
  }
  const auto* from = static_cast<const float*>(args[0]->data);
  auto* to = static_cast<float*>(args[1]->data);
  for (int j = 0; j < 3; ++j) {
    for (int k = 0; k < 2; ++k) to[j * 2 + k] = from[k * 3 + j];
  }
  return kTwOk;
}

std::map<std::string, Tensor> Constants() {
  std::optional<Tensor> b = Tensor::Allocate(kFloat32, {2, 3});
  for (int i = 0; i < 6; ++i) b->data<float>()[i] = static_cast<float>(i);
  std::map<std::string, Tensor> tensors;
  tensors.emplace("B", *std::move(b));
  return tensors;
}

TEST(PackConstants, AddsWhatIsWritten) {
  std::map<std::string, Tensor> tensors = Constants();
  std::string error;
  ASSERT_TRUE(PackConstants(Transpose, {{"B", kFloat32, {2, 3}}, {"B_packed", kFloat32, {3, 2}}}, tensors, &error));
  const float* packed = tensors.at("B_packed").data<float>();
  const float expected[] = {0, 3, 1, 4, 2, 5};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(packed[i], expected[i]) << i;
}

TEST(PackConstants, SaysWhatFailed) {
  std::map<std::string, Tensor> tensors = Constants();
  std::string error;
  EXPECT_FALSE(PackConstants(Transpose, {{"B", kFloat32, {2, 3}}, {"B_packed", kFloat32, {2, 3}}}, tensors, &error));
  EXPECT_EQ(error, "B_packed has the wrong shape");
  EXPECT_FALSE(PackConstants(Transpose, {{"B", kFloat32, {2, 3}}, {"huge", kFloat32, {INT64_MAX}}}, tensors, &error));
  EXPECT_EQ(error, "not enough memory for the packed constant huge");
}

}  // namespace
}  // namespace tilewright::runtime

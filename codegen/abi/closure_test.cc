// Objects behind plain C functions.
#include "codegen/abi/closure.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tilewright {
namespace {

TEST(Closure, HandsOnItsArguments) {
  const TwCall call{};
  TwTensor tensors[2] = {};
  TwTensor* const args[] = {&tensors[1], &tensors[0]};
  const TwCall* called_with = nullptr;
  std::vector<const TwTensor*> given;
  const Closure closure([&](const TwCall* c, TwTensor* const* tensors, int32_t count) {
    called_with = c;
    given.assign(tensors, tensors + count);
    return 17;
  });
  ASSERT_NE(closure.function(), nullptr);
  EXPECT_EQ(closure.function()(&call, args, 2), 17);
  EXPECT_EQ(called_with, &call);
  EXPECT_EQ(given, (std::vector<const TwTensor*>{&tensors[1], &tensors[0]}));
}

// Each function has an object of its own, also where several live at once.
TEST(Closure, KeepsSeveralApart) {
  std::vector<std::unique_ptr<Closure>> closures;
  std::vector<int> calls(50);
  for (size_t i = 0; i < calls.size(); ++i) {
    closures.push_back(std::make_unique<Closure>([&calls, i](const TwCall*, TwTensor* const*, int32_t count) {
      calls[i] += count;
      return static_cast<int>(i);
    }));
  }
  for (size_t i = calls.size(); i-- > 0;) {
    EXPECT_EQ(closures[i]->function()(nullptr, nullptr, static_cast<int32_t>(i + 1)), static_cast<int>(i));
  }
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i], static_cast<int>(i + 1));
}

}  // namespace
}  // namespace tilewright

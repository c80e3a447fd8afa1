// A function on a stack of its own is switched to, and back.
#include <gtest/gtest.h>

#include <boost/context/detail/fcontext.hpp>
#include <vector>

namespace tilewright {
namespace {

namespace context = boost::context::detail;

TEST(BoostContext, SwitchesStacks) {
  std::vector<char> stack(64 << 10);
  const context::fcontext_t start =
      context::make_fcontext(stack.data() + stack.size(), stack.size(), [](context::transfer_t from) {
        *static_cast<int*>(from.data) = 7;
        context::jump_fcontext(from.fctx, nullptr);
      });
  int value = 0;
  context::jump_fcontext(start, &value);
  EXPECT_EQ(value, 7);
}

}  // namespace
}  // namespace tilewright

#include "intrin/cuda/call_roles.h"

#include "gtest/gtest.h"

namespace tilewright::cuda {
namespace {

TEST(CallRoles, AreThoseOfWholeNames) {
  EXPECT_EQ(RoleOfCall("cuda.wgmma"), CallRole::kWarpgroupProduct);
  EXPECT_EQ(RoleOfCall("cuda.wgmma_rs"), CallRole::kWarpgroupProduct);
  EXPECT_EQ(RoleOfCall("cuda.wgmma_wait"), CallRole::kOther);
  EXPECT_EQ(RoleOfCall("cuda.cp_async"), CallRole::kAsyncCopy);
  EXPECT_EQ(RoleOfCall("cuda.mbarrier_wait"), CallRole::kBarrierWait);
  EXPECT_EQ(RoleOfCall("cuda.dp4a"), CallRole::kOther);
}

}  // namespace
}  // namespace tilewright::cuda

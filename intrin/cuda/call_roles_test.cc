#include "intrin/cuda/call_roles.h"

#include <string>

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

TEST(CallRoles, MovesOfMatricesHaveThemInAllSizes) {
  for (const char* size : {"1", "2", "4", "1_trans", "2_trans", "4_trans"}) {
    EXPECT_EQ(RoleOfCall(std::string("cuda.ldmatrix_x") + size), CallRole::kMatrixLoad) << size;
    EXPECT_EQ(RoleOfCall(std::string("cuda.stmatrix_x") + size), CallRole::kSharedStore) << size;
  }
}

}  // namespace
}  // namespace tilewright::cuda

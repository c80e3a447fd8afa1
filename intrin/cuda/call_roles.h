// What calls of instructions of GPUs do, for passes that order them and for the projection of time.
//
//   RoleOfCall("cuda.wgmma_rs") == CallRole::kWarpgroupProduct
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright::cuda {

enum class CallRole : uint8_t {
  kOther,
  kAsyncCopy,         // a thread's copy into shared memory that goes on behind it (cp.async)
  kWarpgroupProduct,  // a product that a warpgroup starts and waits for later (wgmma)
  kBarrierWait,       // waits for a phase of an mbarrier
  kMatrixLoad,        // loads of a warp's lanes from rows of matrices in shared memory (ldmatrix)
  kSharedStore,       // stores of a warp's lanes to such rows (stmatrix)
};

CallRole RoleOfCall(std::string_view call);

}  // namespace tilewright::cuda

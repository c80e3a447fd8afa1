#include "intrin/cuda/call_roles.h"

#include <algorithm>
#include <iterator>

namespace tilewright::cuda {
namespace {

struct Row {
  std::string_view call;
  CallRole role;
};
constexpr Row kRows[] = {
    {"cuda.cp_async", CallRole::kAsyncCopy},        {"cuda.wgmma", CallRole::kWarpgroupProduct},
    {"cuda.wgmma_rs", CallRole::kWarpgroupProduct}, {"cuda.mbarrier_wait", CallRole::kBarrierWait},
    {"cuda.ldmatrix_x1", CallRole::kMatrixLoad},    {"cuda.ldmatrix_x1_trans", CallRole::kMatrixLoad},
    {"cuda.ldmatrix_x2", CallRole::kMatrixLoad},    {"cuda.ldmatrix_x2_trans", CallRole::kMatrixLoad},
    {"cuda.ldmatrix_x4", CallRole::kMatrixLoad},    {"cuda.ldmatrix_x4_trans", CallRole::kMatrixLoad},
    {"cuda.stmatrix_x1", CallRole::kSharedStore},   {"cuda.stmatrix_x1_trans", CallRole::kSharedStore},
    {"cuda.stmatrix_x2", CallRole::kSharedStore},   {"cuda.stmatrix_x2_trans", CallRole::kSharedStore},
    {"cuda.stmatrix_x4", CallRole::kSharedStore},   {"cuda.stmatrix_x4_trans", CallRole::kSharedStore},
};

}  // namespace

CallRole RoleOfCall(std::string_view call) {
  const auto* row = std::ranges::find(kRows, call, &Row::call);
  return row == std::end(kRows) ? CallRole::kOther : row->role;
}

}  // namespace tilewright::cuda

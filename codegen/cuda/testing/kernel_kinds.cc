#include "codegen/cuda/testing/kernel_kinds.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace tilewright::cuda::testing {
namespace {

struct Kind {
  const char* name;
  absl::string_view mark;  // in the text of its kernels
};
constexpr Kind kKinds[] = {
    {"mma", "tw::mma_m"},
    {"wgmma", "tw::wgmma<"},
    {"async_copies", "tw::cp_async<"},
    {"tile_copies", "tw::tma_load"},
    {"pixel_copies", "tw::tma_load_im2col"},
    {"roles", "tw::setmaxnreg_"},
    {"clusters", "__cluster_dims__"},
    {"lane_sums", "__shfl_"},
    {"shared_memory", "(shared_region)"},
};
constexpr char kThreads[] = "threads", kBegin[] = "__global__";

}  // namespace

std::vector<std::string> AllKernelKinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  names.emplace_back(kThreads);
  return names;
}

std::vector<std::string> KernelKinds(std::string_view emitted) {
  const absl::string_view text(emitted.data(), emitted.size());
  std::vector<std::string> kinds;
  for (const Kind& kind : kKinds) {
    if (absl::StrContains(text, kind.mark)) kinds.emplace_back(kind.name);
  }
  // The part before the first kernel is none.
  const std::vector<absl::string_view> kernels = absl::StrSplit(text, kBegin);
  for (size_t i = 1; i < kernels.size(); ++i) {
    bool other = false;
    for (const Kind& kind : kKinds) other |= absl::StrContains(kernels[i], kind.mark);
    if (other) continue;
    kinds.emplace_back(kThreads);
    break;
  }
  return kinds;
}

}  // namespace tilewright::cuda::testing

#include "target/gpu_limits.h"

#include "base/check.h"

namespace tilewright {

const GpuLimits& LimitsOf(const Target& target) {
  TW_CHECK(target.is_gpu()) << target.name << " is not a GPU";
  static constexpr GpuLimits kLimits = {{(int64_t{1} << 31) - 1, 65535, 65535}, 512 << 10, 128, 48 << 10};
  return kLimits;
}

}  // namespace tilewright

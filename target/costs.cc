#include "target/costs.h"

namespace tilewright {

const CpuCosts& CpuCostsOf(const Target&) {
  static constexpr CpuCosts kMeasured;
  return kMeasured;
}

const TileCosts& TileCostsOf(const Target&) {
  static constexpr TileCosts kMeasured;
  return kMeasured;
}

const GpuCosts& GpuCostsOf(const Target&) {
  static constexpr GpuCosts kMeasured;
  return kMeasured;
}

}  // namespace tilewright

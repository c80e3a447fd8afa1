#include "bench/models/output_error.h"

#include <algorithm>
#include <cmath>

namespace tilewright::bench {

double RelativeError(const graph::Arrays& got, const graph::Arrays& want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].shape() != want[i].shape() || got[i].dtype() != want[i].dtype()) return INFINITY;
    double magnitude = 0;
    for (int64_t k = 0; k < want[i].size(); ++k) {
      const double value = std::abs(want[i].Get(k));
      if (std::isfinite(value)) magnitude = std::max(magnitude, value);
    }
    const double error = MaxError(got[i], want[i]).max_abs;
    worst = std::max(worst, error == 0 ? 0 : magnitude == 0 ? INFINITY : error / magnitude);
  }
  return worst;
}

}  // namespace tilewright::bench

#include "bench/operators/result.h"

#include <algorithm>
#include <cmath>

namespace tilewright::bench {

double PercentOfPeak(const Result& result, const Peak& peak) {
  if (!result.ok()) return 0;
  const bool arithmetic = Flops(result.workload.problem) > 0;
  const double top = arithmetic ? ArithmeticPeak(peak, result.workload.dtype) : peak.read_gbs;
  if (top == 0) return 0;
  return 100 * (arithmetic ? result.gflops() : result.gigabytes_per_second()) / top;
}

bool SameWorkload(const Result& a, const Result& b) {
  return a.workload.shape == b.workload.shape && a.workload.dtype == b.workload.dtype;
}

bool IsOwn(const Result& result) { return result.implementation.starts_with(kOwnName); }

double RatioToBestPeer(const std::vector<Result>& results, const Result& result) {
  double least = INFINITY;
  for (const Result& peer : results) {
    if (IsOwn(peer) || peer.implementation == result.implementation) continue;
    if (peer.ok() && SameWorkload(peer, result)) least = std::min(least, peer.cost());
  }
  return std::isinf(least) || !result.ok() ? 0 : least / result.cost();
}

double RatioToConstant(const std::vector<Result>& results, const Result& result) {
  if (!result.ok() || !IsOwn(result) || result.implementation == kOwnName) return 0;
  for (const Result& constant : results) {
    const bool same = constant.implementation == kOwnName && SameWorkload(constant, result);
    if (same && constant.ok()) return result.milliseconds() / constant.milliseconds();
  }
  return 0;
}

}  // namespace tilewright::bench

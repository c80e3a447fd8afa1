#include "bench/operators/result.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "absl/strings/str_format.h"

namespace tilewright::bench {

double PercentOfPeak(const Result& result, const Peak& peak) {
  if (!result.ok()) return 0;
  const bool arithmetic = Flops(result.workload.problem) > 0;
  const double top = arithmetic ? ArithmeticPeak(peak, result.workload.dtype) : peak.read_gbs;
  if (top == 0) return 0;
  return 100 * (arithmetic ? result.gflops() : result.gigabytes_per_second()) / top;
}

bool MayComputeLess(const Workload& workload) {
  const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem);
  if (conv == nullptr) return false;
  return std::ranges::any_of(conv->kernel, [](int64_t extent) { return extent > 1; });
}

std::string OverPeak(const std::vector<Result>& results, const Peak& peak) {
  std::string over;
  for (const Result& result : results) {
    if (!result.ok() || result.best().emulated || result.inexact()) continue;
    if (Flops(result.workload.problem) == 0 || MayComputeLess(result.workload)) continue;
    const double percent = PercentOfPeak(result, peak);
    if (percent <= kOverPeak) continue;
    absl::StrAppendFormat(&over, "%s%s:%s %s by %s is at %.0f%% of the peak", over.empty() ? "" : "; ",
                          Name(result.workload.shape.op), NumbersText(result.workload.shape),
                          Name(result.workload.dtype), result.implementation, percent);
  }
  return over;
}

bool SameWorkload(const Result& a, const Result& b) {
  return a.workload.shape == b.workload.shape && a.workload.dtype == b.workload.dtype;
}

bool IsOwn(const Result& result) { return result.implementation.starts_with(kOwnName); }

double RatioToBestPeer(const std::vector<Result>& results, const Result& result) {
  double least = INFINITY;
  for (const Result& peer : results) {
    if (IsOwn(peer) || peer.implementation == result.implementation) continue;
    if (peer.comparable() && SameWorkload(peer, result)) least = std::min(least, peer.cost());
  }
  return std::isinf(least) || !result.comparable() ? 0 : least / result.cost();
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

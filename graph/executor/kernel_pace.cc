#include "graph/executor/kernel_pace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tilewright::graph {
namespace {

std::string TimeText(double seconds) {
  return seconds < 1e-3 ? absl::StrFormat("%.3g us", seconds * 1e6) : absl::StrFormat("%.3g ms", seconds * 1e3);
}

}  // namespace

std::string KernelPace::ToString() const {
  const std::string times = pace.limit_seconds > 0 ? absl::StrFormat("%.0f times its speed of light of %s",
                                                                     pace.Factor(), TimeText(pace.limit_seconds))
                                                   : "which has nothing to move or to multiply";
  return absl::StrCat(
      TimeText(pace.seconds), ", ", times, ": ",
      why_not.empty() ? absl::StrCat("limited by ", pace.limiter) : absl::StrCat("not scheduled: ", why_not));
}

}  // namespace tilewright::graph

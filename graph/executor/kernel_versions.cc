#include "graph/executor/kernel_versions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "autoschedule/cost/pace.h"
#include "autoschedule/program/sizes.h"
#include "ir/analysis.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// A version takes at most this part of the other one's projected time.
constexpr double kClearlyLess = 0.8;

// Conditions on a caller's shapes under which all symbolic extents are 1; nothing where shapes do not tell, or there is
// no such extent.
std::optional<std::vector<KernelVersion::Extent>> OnesOf(const PrimFunc& program) {
  std::vector<KernelVersion::Extent> ones;
  for (const std::string& name : SymbolicExtents(program)) {
    const size_t before = ones.size();
    for (size_t p = 0; p < program->params.size() && ones.size() == before; ++p) {
      const Buffer& buffer = program->params[p].buffer;
      if (!buffer) return std::nullopt;
      for (size_t d = 0; d < buffer->shape.size(); ++d) {
        const auto* var = dyn_cast<VarNode>(buffer->shape[d]);
        if (var == nullptr || var->name != name) continue;
        ones.push_back({static_cast<int>(p), static_cast<int>(d), 1});
        break;
      }
    }
    if (ones.size() == before) return std::nullopt;
  }
  if (ones.empty()) return std::nullopt;
  return ones;
}

bool SamePacking(const ScheduledKernel& a, const ScheduledKernel& b) {
  const auto same = [](const KernelTensor& x, const KernelTensor& y) {
    return x.dtype == y.dtype && x.shape == y.shape;
  };
  if (a.pack.empty() || a.pack != b.pack || a.pack_params != b.pack_params) return false;
  return std::ranges::equal(a.packed, b.packed, same) && StructuralEqual(a.module.Find(a.pack), b.module.Find(b.pack));
}

}  // namespace

void AddVersions(const PrimFunc& canonical, const std::vector<bool>& constant, const Target& target,
                 ScheduledKernel* kernel) {
  const bool bytes = std::ranges::any_of(kernel->packed, [](const KernelTensor& t) { return t.dtype.bits() <= 8; });
  const auto ones = bytes ? OnesOf(canonical) : std::nullopt;
  if (!ones) return;
  std::map<std::string, int64_t> sizes;
  for (const std::string& name : SymbolicExtents(canonical)) sizes[name] = 1;
  const PrimFunc at_one = AtSizes(canonical, sizes);
  const absl::StatusOr<ScheduledKernel> version = ScheduleKernel(at_one, constant, target, /*database=*/"");
  if (!version.ok() || !SamePacking(*kernel, *version)) return;
  const PrimFunc main = version->module.Find(kKernelMain);
  const PrimFunc general = AtSizes(kernel->module.Find(kKernelMain), sizes);
  const double seconds = PaceOf(at_one, main, target, kSlowFactor).seconds;
  if (seconds > kClearlyLess * PaceOf(at_one, general, target, kSlowFactor).seconds) return;
  FunctionNode::Fields fields = main->fields();
  fields.name = kKernelAtOne;
  kernel->module.Set(PrimFunc(std::move(fields)));
  kernel->versions.push_back({*ones, {.name = kKernelAtOne, .params = version->main_params}});
}

}  // namespace tilewright::graph

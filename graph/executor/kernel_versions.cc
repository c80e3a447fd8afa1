#include "graph/executor/kernel_versions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/cost/pace.h"
#include "autoschedule/program/sizes.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// A version takes at most this part of the other one's projected time.
constexpr double kClearlyLess = 0.8;

// Names of variables in extents that blocks reduce over.
std::set<std::string> ReducedExtents(const PrimFunc& program) {
  std::set<std::string> names;
  PreOrder(program->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return true;
    for (const IterVar& iter : realize->block->iter_vars) {
      if (iter.kind != IterKind::kReduce) continue;
      PreOrder(iter.domain.extent, [&](const Expr& e) {
        if (const auto* var = dyn_cast<VarNode>(e)) names.insert(var->name);
        return true;
      });
    }
    return true;
  });
  return names;
}

// The dimension of a parameter that is the variable of this name; nothing where shapes do not tell its value.
std::optional<KernelVersion::Extent> AtOne(const PrimFunc& program, const std::string& name) {
  for (size_t p = 0; p < program->params.size(); ++p) {
    const Buffer& buffer = program->params[p].buffer;
    if (!buffer) continue;
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      const auto* var = dyn_cast<VarNode>(buffer->shape[d]);
      if (var != nullptr && var->name == name)
        return KernelVersion::Extent{static_cast<int>(p), static_cast<int>(d), 1};
    }
  }
  return std::nullopt;
}

bool SamePacking(const ScheduledKernel& a, const ScheduledKernel& b) {
  const auto same = [](const KernelTensor& x, const KernelTensor& y) {
    return x.dtype == y.dtype && x.shape == y.shape;
  };
  if (a.pack != b.pack || a.pack_params != b.pack_params) return false;
  if (a.pack.empty()) return true;
  return std::ranges::equal(a.packed, b.packed, same) && StructuralEqual(a.module.Find(a.pack), b.module.Find(b.pack));
}

}  // namespace

void AddVersions(const PrimFunc& canonical, const std::vector<bool>& constant, const Target& target,
                 ScheduledKernel* kernel) {
  const bool bytes = std::ranges::any_of(kernel->packed, [](const KernelTensor& t) { return t.dtype.bits() <= 8; });
  const std::set<std::string> reduced = ReducedExtents(canonical);
  if (!bytes && reduced.empty()) return;
  std::vector<KernelVersion::Extent> ones;
  std::map<std::string, int64_t> sizes;
  for (const std::string& name : SymbolicExtents(canonical)) {
    const auto one = reduced.contains(name) ? std::nullopt : AtOne(canonical, name);
    if (!one) continue;
    ones.push_back(*one);
    sizes[name] = 1;
  }
  if (ones.empty()) return;
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
  kernel->versions.push_back({std::move(ones), {.name = kKernelAtOne, .params = version->main_params}});
}

}  // namespace tilewright::graph

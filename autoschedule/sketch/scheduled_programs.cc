#include "autoschedule/sketch/scheduled_programs.h"

#include <algorithm>
#include <utility>

#include "autoschedule/program/sizes.h"
#include "ir/structural.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// Rules name what they make after the function and its parameters, and sizes are given by the names of extents.
bool SameNames(const Function& a, const Function& b) {
  return a->name == b->name && a->is_private == b->is_private &&
         std::ranges::equal(a->params, b->params,
                            [](const Param& x, const Param& y) {
                              return x.var.name() == y.var.name() && (!x.buffer || x.buffer->name == y.buffer->name);
                            }) &&
         SymbolicExtents(a) == SymbolicExtents(b) && SameLikelySizes(a, b);
}

}  // namespace

std::shared_ptr<const ScheduledPrograms::Entry> ScheduledPrograms::Find(uint64_t hash, const Function& function) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [begin, end] = entries_.equal_range(hash);
  const auto same = std::find_if(begin, end, [&](const auto& entry) {
    return StructuralEqual(entry.second->function, function) && SameNames(entry.second->function, function);
  });
  return same == end ? nullptr : same->second;
}

std::shared_ptr<const AutoScheduled> ScheduledPrograms::Of(const Function& function) {
  const uint64_t hash = StructuralHash(function);
  std::shared_ptr<const Entry> entry = Find(hash, function);
  if (entry == nullptr) {
    entry = std::make_shared<const Entry>(function, target_, /*verified=*/false);
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.emplace(hash, entry);
  }
  return {entry, &entry->scheduled};
}

std::shared_ptr<const AutoScheduled> ScheduledPrograms::VerifiedOf(const Function& function) const {
  const auto entry = std::make_shared<const Entry>(function, target_, /*verified=*/true);
  return {entry, &entry->scheduled};
}

std::string ScheduledPrograms::RefutationOf(const Function& function) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known = verified_.find(function.get()); known != verified_.end()) return known->second.refutation;
  }
  const VerifyResult result = VerifyProgram(function, &target_);
  const auto refuted = std::ranges::find(result.diagnostics, Verdict::kRefuted, &Diagnostic::verdict);
  std::string refutation;
  if (refuted != result.diagnostics.end()) refutation = std::string(refuted->check) + ": " + refuted->reason;
  const std::lock_guard<std::mutex> lock(mutex_);
  return verified_.emplace(function.get(), Verified{function, std::move(refutation)}).first->second.refutation;
}

}  // namespace tilewright

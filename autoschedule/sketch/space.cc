#include "autoschedule/sketch/space.h"

#include "ir/structural.h"
#include "verify/verify.h"

namespace tilewright {

Space::Space(Module module, Target target, IntrinRegistry* intrins)
    : module_(std::move(module)), target_(std::move(target)), intrins_(intrins) {
  AutoScheduled preferred = AutoSchedule(module_, target_, intrins_);
  left_alone_ = std::move(preferred.left_alone);
  refused_ = preferred.refused.size();
}

Outcome<Candidate> Space::Make(Choices choices) const {
  AutoScheduled made = AutoSchedule(module_, target_, intrins_, choices, &shared_);
  if (made.refused.size() > refused_) return made.refused.back().refusal;
  std::vector<uint64_t> hashes;
  for (const Function& function : made.schedule.module().functions()) {
    hashes.push_back(StructuralHash(function));
    if (verified_.contains(hashes.back())) continue;
    const VerifyResult verified = VerifyProgram(function, &target_, &proven_);
    for (const Diagnostic& diagnostic : verified.diagnostics) {
      if (diagnostic.verdict == Verdict::kRefuted) return Refusal{"verify", diagnostic.check, {diagnostic.object}};
    }
    verified_.insert(hashes.back());
  }
  const uint64_t hash = StructuralHash(made.schedule.module(), hashes);
  return Candidate{std::move(made.schedule), choices.made().ToVector(), hash};
}

}  // namespace tilewright

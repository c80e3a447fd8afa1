#include "autoschedule/cost/pace.h"

#include <algorithm>

#include "autoschedule/cost/program_facts.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"

namespace tilewright {

Pace PaceOf(const Function& program, const Function& scheduled, const Target& target, double slow_factor) {
  const ProgramFacts facts = GatherFacts(scheduled);
  const Projection projection = Project(facts, target);
  const SpeedOfLight limit = SpeedOfLightOf(program, target), again = SpeedOfLightOf(facts, target);
  Pace pace{.seconds = projection.seconds - projection.fork_seconds,
            .limit_seconds = std::min(limit.seconds, again.seconds),
            .limiter = projection.limiter};
  // A target of either kind has no costs of the other kind.
  const double start = std::max(target.cpu_part().fork_join_seconds, target.gpu_part().launch_seconds);
  pace.slow = limit.whole && again.whole && pace.seconds > slow_factor * pace.limit_seconds &&
              pace.seconds - pace.limit_seconds > start;
  return pace;
}

}  // namespace tilewright

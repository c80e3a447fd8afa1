#include "autoschedule/program/fuse_consumers.h"

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/value_growth.h"

namespace tilewright {

void FuseConsumers(Schedule& sch, BlockRv write_back) {
  for (;;) {
    const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(write_back);
    if (!consumers.ok() || consumers->size() != 1) return;
    if (GrowsTooLong(*RealizeOf(sch, write_back).block, *RealizeOf(sch, consumers->front()).block)) return;
    if (!sch.ReverseComputeInline(consumers->front()).ok()) return;
  }
}

}  // namespace tilewright

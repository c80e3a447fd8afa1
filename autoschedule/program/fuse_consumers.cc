#include "autoschedule/program/fuse_consumers.h"

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/value_growth.h"

namespace tilewright {
namespace {

uint32_t IdOf(const Schedule& sch, BlockRv block) { return sch.Get(block).As<BlockRef>()->id; }

}  // namespace

void FuseConsumers(Schedule& sch, BlockRv write_back) {
  for (;;) {
    const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(write_back);
    if (!consumers.ok() || consumers->size() != 1) return;
    // Another one of its producers that comes later would take it.
    const Outcome<std::vector<BlockRv>> producers = sch.GetProducers(consumers->front());
    if (!producers.ok() || IdOf(sch, producers->back()) != IdOf(sch, write_back)) return;
    if (GrowsTooLong(*RealizeOf(sch, write_back).block, *RealizeOf(sch, consumers->front()).block)) return;
    if (!sch.ReverseComputeInline(consumers->front()).ok()) return;
  }
}

}  // namespace tilewright

#include "autoschedule/program/fuse_consumers.h"

namespace tilewright {

void FuseConsumers(Schedule& sch, BlockRv write_back) {
  for (;;) {
    const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(write_back);
    if (!consumers.ok() || consumers->size() != 1) return;
    if (!sch.ReverseComputeInline(consumers->front()).ok()) return;
  }
}

}  // namespace tilewright

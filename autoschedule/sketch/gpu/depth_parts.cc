#include "autoschedule/sketch/gpu/depth_parts.h"

#include <algorithm>

#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/choices.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

using Done = std::monostate;

}  // namespace

std::vector<int64_t> PartsOf(int64_t steps) {
  std::vector<int64_t> parts;
  for (int64_t count = 1; count <= std::min(kMostCandidates, steps / 2 + 1); ++count) {
    if (steps % count == 0) parts.push_back(count);
  }
  return parts;
}

Outcome<DividedProduct> DivideDepth(Schedule& sch, const ProductBlocks& blocks, int64_t parts) {
  const BlockRv whole = blocks.form.product;
  TW_ASSIGN_OR_RETURN(ProductLoops loops, LoopsOfProduct(sch, blocks));
  if (parts == 1) return DividedProduct{whole, blocks.form.output, loops};
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k, sch.Split(loops.k, {parts, Value()}));
  DividedProduct tiled;
  TW_ASSIGN_OR_RETURN(tiled.product, sch.Rfactor(k[0], 0));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> all, LoopsByIterator(sch, tiled.product, "depth_parts"));
  const size_t last = all.size() - 1;
  tiled.loops = {.batch = {}, .m = all[last - 2], .n = all[last - 1], .k = all[last]};
  TW_RETURN_IF_ERROR(sch.Reorder(all));
  TW_ASSIGN_OR_RETURN(tiled.loops.batch, FuseFirst(sch, all, last - 2));
  return tiled;
}

Outcome<Done> AddParts(Schedule& sch, const ProductBlocks& blocks, const std::string& name, const Target& target,
                       Choices& choices) {
  const BlockRv sum = blocks.form.product, output = blocks.form.output;
  TW_RETURN_IF_ERROR(sch.SetScope(sum, 0, "local"));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(output));
  TW_ASSIGN_OR_RETURN(const ThreadLoops threads, BindThreads(sch, loops, 1, name + ".sum", target, choices));
  TW_RETURN_IF_ERROR(sch.ComputeAt(sum, threads.thread));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, sum, threads.thread));
  return inside.empty() ? Outcome<Done>(Done()) : sch.Unroll(inside.back());
}

}  // namespace tilewright

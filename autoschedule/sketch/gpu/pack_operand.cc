#include "autoschedule/sketch/gpu/pack_operand.h"

#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/bind_threads.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "schedule/core/assign_or_return.h"
#include "target/cuda_facts.h"

namespace tilewright {
namespace {

constexpr const char* kName = "pack_operand";

}  // namespace

Outcome<std::monostate> PackOperand(Schedule& sch, BlockRv copy, const Target& target, Choices& choices) {
  InlineCheapProducers(sch, copy);
  const Block node = RealizeOf(sch, copy).block;
  const int side = static_cast<int>(node->iter_vars.size()) - 2;
  const int64_t vector = VectorAlong(*node, node->reads[0].buffer, {side}, cuda::kWidestAccess);
  // Neighbours that are read at once are stored one by one.
  BlockRv store = copy;
  if (vector > 1) {
    TW_ASSIGN_OR_RETURN(store, sch.CacheWrite(copy, 0, "local"));
  }
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsByIterator(sch, store, kName));
  const LoopRv depth = loops.back();
  loops.pop_back();
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops.back(), {Value(), vector}));
  loops.back() = parts[0];
  loops.push_back(depth);
  TW_RETURN_IF_REFUSED(sch.Reorder({depth, parts[1]}));
  TW_ASSIGN_OR_RETURN(const ThreadLoops threads, BindThreads(sch, loops, 1, node->name, target, choices));
  if (vector == 1) return std::monostate();
  TW_RETURN_IF_REFUSED(sch.Unroll(parts[1]));
  TW_RETURN_IF_REFUSED(sch.ComputeAt(copy, threads.thread));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, copy, threads.thread));
  for (const LoopRv& loop : inside) {
    if (ExtentOf(sch, loop) == vector) return sch.Vectorize(loop);
  }
  return std::monostate();
}

}  // namespace tilewright

#include "autoschedule/movement/gpu/pack_operand.h"

#include <string>
#include <vector>

#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/movement/gpu/copy_together.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "pack_operand";

// Neighbours of a side are read at once, and stored one by one: next to them, other threads store.
Outcome<Done> StoreOneByOne(Schedule& sch, BlockRv copy, int64_t vector, const Target& target, Choices& choices) {
  const std::string name = RealizeOf(sch, copy).block->name;
  TW_ASSIGN_OR_RETURN(const BlockRv store, sch.CacheWrite(copy, 0, "local"));
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsByIterator(sch, store, kName));
  const LoopRv depth = loops.back();
  loops.pop_back();
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops.back(), {Value(), vector}));
  loops.back() = parts[0];
  loops.push_back(depth);
  TW_RETURN_IF_ERROR(sch.Reorder({depth, parts[1]}));
  TW_ASSIGN_OR_RETURN(const ThreadLoops threads, BindThreads(sch, loops, 1, name, target, choices));
  TW_RETURN_IF_ERROR(sch.Unroll(parts[1]));
  TW_RETURN_IF_ERROR(sch.ComputeAt(copy, threads.thread));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, copy, threads.thread));
  for (const LoopRv& loop : inside) {
    if (ExtentOf(sch, loop) == vector) return sch.Vectorize(loop);
  }
  return Done();
}

// Elements from here and there are stored at once.
Outcome<Done> StoreTogether(Schedule& sch, BlockRv copy, const Target& target, Choices& choices) {
  const Block node = RealizeOf(sch, copy).block;
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, copy, kName));
  const int64_t most = target.gpu_part().max_access_bytes / node->writes[0].buffer->dtype.bytes();
  TW_ASSIGN_OR_RETURN(const ThreadLoops threads, BindThreads(sch, loops, most, node->name, target, choices));
  return threads.vector ? sch.Vectorize(*threads.vector) : Outcome<Done>(Done());
}

}  // namespace

Outcome<std::monostate> PackOperand(Schedule& sch, BlockRv copy, const Target& target, Choices& choices) {
  const Block node = RealizeOf(sch, copy).block;
  const int side = static_cast<int>(node->iter_vars.size()) - 2;
  const int64_t vector = VectorAlong(*node, node->reads[0].buffer, {side}, target.gpu_part().max_access_bytes,
                                     target.gpu_part().max_access_bytes);
  return vector > 1 ? StoreOneByOne(sch, copy, vector, target, choices) : StoreTogether(sch, copy, target, choices);
}

}  // namespace tilewright

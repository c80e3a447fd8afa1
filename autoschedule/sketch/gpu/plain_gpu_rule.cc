#include "autoschedule/sketch/gpu/plain_gpu_rule.h"

#include <algorithm>
#include <vector>

#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/normalize/inline_rule.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/functor.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "plain_gpu_rule";

// Neighbours along the iterator that a thread may take at once: all accesses are to neighbours, or to one element.
int64_t MostVector(const BlockNode& block, size_t iterator, const Target& target) {
  int bits = 8;
  for (const Access& access : AccessesOf(block)) {
    const std::optional<int64_t> stride = access.strides[iterator];
    if (stride != 1 && (access.store || stride != 0)) return 1;
    bits = std::max(bits, access.buffer->dtype.bits());
  }
  const int64_t most = target.gpu_part().max_access_bytes * 8 / bits;
  return block.init ? std::min(most, GpuCostsOf(target).sums) : most;
}

bool HasSerialLoops(Schedule& sch, BlockRv block) {
  const Outcome<std::vector<LoopRv>> loops = sch.GetLoops(block);
  return loops.ok() &&
         std::ranges::all_of(*loops, [&](LoopRv loop) { return LoopOf(sch, loop).kind == ForKind::kSerial; });
}

bool HasLoops(const Stmt& body) {
  bool found = false;
  PreOrder(body, [&](const Stmt& s) {
    found |= isa<ForNode>(s) || isa<WhileNode>(s) || isa<BlockRealizeNode>(s);
    return !found;
  });
  return found;
}

std::vector<LoopRv> OfKind(const BlockNode& block, const std::vector<LoopRv>& loops, IterKind kind) {
  std::vector<LoopRv> found;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (block.iter_vars[i].kind == kind) found.push_back(loops[i]);
  }
  return found;
}

size_t LastSpatial(const BlockNode& block) {
  size_t last = block.iter_vars.size();
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::kSpatial) last = i;
  }
  return last;
}

// Binds the spatial loops of a block whose iterators have loops of their own, all others inside of them.
Outcome<ThreadLoops> BindSpatial(Schedule& sch, BlockRv block, int64_t most_vector, const std::string& name,
                                 const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, kName));
  const Block node = RealizeOf(sch, block).block;
  const std::vector<LoopRv> spatial = OfKind(*node, loops, IterKind::kSpatial);
  std::vector<LoopRv> order = spatial;
  for (const LoopRv& loop : OfKind(*node, loops, IterKind::kReduce)) order.push_back(loop);
  if (order.size() > 1) TW_RETURN_IF_ERROR(sch.Reorder(order));
  return BindThreads(sch, spatial, most_vector, name, target, choices);
}

// The sum in a thread's own memory.
Outcome<Done> ScheduleSum(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const Block node = RealizeOf(sch, block).block;
  TW_ASSIGN_OR_RETURN(const BlockRv write_back, SumInLocalMemory(sch, block));
  FuseConsumers(sch, write_back);
  const Block stored = RealizeOf(sch, write_back).block;
  const int64_t most_vector = std::min(MostVector(*node, LastSpatial(*node), target),
                                       MostVector(*stored, stored->iter_vars.size() - 1, target));
  TW_ASSIGN_OR_RETURN(const ThreadLoops threads,
                      BindSpatial(sch, write_back, most_vector, node->name, target, choices));
  TW_RETURN_IF_ERROR(sch.ComputeAt(block, threads.thread));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, block, threads.thread));
  std::vector<LoopRv> spatial, order;
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  for (const LoopRv& loop : inside) {
    const Var var = LoopOf(sch, loop).var;
    bool reduces = false;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      reduces |= realize.block->iter_vars[i].kind == IterKind::kReduce && UsesVar(realize.bindings[i], var);
    }
    (reduces ? order : spatial).push_back(loop);
  }
  if (order.empty()) return threads.vector ? sch.Vectorize(*threads.vector) : Outcome<Done>(Done());
  const LoopRv outermost = order[0];
  order.insert(order.end(), spatial.begin(), spatial.end());
  if (order.size() > 1) TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(block, outermost));
  if (!threads.vector) return Done();
  TW_RETURN_IF_ERROR(WriteOut(sch, init, threads.thread, true));
  TW_RETURN_IF_ERROR(sch.Vectorize(*threads.vector));
  return spatial.empty() ? Outcome<Done>(Done()) : sch.Vectorize(spatial.back());
}

}  // namespace

Outcome<BlockRv> SumInLocalMemory(Schedule& sch, BlockRv block) {
  bool plain = true;
  for (const Access& access : AccessesOf(*RealizeOf(sch, block).block)) {
    if (access.store)
      plain = plain && std::ranges::all_of(access.indices, [](const Expr& e) { return isa<VarNode>(e); });
  }
  if (plain) return sch.CacheWrite(block, 0, "local");
  TW_ASSIGN_OR_RETURN(const BlockRv write_back, sch.Reindex(block, Value(Value::List{Value("write"), Value(0)})));
  TW_RETURN_IF_ERROR(sch.SetScope(block, 0, "local"));
  return write_back;
}

void InlineCheapProducers(Schedule& sch, BlockRv block) {
  bool changed = true;
  while (changed) {
    changed = false;
    const Outcome<std::vector<BlockRv>> producers = sch.GetProducers(block);
    if (!producers.ok()) return;
    for (const BlockRv& producer : *producers) {
      const BlockNode& node = *RealizeOf(sch, producer).block;
      const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(producer);
      if (!consumers.ok() || consumers->size() != 1 || node.init || !isa<StoreNode>(node.body)) continue;
      if (IsDear(node) || CombinesElements(node) || !HasSerialLoops(sch, producer)) continue;
      changed |= sch.ComputeInline(producer).ok();
    }
  }
}

Outcome<Done> SchedulePlainOnGpu(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const Block before = RealizeOf(sch, block).block;
  std::vector<size_t> reductions;
  for (size_t i = 0; i < before->iter_vars.size(); ++i) {
    const IterKind kind = before->iter_vars[i].kind;
    if (kind == IterKind::kReduce) {
      reductions.push_back(i);
    } else if (kind != IterKind::kSpatial) {
      return Refusal{kName, "an iterator of {block0} is neither spatial nor reduce", {before->id}};
    }
  }
  if (reductions.size() == before->iter_vars.size()) {
    return Refusal{kName, "{block0} has no spatial iterator", {before->id}};
  }
  // Conditions that cut a loop into blocks of threads would stand around what an instance does in turn.
  if (HasLoops(before->body)) return Refusal{kName, "{block0} holds loops", {before->id}};
  InlineCheapProducers(sch, block);
  if (before->init && before->writes.size() == 1) return ScheduleSum(sch, block, target, choices);
  const Block node = RealizeOf(sch, block).block;
  const int64_t most_vector = reductions.empty() ? MostVector(*node, node->iter_vars.size() - 1, target) : 1;
  TW_ASSIGN_OR_RETURN(const ThreadLoops threads, BindSpatial(sch, block, most_vector, node->name, target, choices));
  return threads.vector ? sch.Vectorize(*threads.vector) : Outcome<Done>(Done());
}

}  // namespace tilewright

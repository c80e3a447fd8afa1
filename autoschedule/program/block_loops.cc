#include "autoschedule/program/block_loops.h"

#include <algorithm>
#include <utility>

#include "autoschedule/program/estimates.h"
#include "autoschedule/program/sizes.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// Parts of the time: busy enough, and nearly all of it.
constexpr double kBusy = 0.75, kBusyThroughout = 0.9;

}  // namespace

Function FunctionOf(const Schedule& sch, BlockRv block) {
  return sch.module().Find(sch.Get(block).As<BlockRef>()->function);
}

Function FunctionOf(const Schedule& sch, LoopRv loop) {
  return sch.module().Find(sch.Get(loop).As<LoopRef>()->function);
}

const BlockRealizeNode& RealizeOf(const Schedule& sch, BlockRv block) {
  return *FindBlock(FunctionOf(sch, block), sch.Get(block).As<BlockRef>()->id);
}

bool Exists(const Schedule& sch, BlockRv block) {
  return FindBlock(FunctionOf(sch, block), sch.Get(block).As<BlockRef>()->id) != nullptr;
}

const ForNode& LoopOf(const Schedule& sch, LoopRv loop) {
  return *FindLoop(FunctionOf(sch, loop), sch.Get(loop).As<LoopRef>()->id);
}

std::optional<int64_t> ExtentOf(const Schedule& sch, LoopRv loop) { return AsInt(LoopOf(sch, loop).extent); }
std::optional<int64_t> ExtentOf(const IterVar& iter) { return AsInt(iter.domain.extent); }

int64_t LikelyExtent(const Schedule& sch, LoopRv loop) {
  if (const auto constant = ExtentOf(sch, loop)) return *constant;
  return LikelySizes::Of(FunctionOf(sch, loop)).Likely(LoopOf(sch, loop).extent);
}

int64_t LeastExtent(const Schedule& sch, LoopRv loop) {
  if (const auto constant = ExtentOf(sch, loop)) return *constant;
  return LikelySizes::Of(FunctionOf(sch, loop)).Least(LoopOf(sch, loop).extent);
}

Ref<BlockRealizeNode> LikelyRealizeOf(const Schedule& sch, BlockRv block) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const auto is_constant = [](const IterVar& iter) { return ExtentOf(iter).has_value(); };
  if (std::ranges::all_of(realize.block->iter_vars, is_constant)) return Ref<BlockRealizeNode>(&realize);
  const LikelySizes sizes = LikelySizes::Of(FunctionOf(sch, block));
  BlockNode::Fields fields = realize.block->fields();
  for (IterVar& iter : fields.iter_vars) {
    iter.domain.extent = Const(iter.domain.extent.dtype(), sizes.Likely(iter.domain.extent));
  }
  return Ref<BlockRealizeNode>(new BlockRealizeNode(realize.bindings, realize.predicate, Block(std::move(fields))));
}

std::vector<BlockRv> BlocksInRoot(Schedule& sch, const std::string& function) {
  const auto* root = dyn_cast<BlockRealizeNode>(sch.module().Find(function)->body);
  if (root == nullptr) return {};
  const Outcome<BlockRv> root_block = sch.GetBlock(root->block->name, function);
  if (!root_block.ok()) return {};
  const Outcome<std::vector<BlockRv>> children = sch.GetChildBlocks(*root_block);
  return children.ok() ? *children : std::vector<BlockRv>();
}

bool IsSerial(const ScopeChild& child) {
  return std::ranges::all_of(child.loops, [](const ForNode* loop) { return loop->kind == ForKind::kSerial; });
}

bool IsScheduled(const Schedule& sch, BlockRv block) {
  const uint32_t id = RealizeOf(sch, block).block->id;
  return !IsSerial(*BlockScope::Around(FunctionOf(sch, block), id).Find(id));
}

std::optional<BlockRv> WriterOf(Schedule& sch, BlockRv block, const Buffer& buffer) {
  const Outcome<std::vector<BlockRv>> producers = sch.GetProducers(block);
  if (!producers.ok()) return std::nullopt;
  for (const BlockRv& producer : *producers) {
    if (RealizeOf(sch, producer).block->writes[0].buffer.same_as(buffer)) return producer;
  }
  return std::nullopt;
}

Outcome<std::vector<LoopRv>> LoopsByIterator(Schedule& sch, BlockRv block, const char* rule) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(block));
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  std::vector<const VarNode*> vars;
  for (const LoopRv& loop : loops) vars.push_back(LoopOf(sch, loop).var.get());
  std::vector<LoopRv> by_iterator;
  for (const Expr& binding : realize.bindings) {
    const auto place = std::ranges::find_if(vars, [&](const VarNode* var) { return binding.get() == var; });
    if (place != vars.end()) by_iterator.push_back(loops[static_cast<size_t>(place - vars.begin())]);
  }
  if (by_iterator.size() != realize.bindings.size() || loops.size() != by_iterator.size()) {
    return Refusal{rule, "an iterator of {block0} is not bound to a loop of its own", {realize.block->id}};
  }
  return by_iterator;
}

Outcome<std::vector<LoopRv>> LoopsInside(Schedule& sch, BlockRv block, LoopRv outer) {
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, sch.GetLoops(block));
  const uint32_t outer_id = sch.Get(outer).As<LoopRef>()->id;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (sch.Get(loops[i]).As<LoopRef>()->id == outer_id) {
      return std::vector<LoopRv>(loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, loops.end());
    }
  }
  return loops;
}

Outcome<std::monostate> WriteOut(Schedule& sch, BlockRv block, LoopRv outer, bool vector) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch, block, outer));
  for (size_t i = loops.size(); i-- > 0;) {
    if (vector && i + 1 == loops.size()) {
      TW_RETURN_IF_ERROR(sch.Vectorize(loops[i]));
    } else {
      TW_RETURN_IF_ERROR(sch.Unroll(loops[i]));
    }
  }
  return std::monostate();
}

double BusyPart(int64_t iterations, int cores) {
  const int64_t rounds = CeilDiv(iterations, cores);
  return static_cast<double>(iterations) / static_cast<double>(rounds * cores);
}

bool KeepsCoresBusy(int64_t iterations, int cores) { return BusyPart(iterations, cores) >= kBusy; }
bool KeepsCoresBusyThroughout(int64_t iterations, int cores) { return BusyPart(iterations, cores) > kBusyThroughout; }

size_t ParallelLoops(const std::vector<int64_t>& extents, int cores) {
  int64_t iterations = 1;
  size_t best = extents.empty() ? 0 : 1;
  double best_balance = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    iterations *= extents[i];
    const double balance = BusyPart(iterations, cores);
    if (balance > best_balance + kNearlyEqual) {
      best = i + 1;
      best_balance = balance;
    }
  }
  return best;
}

size_t LoopsToFuse(const Schedule& sch, const std::vector<LoopRv>& loops) {
  bool unit = true;  // those outside of the next one
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!unit && !ExtentOf(sch, loops[i])) return i;
    unit &= ExtentOf(sch, loops[i]) == 1;
  }
  return loops.size();
}

size_t ParallelLoops(const Schedule& sch, const std::vector<LoopRv>& loops, int cores) {
  std::vector<int64_t> least, likely;
  for (const LoopRv& loop : loops) {
    least.push_back(LeastExtent(sch, loop));
    likely.push_back(LikelyExtent(sch, loop));
  }
  const auto busy = [&](const std::vector<int64_t>& extents, size_t count) {
    int64_t iterations = 1;
    for (size_t i = 0; i < count; ++i) iterations *= extents[i];
    return BusyPart(iterations, cores);
  };
  // A loop of a symbolic extent inside of another is not made one with it: what a division by a size leaves is neither
  // cheap nor easy to prove.
  const size_t most = LoopsToFuse(sch, loops);
  least.resize(most);
  likely.resize(most);
  const size_t count = ParallelLoops(least, cores), other = ParallelLoops(likely, cores);
  return busy(least, count) >= busy(likely, other) - kNearlyEqual ? count : std::max(count, other);
}

Outcome<LoopRv> FuseFirst(Schedule& sch, const std::vector<LoopRv>& loops, size_t count) {
  if (count <= 1) return loops[0];
  return sch.Fuse({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(count)});
}

Outcome<std::monostate> RunInParallel(Schedule& sch, std::vector<LoopRv>& loops, int cores) {
  if (loops.empty()) return std::monostate();
  const size_t shared = ParallelLoops(sch, loops, cores);
  TW_ASSIGN_OR_RETURN(const LoopRv threads, FuseFirst(sch, loops, shared));
  loops.erase(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(shared));
  loops.insert(loops.begin(), threads);
  return sch.Parallel(threads);
}

}  // namespace tilewright

#include "autoschedule/gpu_fuzz/random_bindings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/analysis.h"

namespace tilewright::fuzz {
namespace {

class Binder {
 public:
  Binder(Schedule& sch, Random& random) : sch_(sch), random_(random) {}

  void Run() {
    for (const BlockRv& block : BlocksInRoot(sch_, "main")) {
      if (Chance(4)) (void)sch_.ComputeInline(block).ok();
    }
    // Consumers first: what they read may be computed at their loops.
    std::vector<BlockRv> blocks = BlocksInRoot(sch_, "main");
    for (size_t i = blocks.size(); i-- > 0;) Bind(blocks[i]);
  }

 private:
  bool Chance(uint64_t in) { return random_.Below(in) == 0; }
  template <class T>
  T Of(const std::vector<T>& values) {
    return values[random_.Below(values.size())];
  }

  bool IsReduction(BlockRv block, LoopRv loop) const {
    const BlockRealizeNode& realize = RealizeOf(sch_, block);
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      const bool reduces = realize.block->iter_vars[i].kind == IterKind::kReduce;
      if (reduces && UsesVar(realize.bindings[i], LoopOf(sch_, loop).var)) return true;
    }
    return false;
  }

  // Loops of one kind, as one where that is possible.
  LoopRv FuseSome(std::vector<LoopRv> loops) {
    while (loops.size() > 1 && !Chance(4)) {
      const Outcome<LoopRv> fused = sch_.Fuse({loops[loops.size() - 2], loops.back()});
      if (!fused.ok()) break;
      loops.pop_back();
      loops.back() = *fused;
    }
    return loops[Chance(2) ? 0 : loops.size() - 1];
  }

  void Bind(BlockRv block) {
    const Outcome<std::vector<LoopRv>> loops = sch_.GetLoops(block);
    if (!loops.ok() || loops->empty()) return;
    const bool serial =
        std::ranges::all_of(*loops, [&](const LoopRv& loop) { return LoopOf(sch_, loop).kind == ForKind::kSerial; });
    if (!serial) return;
    std::vector<LoopRv> spatial, reduced;
    for (const LoopRv& loop : *loops) (IsReduction(block, loop) ? reduced : spatial).push_back(loop);
    std::vector<LoopRv> order = spatial;
    order.insert(order.end(), reduced.begin(), reduced.end());
    if (order.size() > 1) (void)sch_.Reorder(order).ok();
    std::vector<LoopRv> inside;
    std::optional<LoopRv> grid, thread;
    if (!spatial.empty()) {
      const auto parts = sch_.Split(
          FuseSome(spatial), {Value(), Value(Of<int64_t>({1, 4, 8, 16, 32, 48})), Value(Of<int64_t>({1, 1, 2, 4}))});
      if (!parts.ok()) return;
      if (sch_.Bind((*parts)[0], "blockIdx.x").ok()) grid = (*parts)[0];
      const std::string axis = Chance(3) ? "threadIdx.y" : "threadIdx.x";
      if (!Chance(6) && sch_.Bind((*parts)[1], axis).ok()) thread = (*parts)[1];
      inside.push_back((*parts)[2]);
    }
    if (!reduced.empty()) ShareReduction(FuseSome(reduced));
    if (grid) Stage(block, thread && Chance(2) ? *thread : *grid);
    if (!inside.empty() && Chance(2)) (void)(Chance(2) ? sch_.Vectorize(inside[0]) : sch_.Unroll(inside[0])).ok();
  }

  void ShareReduction(LoopRv loop) {
    if (Chance(3)) return;
    const auto parts =
        sch_.Split(loop, {Value(), Value(Of<int64_t>({2, 5, 8, 16, 32, 64})), Value(Of<int64_t>({1, 1, 2, 4}))});
    if (!parts.ok()) return;
    if (Chance(4)) (void)sch_.Reorder({(*parts)[1], (*parts)[0]}).ok();
    (void)sch_.Bind((*parts)[1], Chance(3) ? "threadIdx.y" : "threadIdx.x").ok();
  }

  // What the block reads and writes, nearer to it.
  void Stage(BlockRv block, LoopRv loop) {
    if (Chance(3)) StageResult(block, loop);
    if (Chance(2)) {
      const size_t reads = RealizeOf(sch_, block).block->reads.size();
      if (reads > 0) {
        // Memory of threads is filled by each thread for itself.
        const bool shared = !Chance(3);
        const auto copy =
            sch_.CacheRead(block, static_cast<int>(random_.Below(reads)), shared ? "shared" : "local", {Value(block)});
        if (copy.ok() && sch_.ComputeAt(*copy, loop).ok() && shared) ShareCopy(*copy, loop);
      }
    }
    const Outcome<std::vector<BlockRv>> producers = sch_.GetProducers(block);
    if (!producers.ok() || !Chance(2)) return;
    for (const BlockRv& producer : *producers) {
      if (!sch_.ComputeAt(producer, loop).ok()) continue;
      const std::string scope = SomeScope();
      (void)sch_.SetScope(producer, 0, scope).ok();
      if (scope != "local" || Chance(4)) ShareCopy(producer, loop);
    }
  }

  std::string SomeScope() { return Of<std::string>({"shared", "shared", "shared.dyn", "local", "global"}); }

  // The result is computed in other memory, and copied out at the loop or behind it.
  void StageResult(BlockRv block, LoopRv loop) {
    const std::string scope = SomeScope();
    const auto copy = sch_.CacheWrite(block, 0, scope);
    if (!copy.ok() || !sch_.ReverseComputeAt(*copy, loop).ok() || scope == "local") return;
    ShareCopy(*copy, loop);
  }

  void ShareCopy(BlockRv copy, LoopRv outer) {
    const Outcome<std::vector<LoopRv>> loops = LoopsInside(sch_, copy, outer);
    if (!loops.ok() || loops->empty() || Chance(4)) return;
    std::vector<LoopRv> spatial, reduced;
    for (const LoopRv& loop : *loops) (IsReduction(copy, loop) ? reduced : spatial).push_back(loop);
    const std::vector<LoopRv>& shared = spatial.empty() || (!reduced.empty() && Chance(2)) ? reduced : spatial;
    const auto parts = sch_.Split(FuseSome(shared), {Value(), Value(Of<int64_t>({8, 16, 32, 64}))});
    if (parts.ok()) (void)sch_.Bind((*parts)[1], Chance(4) ? "threadIdx.y" : "threadIdx.x").ok();
  }

  Schedule& sch_;
  Random& random_;
};

}  // namespace

void ApplyRandomBindings(Schedule& sch, Random& random) { Binder(sch, random).Run(); }

}  // namespace tilewright::fuzz

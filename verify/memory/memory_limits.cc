#include "verify/memory/memory_limits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/annotations.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/substitute.h"
#include "verify/memory/stored_elements.h"
#include "verify/structure/own_memory.h"
#include "verify/threads/kernels.h"
#include "verify/threads/touches.h"

namespace tilewright {
namespace {

// Touches of global memory that a kernel allocates, as of the memory that it becomes.
void GiveOwnMemory(const Function& function, std::vector<Touch>* touches) {
  const OwnGlobalMemory own = FindOwnGlobalMemory(function);
  std::unordered_map<const BufferNode*, Buffer> replaced;
  for (Touch& touch : *touches) {
    const Buffer& buffer = touch.region.buffer;
    for (const auto* scopes : {&own.scopes, &own.of_single_threads}) {
      const auto scope = scopes->find(buffer->data.get());
      if (scope == scopes->end()) continue;
      Buffer& of_its_own = replaced[buffer.get()];
      if (!of_its_own) {
        BufferNode::Fields fields = buffer->fields();
        fields.scope = scope->second;
        of_its_own = Buffer(std::move(fields));
      }
      touch.region.buffer = of_its_own;
      break;
    }
  }
}

// The extents of the part; empty when one is not known.
std::optional<std::vector<int64_t>> Extents(const arith::Region& region, arith::Analyzer* analyzer,
                                            const std::vector<Expr>& shape) {
  std::vector<int64_t> extents;
  for (size_t d = 0; d < region.size(); ++d) {
    int64_t extent = analyzer->ConstBounds(region[d].extent).max;
    if (const auto whole = AsInt(shape[d])) extent = std::min(extent, *whole);
    if (extent == arith::kPosInf) return std::nullopt;
    extents.push_back(std::max<int64_t>(extent, 0));
  }
  return extents;
}

// Memory that a kernel's buffers take in one block or thread.
class KernelMemory {
 public:
  KernelMemory(const Kernel& kernel, const std::vector<Touch>& touches, const StoredElements& stored)
      : stored_(stored) {
    for (const Touch& touch : touches) {
      // The same touch of another iteration.
      if (!touch.advanced.empty()) continue;
      const bool inside = std::find(touch.loops.begin(), touch.loops.end(), kernel.root) != touch.loops.end();
      if (!inside) continue;
      by_buffer_[touch.region.buffer.get()].push_back(&touch);
      in_order_.push_back(&touch);
      if (std::find(order_.begin(), order_.end(), touch.region.buffer.get()) == order_.end()) {
        order_.push_back(touch.region.buffer.get());
      }
    }
  }

  // Bytes of all buffers that `counts` says yes to; kPosInf when one has no constant size.
  template <class Counts>
  int64_t Bytes(Counts counts) const {
    int64_t bytes = 0;
    for (const BufferNode* buffer : order_) {
      if (!counts(*buffer)) continue;
      const int64_t elements = Elements(*buffer);
      if (elements == arith::kPosInf) return elements;
      bytes += (elements * buffer->dtype.bits() * buffer->dtype.lanes() + 7) / 8;
    }
    return bytes;
  }

  // The most bytes of a block's memory that are used at the same time: what is dead leaves its bytes to others.
  int64_t SharedBytes() const {
    std::vector<std::pair<Life, int64_t>> lives;
    for (const BufferNode* buffer : order_) {
      if (buffer->scope.owner() != OwnerLevel::kBlock) continue;
      const int64_t bytes = Bytes([&](const BufferNode& other) { return &other == buffer; });
      if (bytes == arith::kPosInf) return bytes;
      lives.emplace_back(LifeOf(*buffer), bytes);
    }
    int64_t most = 0;
    for (const auto& [life, unused] : lives) {
      int64_t at_once = 0;
      for (const auto& [other, bytes] : lives) {
        if (other.first <= life.first && life.first <= other.last) at_once += bytes;
      }
      most = std::max(most, at_once);
    }
    return most;
  }

 private:
  // Places of the first and last touch, in the order of all touches.
  struct Life {
    size_t first = 0, last = 0;
  };
  Life LifeOf(const BufferNode& buffer) const {
    const size_t common = CommonLoops(by_buffer_.at(&buffer)).size();
    Life life = {in_order_.size(), 0};
    const auto add = [&](size_t place) { life = {std::min(life.first, place), std::max(life.last, place)}; };
    for (size_t place = 0; place < in_order_.size(); ++place) {
      const Touch& touch = *in_order_[place];
      if (touch.region.buffer.get() != &buffer) continue;
      add(place);
      // What a loop uses that begins behind the allocation is alive in all of it.
      const auto repeats = std::find_if(touch.loops.begin() + static_cast<ptrdiff_t>(common), touch.loops.end(),
                                        [](const ForNode* loop) { return loop->kind != ForKind::kThreadBound; });
      for (size_t other = 0; repeats != touch.loops.end() && other < in_order_.size(); ++other) {
        if (IsBelow(*in_order_[other], *repeats)) add(other);
      }
      if (touch.write) AddCopiesAhead(touch, add);
    }
    return life;
  }
  // A producer begins before all others, and with the next iteration of loops around while others end this one.
  template <class Add>
  void AddCopiesAhead(const Touch& touch, const Add& add) const {
    const auto pipeline = std::ranges::find_if(
        touch.loops, [](const ForNode* loop) { return loop->annotations.contains(kPipelineRoles); });
    if (pipeline == touch.loops.end()) return;
    add(0);
    const bool again = std::any_of(touch.loops.begin(), pipeline, [](const ForNode* loop) {
      return loop->kind != ForKind::kThreadBound || loop->annotations.contains(kSharingBlocks);
    });
    if (again) add(in_order_.size() - 1);
  }
  static bool IsBelow(const Touch& touch, const ForNode* loop) {
    return std::ranges::find(touch.loops, loop) != touch.loops.end();
  }

  static std::vector<const ForNode*> CommonLoops(const std::vector<const Touch*>& touches) {
    std::vector<const ForNode*> common = touches[0]->loops;
    for (const Touch* touch : touches) {
      const size_t n = std::min(common.size(), touch->loops.size());
      common.resize(static_cast<size_t>(
          std::mismatch(common.begin(), common.begin() + static_cast<ptrdiff_t>(n), touch->loops.begin()).first -
          common.begin()));
    }
    return common;
  }

  // Loops in whose iterations the buffer is another one's, as one loop for each tag: what all of them touch in it is
  // what one executor does.
  static VarMap Executors(const std::vector<const Touch*>& touches, const std::vector<const ForNode*>& common,
                          arith::Analyzer* analyzer) {
    std::unordered_map<std::string, const ForNode*> of_tags;
    VarMap executors;
    for (const Touch* touch : touches) {
      for (const ForNode* loop : touch->loops) {
        if (!StartsThreads(*loop) || !HasOwnMemory(touch->region.buffer, *loop)) continue;
        // Lanes are threads along x.
        if (touch->region.buffer->scope.owner() != OwnerLevel::kThread && loop->thread_tag == "threadIdx.x") continue;
        const auto [first, is_new] = of_tags.try_emplace(loop->thread_tag, loop);
        const bool bound = std::ranges::find(common, first->second) != common.end();
        if (is_new && !bound) analyzer->Bind(loop->var, {loop->min, loop->extent});
        if (arith::SameExpr(first->second->extent, loop->extent)) executors[loop->var] = first->second->var;
      }
    }
    return executors;
  }

  int64_t Elements(const BufferNode& buffer) const {
    const std::vector<const Touch*>& touches = by_buffer_.at(&buffer);
    const std::vector<const ForNode*> common = CommonLoops(touches);
    arith::Analyzer analyzer;
    const bool shared = buffer.scope.owner() == OwnerLevel::kBlock;
    for (const ForNode* loop : common) {
      if (!(shared && StartsThreads(*loop))) analyzer.Bind(loop->var, {loop->min, loop->extent});
    }
    const VarMap executors = Executors(touches, common, &analyzer);
    std::optional<arith::Region> hull;
    for (const Touch* touch : touches) {
      arith::Domain relaxed;
      for (size_t i = 0; i < touch->loops.size(); ++i) {
        const ForNode* loop = touch->loops[i];
        const bool fixed = i < common.size() && !(shared && StartsThreads(*loop));
        if (!fixed && !executors.contains(loop->var)) relaxed.push_back({loop->var, {loop->min, loop->extent}});
      }
      std::vector<Range> place;
      for (const Range& range : touch->region.region) place.push_back(Substitute(range, executors));
      const Expr predicate = touch->predicate ? Substitute(touch->predicate, executors) : touch->predicate;
      auto region = arith::MayTouch(place, relaxed, predicate, &analyzer);
      if (!region) region = BufferRegion::Full(touch->region.buffer).region;
      hull = hull ? arith::UnionRegions(*hull, *region, &analyzer) : region;
    }
    const auto extents = Extents(*hull, &analyzer, buffer.shape);
    return extents ? stored_.Of(buffer, *extents, common.empty() ? nullptr : common.back()) : arith::kPosInf;
  }

  const StoredElements& stored_;
  std::vector<const BufferNode*> order_;
  std::vector<const Touch*> in_order_;
  std::unordered_map<const BufferNode*, std::vector<const Touch*>> by_buffer_;
};

KernelMemoryUse UseOf(const Kernel& kernel, const KernelMemory& memory, const GpuTarget& gpu) {
  const auto of_kind = [&](MemoryKind kind) {
    return memory.Bytes([&](const BufferNode& b) { return b.scope.kind() == kind; });
  };
  const auto fragments_of = [&](OwnerLevel owner) {
    return memory.Bytes(
        [&](const BufferNode& b) { return b.scope.kind() == MemoryKind::kFragment && b.scope.owner() == owner; });
  };
  const int64_t own = of_kind(MemoryKind::kRegister), of_warps = fragments_of(OwnerLevel::kWarp),
                of_warpgroups = fragments_of(OwnerLevel::kWarpgroup);
  const bool known = own != arith::kPosInf && of_warps != arith::kPosInf && of_warpgroups != arith::kPosInf;
  return {.root = kernel.root,
          .threads = std::max<int64_t>(kernel.Threads(gpu.warp_size), 1),
          .shared = memory.SharedBytes(),
          .local = of_kind(MemoryKind::kLocal),
          .registers = known ? own + of_warps / gpu.warp_size + of_warpgroups / gpu.warpgroup_size : arith::kPosInf};
}

class Checker {
 public:
  explicit Checker(const Target& target) : target_(target) {}
  Diagnostics diagnostics;

  void Check(const KernelMemoryUse& use) {
    const GpuTarget& gpu = target_.gpu_part();
    Compare(use, "of shared memory in a block", use.shared, gpu.max_shared_bytes_per_block);
    Compare(use, "of local memory in a thread", use.local, gpu.max_local_bytes_per_thread);
    const int64_t registers = std::min<int64_t>(gpu.max_registers_per_thread, gpu.registers_per_core / use.threads);
    Compare(use, "in the registers of a thread", use.registers, registers * 4);
  }

 private:
  void Compare(const KernelMemoryUse& use, const std::string& what, int64_t bytes, int64_t limit) {
    if (bytes <= limit) return;
    const std::string amount = bytes == arith::kPosInf ? "no constant number of" : std::to_string(bytes);
    diagnostics.push_back(
        {Verdict::kRefuted, "memory limits", use.root->id,
         "the kernel needs " + amount + " bytes " + what + ", " + target_.name + " has " + std::to_string(limit)});
  }

  const Target& target_;
};

}  // namespace

std::vector<KernelMemoryUse> MemoryOfKernels(const Function& function, const GpuTarget& gpu) {
  const std::vector<Kernel> kernels = FindKernels(function);
  if (kernels.empty()) return {};
  Touches touches = CollectTouches(function);
  GiveOwnMemory(function, &touches.touches);
  const StoredElements stored(function);
  std::vector<KernelMemoryUse> uses;
  for (const Kernel& kernel : kernels) {
    uses.push_back(UseOf(kernel, KernelMemory(kernel, touches.touches, stored), gpu));
  }
  return uses;
}

Diagnostics CheckMemoryLimits(const Function& function, const Target* target) {
  if (target == nullptr || !target->is_gpu()) return {};
  Checker checker(*target);
  for (const KernelMemoryUse& use : MemoryOfKernels(function, target->gpu_part())) checker.Check(use);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

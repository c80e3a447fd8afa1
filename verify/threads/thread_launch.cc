#include "verify/threads/thread_launch.h"

#include <map>
#include <string>
#include <string_view>

#include "ir/arith/same_expr.h"
#include "ir/script/printer.h"
#include "ir/thread_tags.h"
#include "target/clusters.h"
#include "verify/threads/kernels.h"

namespace tilewright {
namespace {

bool IsThreadTag(std::string_view tag) { return tag.starts_with("threadIdx."); }

bool IsKnownTag(std::string_view tag) {
  if (tag.starts_with("vthread") || tag.starts_with("cthread")) return true;
  return (IsBlockTag(tag) || IsThreadTag(tag)) && (tag.ends_with(".x") || tag.ends_with(".y") || tag.ends_with(".z")) &&
         tag.size() == tag.find('.') + 2;
}

// Extents of two index types may be one number.
bool AreEqual(const Expr& a, const Expr& b) {
  const auto number = AsInt(a), other = AsInt(b);
  return number && other ? *number == *other : arith::SameExpr(a, b);
}

class Checker {
 public:
  explicit Checker(const Target* target) : target_(target) {}
  Diagnostics diagnostics;

  void Check(const Kernel& kernel) {
    std::map<std::string, const ForNode*> first;
    for (const BoundLoop& bound : kernel.loops) {
      const ForNode* loop = bound.loop;
      const std::string& tag = loop->thread_tag;
      if (!IsKnownTag(tag)) {
        Refuse(loop, "loop " + loop->var.name() + " is bound to " + tag + ", which is not a thread of a GPU");
        continue;
      }
      if (!IsInt(loop->min, 0)) {
        Refuse(loop, "loop " + loop->var.name() + " is bound to " + tag + " and starts at " + Print(loop->min) +
                         ", not at 0");
      }
      if (!tag.starts_with("blockIdx") && !AsInt(loop->extent)) {
        Refuse(loop, "loop " + loop->var.name() + " is bound to " + tag + ", but its extent " + Print(loop->extent) +
                         " is not a constant");
      }
      CheckAround(bound);
      if (!IsBlockTag(tag) && !IsThreadTag(tag)) continue;
      const auto [other, is_first] = first.emplace(tag, loop);
      if (!is_first && !AreEqual(other->second->extent, loop->extent)) {
        Refuse(loop, "loops " + other->second->var.name() + " and " + loop->var.name() +
                         " of one kernel are bound to " + tag + " with different extents, " +
                         Print(other->second->extent) + " and " + Print(loop->extent));
      }
    }
    if (target_ != nullptr && target_->is_gpu()) CheckLimits(kernel, first);
  }

 private:
  void CheckAround(const BoundLoop& bound) {
    if (!IsBlockTag(bound.loop->thread_tag)) return;
    for (const ForNode* outer : bound.around) {
      if (!IsBlockTag(outer->thread_tag) || outer->thread_tag == bound.loop->thread_tag) {
        return Refuse(bound.loop, "loop " + bound.loop->var.name() + ", bound to " + bound.loop->thread_tag +
                                      ", lies inside of loop " + outer->var.name() + ", bound to " + outer->thread_tag);
      }
    }
  }

  void CheckLimits(const Kernel& kernel, const std::map<std::string, const ForNode*>& loops) {
    static constexpr const char* kDims[] = {"x", "y", "z"};
    for (int d = 0; d < 3; ++d) {
      const std::string threads = std::string("threadIdx.") + kDims[d], blocks = std::string("blockIdx.") + kDims[d];
      const int64_t cluster = kernel.Extent(std::string("clusterCtaIdx.") + kDims[d]);
      CheckLimit(loops, threads, target_->gpu_part().max_block_dims[d]);
      CheckLimit(loops, blocks, target_->gpu_part().max_grid_dims[d] / cluster);
    }
    CheckCluster(kernel);
    const int64_t threads = kernel.Threads(target_->gpu_part().warp_size);
    if (threads > target_->gpu_part().max_threads_per_block) {
      Refuse(kernel.root, "the kernel has " + std::to_string(threads) + " threads in a block, " + target_->name +
                              " allows " + std::to_string(target_->gpu_part().max_threads_per_block));
    }
  }

  void CheckCluster(const Kernel& kernel) {
    int64_t blocks = 1;
    for (const char* tag : {"clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z"}) blocks *= kernel.Extent(tag);
    if (blocks == 1) return;
    const int64_t most = MaxClusterBlocks(*target_);
    if (blocks <= most) return;
    Refuse(kernel.root, "the kernel has clusters of " + std::to_string(blocks) + " blocks, " + target_->name +
                            (most == 1 ? " has no clusters" : " allows " + std::to_string(most)));
  }

  void CheckLimit(const std::map<std::string, const ForNode*>& loops, const std::string& tag, int64_t limit) {
    const auto found = loops.find(tag);
    if (found == loops.end()) return;
    const auto extent = AsInt(found->second->extent);
    if (!extent || *extent <= limit) return;
    Refuse(found->second, "loop " + found->second->var.name() + " is bound to " + tag + " with an extent of " +
                              std::to_string(*extent) + ", " + target_->name + " allows " + std::to_string(limit));
  }

  void Refuse(const ForNode* loop, std::string reason) {
    diagnostics.push_back({Verdict::kRefuted, "thread launch", loop->id, std::move(reason)});
  }

  const Target* target_;
};

}  // namespace

Diagnostics CheckThreadLaunch(const Function& function, const Target* target) {
  Checker checker(target);
  for (const Kernel& kernel : FindKernels(function)) checker.Check(kernel);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

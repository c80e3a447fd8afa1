#include "verify/structure/own_memory.h"

#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/thread_tags.h"
#include "target/target.h"

namespace tilewright {
namespace {

bool IsOverThreads(const ForNode& loop) {
  return loop.kind == ForKind::kThreadBound && loop.thread_tag.starts_with("threadIdx");
}

bool HoldsThreads(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* loop = dyn_cast<ForNode>(part);
    found |= loop != nullptr && IsOverThreads(*loop);
    return !found;
  });
  return found;
}

class OwnMemoryFinder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  OwnGlobalMemory found;

 protected:
  void VisitFor(const ForNode* op) override {
    const bool threads = IsOverThreads(*op), blocks = op->kind == ForKind::kThreadBound && IsBlockTag(op->thread_tag);
    threads_ += threads;
    blocks_ += blocks;
    StmtVisitor::VisitFor(op);
    threads_ -= threads;
    blocks_ -= blocks;
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) Add(buffer, op->body);
    for (const MatchBuffer& match : op->match_buffers) {
      for (auto* scopes : {&found.scopes, &found.of_single_threads}) {
        const auto whole = scopes->find(match.source.buffer->data.get());
        if (whole != scopes->end()) scopes->emplace(match.buffer->data.get(), Scope(whole->second));
      }
    }
    StmtVisitor::VisitBlock(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    Add(op->buffer, op->body);
    StmtVisitor::VisitAllocate(op);
  }

 private:
  void Add(const Buffer& buffer, const Stmt& body) {
    if (buffer->scope.owner() != OwnerLevel::kDevice) return;
    if (threads_ > 0) {
      found.scopes.emplace(buffer->data.get(), Scope::Parse("local"));
    } else if (blocks_ > 0 && HoldsThreads(body)) {
      found.scopes.emplace(buffer->data.get(), Scope::Parse("shared"));
    } else if (blocks_ > 0) {
      found.of_single_threads.emplace(buffer->data.get(), Scope::Parse("local"));
    }
  }
  int threads_ = 0, blocks_ = 0;  // loops around
};

}  // namespace

bool HasOwnMemory(const Buffer& buffer, const ForNode& loop) {
  const OwnerLevel owner = buffer->scope.owner();
  if (owner == OwnerLevel::kDevice || owner == OwnerLevel::kCore) return false;
  if (IsBlockTag(loop.thread_tag)) return true;
  if (!loop.thread_tag.starts_with("threadIdx")) return false;
  if (owner == OwnerLevel::kThread) return true;
  if (owner == OwnerLevel::kBlock || owner == OwnerLevel::kCluster) return false;
  constexpr GpuTarget kGpu;
  const auto lanes = AsInt(loop.extent);
  const bool of_one = lanes && *lanes <= (owner == OwnerLevel::kWarp ? kGpu.warp_size : kGpu.warpgroup_size);
  return loop.thread_tag != "threadIdx.x" || !of_one;
}

OwnGlobalMemory FindOwnGlobalMemory(const Function& function) {
  OwnMemoryFinder finder;
  finder.Visit(function->body);
  return std::move(finder.found);
}

}  // namespace tilewright

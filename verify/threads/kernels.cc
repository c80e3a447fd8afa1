#include "verify/threads/kernels.h"

#include <algorithm>
#include <variant>

#include "intrin/instructions.h"
#include "ir/annotations.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

bool IsOn(const Annotation& annotation) {
  const auto* value = std::get_if<Expr>(&annotation.value);
  return value != nullptr && AsInt(*value).value_or(0) != 0;
}

class Finder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::vector<Kernel> kernels;

 protected:
  void VisitFor(const ForNode* op) override {
    if (op->kind != ForKind::kThreadBound) return StmtVisitor::VisitFor(op);
    if (around_.empty()) kernels.push_back({op, {}});
    kernels.back().loops.push_back({op, around_});
    around_.push_back(op);
    StmtVisitor::VisitFor(op);
    around_.pop_back();
  }
  void VisitBlock(const BlockNode* op) override {
    if (!around_.empty() && kernels.back().warp_block == nullptr && RunsAsWarp(*op)) kernels.back().warp_block = op;
    StmtVisitor::VisitBlock(op);
  }

 private:
  std::vector<const ForNode*> around_;
};

}  // namespace

int64_t Kernel::Extent(const std::string& tag) const {
  int64_t extent = 1;
  for (const BoundLoop& bound : loops) {
    if (bound.loop->thread_tag == tag) extent = std::max(extent, AsInt(bound.loop->extent).value_or(1));
  }
  return extent;
}

int64_t Kernel::Threads(int warp_size) const {
  int64_t x = Extent("threadIdx.x");
  if (warp_block != nullptr) x = std::max<int64_t>(x, warp_size);
  return x * Extent("threadIdx.y") * Extent("threadIdx.z");
}

std::vector<Kernel> FindKernels(const Function& function) {
  Finder finder;
  finder.Visit(function->body);
  return std::move(finder.kernels);
}

bool IsWarpInstruction(const std::string& call) { return ScopeOfCall(call) == ExecScope::kWarp; }

bool RunsAsWarp(const BlockNode& block) {
  if (const auto on = block.annotations.find(kWarpExecution); on != block.annotations.end()) {
    return IsOn(on->second);
  }
  bool found = false;
  PreOrder(block.body, [&](const Stmt& s) {
    if (isa<BlockRealizeNode>(s)) return false;  // asked by itself
    if (const auto* call = dyn_cast<EvaluateNode>(s)) {
      PreOrder(call->value, [&](const Expr& e) {
        const auto* op = dyn_cast<CallNode>(e);
        found |= op != nullptr && IsWarpInstruction(op->op);
        return !found;
      });
    }
    return !found;
  });
  return found;
}

}  // namespace tilewright

#include "ir/interp/thread_sums.h"

#include <set>

#include "ir/functor.h"

namespace tilewright::interp::internal {
namespace {

class Finder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  ThreadSums sums;

 protected:
  void VisitFor(const ForNode* op) override {
    if (op->thread_tag.starts_with("threadIdx.")) threads_[op->var.get()] = {op->thread_tag};
    StmtVisitor::VisitFor(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    const BlockNode& block = *op->block;
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      std::set<std::string>& tags = threads_[block.iter_vars[i].var.get()];
      PreOrder(op->bindings[i], [&](const Expr& e) {
        const auto* var = dyn_cast<VarNode>(e);
        const auto known = var == nullptr ? threads_.end() : threads_.find(var);
        if (known != threads_.end()) tags.insert(known->second.begin(), known->second.end());
        return true;
      });
      if (!block.init || block.iter_vars[i].kind != IterKind::kReduce) continue;
      for (const BufferRegion& write : block.writes) {
        if (write.buffer->scope.owner() != OwnerLevel::kThread) continue;
        for (const std::string& tag : tags) sums[tag].insert(write.buffer->data.get());
      }
    }
    StmtVisitor::VisitBlockRealize(op);
  }

 private:
  std::unordered_map<const VarNode*, std::set<std::string>> threads_;  // that a variable depends on
};

}  // namespace

ThreadSums FindThreadSums(const Stmt& body) {
  Finder finder;
  finder.Visit(body);
  return std::move(finder.sums);
}

}  // namespace tilewright::interp::internal

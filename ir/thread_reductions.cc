#include "ir/thread_reductions.h"

#include <unordered_map>

#include "ir/functor.h"

namespace tilewright {
namespace {

class Finder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::vector<ThreadReduction> found;

 protected:
  void VisitFor(const ForNode* op) override {
    if (op->kind == ForKind::kThreadBound && !op->thread_tag.starts_with("vthread")) {
      threads_[op->var.get()] = op->thread_tag;
    }
    StmtVisitor::VisitFor(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const IterVar& iter = op->block->iter_vars[i];
      const std::string tag = ThreadOf(op->bindings[i]);
      if (tag.empty()) continue;
      threads_[iter.var.get()] = tag;
      if (iter.kind == IterKind::kReduce && op->block->init) {
        found.push_back({op->block.get(), iter.var.name(), tag});
      }
    }
    StmtVisitor::VisitBlockRealize(op);
  }

 private:
  // The tag of the first thread that the expression depends on; empty when there is none.
  std::string ThreadOf(const Expr& e) const {
    std::string tag;
    PreOrder(e, [&](const Expr& part) {
      const auto thread = threads_.find(dyn_cast<VarNode>(part));
      if (tag.empty() && thread != threads_.end()) tag = thread->second;
      return tag.empty();
    });
    return tag;
  }

  std::unordered_map<const VarNode*, std::string> threads_;  // the thread that a variable depends on
};

}  // namespace

std::vector<ThreadReduction> FindThreadReductions(const Function& function) {
  Finder finder;
  finder.Visit(function->body);
  return std::move(finder.found);
}

std::string ToString(const ThreadReduction& reduction) {
  return "block " + reduction.block->name + " reduces over " + reduction.iterator + ", which depends on " +
         reduction.thread_tag;
}

}  // namespace tilewright

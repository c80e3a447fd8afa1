#include "ir/thread_reductions.h"

#include <unordered_map>

#include "ir/functor.h"

namespace tilewright {
namespace {

class Finder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::vector<ThreadReduction> found;
  std::unordered_set<const ForNode*> loops;  // that they go on over

 protected:
  void VisitFor(const ForNode* op) override {
    if (op->kind != ForKind::kThreadBound) {
      serial_[op->var.get()] = {op};
    } else if (!op->thread_tag.starts_with("vthread")) {
      threads_[op->var.get()] = op->thread_tag;
    }
    StmtVisitor::VisitFor(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    std::unordered_set<const ForNode*> reduced;
    const size_t before = found.size();
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const IterVar& iter = op->block->iter_vars[i];
      const std::unordered_set<const ForNode*> serial = LoopsOf(op->bindings[i]);
      if (iter.kind == IterKind::kReduce) reduced.insert(serial.begin(), serial.end());
      serial_[iter.var.get()] = serial;
      const std::string tag = ThreadOf(op->bindings[i]);
      if (tag.empty()) continue;
      threads_[iter.var.get()] = tag;
      if (iter.kind == IterKind::kReduce && op->block->init) {
        found.push_back({op->block.get(), iter.var.name(), tag});
      }
    }
    if (found.size() > before) loops.merge(reduced);
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

  // The loops that are not bound and that the expression depends on.
  std::unordered_set<const ForNode*> LoopsOf(const Expr& e) const {
    std::unordered_set<const ForNode*> of;
    PreOrder(e, [&](const Expr& part) {
      const auto serial = serial_.find(dyn_cast<VarNode>(part));
      if (serial != serial_.end()) of.insert(serial->second.begin(), serial->second.end());
      return true;
    });
    return of;
  }

  std::unordered_map<const VarNode*, std::string> threads_;  // the thread that a variable depends on
  std::unordered_map<const VarNode*, std::unordered_set<const ForNode*>> serial_;  // the other loops
};

}  // namespace

std::vector<ThreadReduction> FindThreadReductions(const Function& function) {
  Finder finder;
  finder.Visit(function->body);
  return std::move(finder.found);
}

std::unordered_set<const ForNode*> LoopsOfThreadReductions(const Function& function) {
  Finder finder;
  finder.Visit(function->body);
  return std::move(finder.loops);
}

std::string ToString(const ThreadReduction& reduction) {
  return "block " + reduction.block->name + " reduces over " + reduction.iterator + ", which depends on " +
         reduction.thread_tag;
}

}  // namespace tilewright

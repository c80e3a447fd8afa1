#include "schedule/program/thread_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// A block that writes the buffer, and a loop over threads around it whose values it combines.
class FindReduction : public StmtVisitor {
 public:
  explicit FindReduction(const Buffer& buffer) : buffer_(buffer) {}
  using StmtVisitor::Visit;
  const BlockNode* block = nullptr;
  const ForNode* threads = nullptr;

 protected:
  void VisitFor(const ForNode* op) override {
    loops_.push_back(op);
    StmtVisitor::VisitFor(op);
    loops_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    Check(*op);
    std::vector<const ForNode*> outside = std::exchange(loops_, {});
    StmtVisitor::VisitBlockRealize(op);
    loops_ = std::move(outside);
  }

 private:
  void Check(const BlockRealizeNode& realize) {
    if (!realize.block->init || !Mentions(realize.block->writes, buffer_)) return;
    for (const ForNode* loop : loops_) {
      if (!loop->thread_tag.starts_with("threadIdx") || IsInt(loop->extent, 1)) continue;
      for (size_t i = 0; i < realize.bindings.size(); ++i) {
        if (realize.block->iter_vars[i].kind != IterKind::kReduce || !UsesVar(realize.bindings[i], loop->var)) continue;
        block = realize.block.get();
        threads = loop;
      }
    }
  }

  const Buffer& buffer_;
  std::vector<const ForNode*> loops_;
};

}  // namespace

std::optional<Refusal> WhyNotOfEachThread(const char* primitive, const Function& function, const Buffer& buffer,
                                          const Scope& scope) {
  if (scope.owner() != OwnerLevel::kThread) return std::nullopt;
  FindReduction find(buffer);
  find.Visit(function->body);
  if (find.block == nullptr) return std::nullopt;
  return Refusal{primitive,
                 "the threads of {loop0} reduce by {block1} into {text0}, and each has {text1} memory of its own",
                 {find.threads->id, find.block->id},
                 {},
                 {buffer->name, scope.text()}};
}

}  // namespace tilewright

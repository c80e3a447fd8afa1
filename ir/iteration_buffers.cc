#include "ir/iteration_buffers.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/functor.h"

namespace tilewright {
namespace {

class ParallelUses : public Visitor {
 public:
  using Visitor::Visit;

  std::unordered_set<const VarNode*> Owned() const {
    std::unordered_set<const VarNode*> owned;
    for (const auto& [data, use] : uses_) {
      if (use.used && use.common.size() > use.declared) owned.insert(data);
    }
    return owned;
  }

 protected:
  void VisitVar(const VarNode* op) override { Record(op); }
  void VisitLoad(const LoadNode* op) override {
    Record(op->buffer->data.get());
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Record(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitFor(const ForNode* op) override {
    if (op->kind == ForKind::kParallel) loops_.push_back(op);
    Visitor::VisitFor(op);
    if (op->kind == ForKind::kParallel) loops_.pop_back();
  }
  void VisitWhile(const WhileNode* op) override {
    const size_t limit = std::exchange(limit_, std::min(limit_, loops_.size()));
    Visitor::VisitWhile(op);
    limit_ = limit;
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) uses_[buffer->data.get()].declared = loops_.size();
    for (const MatchBuffer& match : op->match_buffers) Record(match.source.buffer->data.get());
    Visitor::VisitBlock(op);
  }

 private:
  struct Use {
    size_t declared = 0;                 // parallel loops around the declaring block
    std::vector<const ForNode*> common;  // parallel loops around all uses so far
    bool used = false;
  };

  void Record(const VarNode* data) {
    const auto it = uses_.find(data);
    if (it == uses_.end()) return;
    Use& use = it->second;
    const auto end = loops_.begin() + static_cast<std::ptrdiff_t>(std::min(limit_, loops_.size()));
    if (!std::exchange(use.used, true)) {
      use.common.assign(loops_.begin(), end);
    } else {
      use.common.erase(std::mismatch(use.common.begin(), use.common.end(), loops_.begin(), end).first,
                       use.common.end());
    }
  }

  std::vector<const ForNode*> loops_;  // parallel ones around here, outermost first
  size_t limit_ = SIZE_MAX;            // of them, those outside of the outermost while
  std::unordered_map<const VarNode*, Use> uses_;
};

}  // namespace

std::unordered_set<const VarNode*> BuffersOfParallelIterations(const Stmt& body) {
  ParallelUses uses;
  uses.Visit(body);
  return uses.Owned();
}

}  // namespace tilewright

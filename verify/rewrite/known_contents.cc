#include "verify/rewrite/known_contents.h"

#include <algorithm>
#include <vector>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Buffers by where they are allocated.
class Allocated : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  KnownContents found;

 protected:
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) Add(buffer);
    StmtVisitor::VisitBlock(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    Add(op->buffer);
    StmtVisitor::VisitAllocate(op);
  }

 private:
  void Add(const Buffer& buffer) { found.insert(buffer->data.get()); }
};

// Whether every machine computes the same: integers, also held as floating-point numbers, and nothing outside.
bool IsOfIntegers(const Expr& value) {
  bool integers = true;
  PreOrder(value, [&](const Expr& part) {
    const auto* call = dyn_cast<CallNode>(part);
    const DataType type = part.dtype();
    const bool held = (type == DataType::Float(32) || type == DataType::Float(64)) &&
                      (isa<CastNode>(part) || isa<LoadNode>(part) || isa<FloatImmNode>(part));
    integers &= held || type.is_integer() || type.is_bool() || isa<StringImmNode>(part);
    integers &= call == nullptr || !call->op.starts_with("call_");
    return integers;
  });
  return integers;
}

// Takes away what is written in another way, as long as the rest is known.
class Remover : public Visitor {
 public:
  using Visitor::Visit;
  Remover(const Function& function, KnownContents* known) : known_(known), values_(function, known) {}

 protected:
  // Data by its name: a pointer to it may go anywhere.
  void VisitVar(const VarNode* op) override { known_->erase(op); }
  void VisitStore(const StoreNode* op) override {
    if (in_doubt_ > 0 || !IsOfIntegers(op->value) || values_.Is(op->value) || values_.Any(op->indices) ||
        values_.Is(op->predicate)) {
      Remove(op->buffer);
    }
    Visitor::VisitStore(op);
  }
  void VisitLet(const LetNode* op) override {
    if (values_.Is(op->value)) values_.Add(op->var);
    Visitor::VisitLet(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    if (values_.Is(op->value)) values_.Add(op->var);
    Visitor::VisitLetStmt(op);
  }
  void VisitIf(const IfNode* op) override {
    const int doubt = values_.Is(op->condition) ? 1 : 0;
    in_doubt_ += doubt;
    Visitor::VisitIf(op);
    in_doubt_ -= doubt;
  }
  void VisitFor(const ForNode* op) override {
    const int doubt = values_.Is(op->min) || values_.Is(op->extent) ? 1 : 0;
    if (doubt != 0) values_.Add(op->var);
    in_doubt_ += doubt;
    Visitor::VisitFor(op);
    in_doubt_ -= doubt;
  }
  void VisitWhile(const WhileNode* op) override {
    ++in_doubt_;
    Visitor::VisitWhile(op);
    --in_doubt_;
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      if (values_.Is(op->bindings[i])) values_.Add(op->block->iter_vars[i].var);
    }
    const int doubt = values_.Is(op->predicate) || values_.Any(op->bindings) ? 1 : 0;
    in_doubt_ += doubt;
    Visitor::VisitBlockRealize(op);
    in_doubt_ -= doubt;
  }
  void VisitBlock(const BlockNode* op) override {
    for (const MatchBuffer& match : op->match_buffers) {
      Remove(match.buffer);
      Remove(match.source.buffer);
    }
    around_.push_back(op);
    Visitor::VisitBlock(op);
    around_.pop_back();
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    Remove(op->buffer);
    Visitor::VisitDeclBuffer(op);
  }
  void VisitCall(const CallNode* op) override {
    Visitor::VisitCall(op);
    if (EffectOf(op->op) == CallEffect::kPure && op->op != kAddressOf) return;
    // A call may write what the blocks around it declare.
    PreOrder(Expr(op), [&](const Expr& part) {
      if (const auto* load = dyn_cast<LoadNode>(part)) Remove(load->buffer);
      return true;
    });
    for (const BlockNode* block : around_) {
      for (const BufferRegion& write : block->writes) Remove(write.buffer);
    }
  }

 private:
  void Remove(const Buffer& buffer) { known_->erase(buffer->data.get()); }

  KnownContents* known_;
  FromMemory values_;
  int in_doubt_ = 0;  // conditions and loops around that memory decides
  std::vector<const BlockNode*> around_;
};

}  // namespace

FromMemory::FromMemory(const Function& function, const KnownContents* known) : known_(known) {
  for (const Param& param : function->params) {
    if (!param.buffer) vars_.insert(param.var.get());
  }
}

bool FromMemory::Is(const Expr& e) const {
  if (!e) return false;
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    const auto* var = dyn_cast<VarNode>(part);
    const auto* call = dyn_cast<CallNode>(part);
    found |= load != nullptr && !known_->contains(load->buffer->data.get());
    found |= var != nullptr && vars_.contains(var);
    found |= call != nullptr && EffectOf(call->op) != CallEffect::kPure;
    return !found;
  });
  return found;
}

bool FromMemory::Any(const std::vector<Expr>& list) const {
  return std::ranges::any_of(list, [&](const Expr& e) { return Is(e); });
}

KnownContents FindKnownContents(const Function& function) {
  Allocated allocated;
  allocated.Visit(function->body);
  KnownContents known = std::move(allocated.found);
  for (size_t before = known.size() + 1; known.size() < before && !known.empty();) {
    before = known.size();
    Remover(function, &known).Visit(function->body);
  }
  return known;
}

}  // namespace tilewright

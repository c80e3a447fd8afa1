#include "ir/script/free_vars.h"

#include <unordered_set>

#include "ir/functor.h"

namespace tilewright::script {
namespace {

class Collector : public Visitor {
 public:
  explicit Collector(const std::vector<Param>& params) {
    for (const Param& param : params) {
      defined_.insert(param.var.get());
      if (param.buffer) Define(param.buffer);
    }
  }
  std::vector<Var> Take() const {
    std::vector<Var> free;
    for (const VarNode* var : used_) {
      if (!defined_.contains(var)) free.emplace_back(var);
    }
    return free;
  }

 protected:
  void Define(const Buffer& buffer) {
    defined_.insert(buffer->data.get());
    for (const auto* sizes : {&buffer->shape, &buffer->strides}) {
      for (const Expr& size : *sizes) DefineAll(size);
    }
    if (buffer->elem_offset) DefineAll(buffer->elem_offset);
  }

  void VisitVar(const VarNode* op) override {
    if (seen_.insert(op).second) used_.push_back(op);
  }
  void VisitLet(const LetNode* op) override {
    defined_.insert(op->var.get());
    Visitor::VisitLet(op);
  }
  void VisitFor(const ForNode* op) override {
    defined_.insert(op->var.get());
    Visitor::VisitFor(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    defined_.insert(op->var.get());
    Visitor::VisitLetStmt(op);
  }
  void VisitAttrStmt(const AttrStmtNode* op) override {
    // An attribute may name what the body defines, or what is gone.
    if (!isa<VarNode>(op->node)) Visit(op->node);
    Visit(op->value);
    Visit(op->body);
  }
  void VisitAllocate(const AllocateNode* op) override {
    defined_.insert(op->buffer->data.get());
    Visitor::VisitAllocate(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) defined_.insert(iter.var.get());
    for (const Buffer& buffer : op->alloc_buffers) defined_.insert(buffer->data.get());
    for (const MatchBuffer& match : op->match_buffers) Define(match.buffer);
    Visitor::VisitBlock(op);
  }

 private:
  void DefineAll(const Expr& e) {
    PreOrder(e, [&](const Expr& sub) {
      if (const auto* var = dyn_cast<VarNode>(sub)) defined_.insert(var);
      return true;
    });
  }
  std::unordered_set<const VarNode*> defined_, seen_;
  std::vector<const VarNode*> used_;
};

}  // namespace

std::vector<Var> FreeVars(const std::vector<Param>& params, const Stmt& body) {
  Collector collector(params);
  collector.Visit(body);
  return collector.Take();
}

}  // namespace tilewright::script

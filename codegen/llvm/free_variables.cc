#include "codegen/llvm/free_variables.h"

#include <unordered_set>
#include <utility>

#include "ir/functor.h"

namespace tilewright::codegen {
namespace {

class UseCollector : public Visitor {
 public:
  using Visitor::Visit;
  std::vector<const VarNode*> found;

 protected:
  void VisitVar(const VarNode* op) override { Use(op); }
  void VisitLoad(const LoadNode* op) override {
    Use(op->buffer->data.get());
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Use(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitFor(const ForNode* op) override {
    defined_.insert(op->var.get());
    Visitor::VisitFor(op);
  }
  void VisitLet(const LetNode* op) override {
    defined_.insert(op->var.get());
    Visitor::VisitLet(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    defined_.insert(op->var.get());
    Visitor::VisitLetStmt(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    defined_.insert(op->buffer->data.get());
    VisitAll(op->buffer->shape);
    Visitor::VisitAllocate(op);
  }

 private:
  void Use(const VarNode* var) {
    if (!defined_.contains(var) && seen_.insert(var).second) found.push_back(var);
  }
  std::unordered_set<const VarNode*> defined_, seen_;
};

}  // namespace

std::vector<const VarNode*> FreeVariables(const Stmt& s) {
  UseCollector collector;
  collector.Visit(s);
  return std::move(collector.found);
}

}  // namespace tilewright::codegen

#include "codegen/llvm/free_variables.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/functor.h"
#include "ir/structural.h"

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

// Counts nodes up to a number of interest.
class LongStatement : public Visitor {
 public:
  static bool HasNodes(const Stmt& stmt, int64_t least) {
    LongStatement counter(least);
    counter.Visit(stmt);
    return counter.left_ <= 0;
  }

 private:
  explicit LongStatement(int64_t least) : left_(least) {}
  void Visit(const Expr& e) override {
    if (!e || left_ <= 0) return;
    --left_;
    Visitor::Visit(e);
  }
  void Visit(const Stmt& s) override {
    if (!s || left_ <= 0) return;
    --left_;
    Visitor::Visit(s);
  }
  void VisitSeq(const SeqNode* op) override {
    for (size_t i = 0; i < op->stmts.size() && left_ > 0; ++i) Visit(op->stmts[i]);
  }

  int64_t left_;
};

// Whether a call is little beside the statement: it has a loop. The message of an assertion, and that about memory
// which cannot be had, are about what one statement is given.
bool IsWorthACall(const Stmt& stmt) {
  bool has_loop = false, says_names = false;
  PreOrder(stmt, [&](const Stmt& s) {
    has_loop |= isa<ForNode>(s);
    const auto* allocate = dyn_cast<AllocateNode>(s);
    says_names |= isa<AssertNode>(s) || (allocate != nullptr && !AsInt(allocate->buffer->shape[0]));
    return !says_names;
  });
  return has_loop && !says_names;
}

}  // namespace

std::vector<const VarNode*> FreeVariables(const Stmt& s) {
  UseCollector collector;
  collector.Visit(s);
  return std::move(collector.found);
}

std::vector<uint64_t> AlikeStatements(const std::vector<Stmt>& stmts, int64_t least_nodes) {
  std::vector<uint64_t> numbers;
  std::unordered_map<uint64_t, int> counts;
  for (const Stmt& stmt : stmts) {
    const bool is_long = LongStatement::HasNodes(stmt, least_nodes);
    numbers.push_back(is_long && IsWorthACall(stmt) ? StructuralHash(stmt, /*map_free=*/true) : 0);
    ++counts[numbers.back()];
  }
  for (uint64_t& number : numbers) {
    if (counts[number] == 1) number = 0;
  }
  return numbers;
}

}  // namespace tilewright::codegen

#include "ir/iterations.h"

#include <limits>
#include <unordered_set>
#include <utility>

#include "ir/functor.h"

namespace tilewright {
namespace internal {
extern constinit thread_local int64_t visited_nodes;  // functor.cc
}  // namespace internal
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Expr Number(int64_t value) { return Const(DataType::Int(64), value); }

Expr Add(const Expr& a, const Expr& b) {
  if (IsInt(a, 0)) return b;
  if (IsInt(b, 0)) return a;
  const auto x = AsInt(a), y = AsInt(b);
  int64_t sum;
  if (!x || !y) return a + b;
  return Number(__builtin_add_overflow(*x, *y, &sum) ? kMost : sum);
}

Expr Multiply(const Expr& a, const Expr& b) {
  if (IsInt(a, 1)) return b;
  if (IsInt(b, 1)) return a;
  const auto x = AsInt(a), y = AsInt(b);
  int64_t product;
  if (!x || !y) return a * b;
  return Number(__builtin_mul_overflow(*x, *y, &product) ? kMost : product);
}

class Counter : public StmtVisitor {
 public:
  Expr Count(const Stmt& stmt) {
    Expr outside = std::exchange(count_, Number(0));
    Visit(stmt);
    return std::exchange(count_, std::move(outside));
  }
  using StmtVisitor::Visit;

 protected:
  void VisitFor(const ForNode* op) override {
    inside_.insert(op->var.get());
    const Expr body = Count(op->body);
    count_ = Add(count_, DependsOnInside(op->extent) ? body : Multiply(CastTo(DataType::Int(64), op->extent), body));
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    inside_.insert(op->var.get());
    Visit(op->body);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (const IterVar& iter : op->block->iter_vars) inside_.insert(iter.var.get());
    Visit(op->block->body);
  }
  void VisitStore(const StoreNode* /*op*/) override { count_ = Add(count_, Number(1)); }
  void VisitEvaluate(const EvaluateNode* /*op*/) override { count_ = Add(count_, Number(1)); }

 private:
  bool DependsOnInside(const Expr& extent) const {
    bool depends = false;
    PreOrder(extent, [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      depends |= isa<LoadNode>(e) || (var != nullptr && inside_.contains(var));
      return !depends;
    });
    return depends;
  }

  Expr count_ = Number(0);
  std::unordered_set<const VarNode*> inside_;
};

class NodeCounter : public Visitor {
 public:
  void Visit(const Expr& e) override {
    nodes += e ? 1 : 0;
    Visitor::Visit(e);
  }
  void Visit(const Stmt& s) override {
    nodes += s ? 1 : 0;
    Visitor::Visit(s);
  }
  int64_t nodes = 0;
};

}  // namespace

Expr StatementIterations(const Stmt& stmt) { return Counter().Count(stmt); }

int64_t CountNodes(const Stmt& body) {
  NodeCounter counter;
  counter.Visit(body);
  return counter.nodes;
}

int64_t CountNodes(const Function& function) { return CountNodes(function->body); }

int64_t CountNodes(const Module& module) {
  int64_t nodes = 0;
  for (const Function& function : module.functions()) nodes += CountNodes(function);
  return nodes;
}

int64_t NodesVisited() { return internal::visited_nodes; }

}  // namespace tilewright

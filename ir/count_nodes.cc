#include "ir/count_nodes.h"

#include "ir/functor.h"

namespace tilewright {
namespace {

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

}  // namespace tilewright

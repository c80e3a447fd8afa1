#include "codegen/llvm/pointer_facts.h"

#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright::codegen {
namespace {

class Collector : public Visitor {
 public:
  using Visitor::Visit;
  std::unordered_set<const VarNode*> written;

 protected:
  void VisitStore(const StoreNode* op) override {
    written.insert(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitCall(const CallNode* op) override {
    // An access pointer says how it is used; any other pointer may be written through.
    if (op->op == kAccessPtr) {
      const std::optional<int64_t> mask = AsInt(op->args[4]);
      if (mask && (*mask & kAccessWrite) == 0) return;
      if (const auto* data = dyn_cast<VarNode>(op->args[1])) written.insert(data);
      return;
    }
    if (op->op == kAddressOf) {
      if (const auto* load = dyn_cast<LoadNode>(op->args[0])) written.insert(load->buffer->data.get());
      return;
    }
    Visitor::VisitCall(op);
  }
  void VisitVar(const VarNode* op) override {
    if (op->dtype().is_handle()) written.insert(op);
  }
};

}  // namespace

std::unordered_set<const VarNode*> WrittenBuffers(const Stmt& body) {
  Collector collector;
  collector.Visit(body);
  return std::move(collector.written);
}

bool DefinesPointers(const Stmt& body) {
  bool found = false;
  PreOrder(body, [&](const Stmt& s) {
    const auto* let = dyn_cast<LetStmtNode>(s);
    found |= let != nullptr && let->var.dtype().is_handle();
    return !found;
  });
  return found;
}

}  // namespace tilewright::codegen

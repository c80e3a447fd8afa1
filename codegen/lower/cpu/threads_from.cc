#include "codegen/lower/cpu/threads_from.h"

#include <utility>

#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/iterations.h"

namespace tilewright {
namespace {

class Placer : public StmtMutator {
 public:
  using StmtMutator::Mutate;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const auto annotation = op->annotations.find(kThreadsFrom);
    if (annotation == op->annotations.end()) return StmtMutator::MutateFor(op, self);
    const auto* value = std::get_if<Expr>(&annotation->second.value);
    const auto least = value == nullptr ? std::nullopt : AsInt(*value);
    ForNode::Fields fields = op->fields();
    fields.annotations.erase(kThreadsFrom);
    fields.body = Mutate(fields.body);
    const Stmt loop = For(std::move(fields));
    if (!least || op->kind != ForKind::kParallel) return loop;
    const Expr enough = Const(DataType::Int(64), *least) <= StatementIterations(self);
    return Stmt(new AttrStmtNode(Const(DataType::Int(32), 0), kThreadsFrom, enough, loop));
  }
};

}  // namespace

Function PlaceThreadConditions(const Function& function) {
  FunctionNode::Fields fields = function->fields();
  fields.body = Placer().Mutate(function->body);
  return Function(std::move(fields));
}

}  // namespace tilewright

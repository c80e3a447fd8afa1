#include "schedule/program/mutate_loop.h"

#include <utility>

namespace tilewright {

Stmt MutateLoop(const ForNode* loop, const Stmt& self, Mutator* mutator, arith::Analyzer* analyzer) {
  // The ends are evaluated outside of the loop: that the variable has a value says nothing about them.
  ForNode::Fields fields = loop->fields();
  fields.min = mutator->Mutate(loop->min);
  fields.extent = mutator->Mutate(loop->extent);
  {
    arith::Analyzer::Scope inside(analyzer);
    analyzer->Bind(loop->var, Range{loop->min, loop->extent});
    fields.body = mutator->Mutate(loop->body);
  }
  const bool same =
      fields.min.same_as(loop->min) && fields.extent.same_as(loop->extent) && fields.body.same_as(loop->body);
  return same ? self : For(std::move(fields));
}

}  // namespace tilewright

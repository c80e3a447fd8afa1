#include "codegen/lower/common/lower_init.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ir/functor.h"
#include "ir/thread_reductions.h"

namespace tilewright {
namespace {

class InitLowerer : public Mutator {
 public:
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  Block MutateBlock(const Block& block) override {
    Block mutated = Mutator::MutateBlock(block);
    if (!mutated->init) return mutated;
    BlockNode::Fields fields = mutated->fields();
    Expr first;  // null: there is no reduction, the init always runs
    for (const IterVar& iter : fields.iter_vars) {
      if (iter.kind != IterKind::kReduce) continue;
      Expr at_start = Expr(iter.var) == iter.domain.min;
      first = first ? And(first, at_start) : at_start;
    }
    Stmt init = first ? If(first, fields.init) : fields.init;
    fields.init = Stmt();
    fields.body = Sequence({init, fields.body});
    return Block(std::move(fields));
  }
};

}  // namespace

absl::StatusOr<Function> LowerInit(const Function& function) {
  const std::vector<ThreadReduction> by_threads = FindThreadReductions(function);
  if (!by_threads.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        ToString(by_threads[0]), "; code generation does not combine the partial results of threads: let each thread ",
        "reduce into an element of its own (rfactor) and add these up in one thread"));
  }
  return function.WithBody(InitLowerer().Mutate(function->body), function->next_id);
}

}  // namespace tilewright

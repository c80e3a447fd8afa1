#include "codegen/lower/cpu/store_runs.h"

#include <utility>

#include "ir/builtin.h"

namespace tilewright {

void UnguardedLoads::VisitLoad(const LoadNode* op) {
  Visitor::VisitLoad(op);
  if (guards_ == 0) AddLoad(op);
}

void UnguardedLoads::VisitBinary(const BinaryNode* op) {
  Visit(op->a);
  const bool may_skip = op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr;
  guards_ += may_skip ? 1 : 0;
  Visit(op->b);
  guards_ -= may_skip ? 1 : 0;
}

// A variable does not have a value outside of its let.
void UnguardedLoads::VisitLet(const LetNode* op) {
  ++guards_;
  Visitor::VisitLet(op);
  --guards_;
}

void UnguardedLoads::VisitCall(const CallNode* op) {
  only_reads_ &= EffectOf(op->op) != CallEffect::kOpaque;
  guards_ += op->op == kIfThenElse ? 1 : 0;
  Visitor::VisitCall(op);
  guards_ -= op->op == kIfThenElse ? 1 : 0;
}

Stmt StoreRunMutator::MutateSeq(const SeqNode* op, const Stmt& self) {
  std::vector<Stmt> done, run;
  bool changed = false;
  const auto end_run = [&] {
    changed |= ChangeRun(run);
    done.insert(done.end(), run.begin(), run.end());
    run.clear();
  };
  for (const Stmt& s : op->stmts) {
    if (isa<StoreNode>(s)) {
      run.push_back(s);
    } else {
      end_run();
      done.push_back(Mutate(s));
      changed |= !done.back().same_as(s);
    }
  }
  end_run();
  return changed ? Sequence(std::move(done)) : self;
}

}  // namespace tilewright

#include "schedule/program/simplify_block.h"

#include "ir/functor.h"
#include "schedule/program/mutate_loop.h"

namespace tilewright {
namespace {

// TVM's simplifier writes a > b as b < a.
Expr TurnedAround(const Expr& e) {
  const auto* compare = dyn_cast<BinaryNode>(e);
  if (compare == nullptr || (compare->op != BinaryOp::kGT && compare->op != BinaryOp::kGE)) return e;
  return compare->op == BinaryOp::kGT ? compare->b < compare->a : compare->b <= compare->a;
}

class IndexSimplifier : public Mutator {
 public:
  explicit IndexSimplifier(arith::Analyzer* analyzer) : analyzer_(analyzer) {}

  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override {
    if (!e) return e;
    // An index that loads has indices of its own.
    Expr mutated = Mutator::Mutate(e);
    const bool simple = mutated.dtype().is_index() || mutated.dtype().is_bool();
    return simple && !isa<VarNode>(mutated) ? TurnedAround(analyzer_->Simplify(mutated)) : mutated;
  }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override { return MutateLoop(op, self, this, analyzer_); }
  Block MutateBlock(const Block& block) override {
    arith::Analyzer::Scope inside(analyzer_);
    BindIterators(block->iter_vars, analyzer_);
    return Mutator::MutateBlock(block);
  }

 private:
  arith::Analyzer* analyzer_;
};

}  // namespace

void BindIterators(const std::vector<IterVar>& iters, arith::Analyzer* analyzer) {
  for (const IterVar& iter : iters) {
    if (!IsInt(iter.domain.extent, 1)) analyzer->Bind(iter.var, iter.domain);
  }
}

Stmt SimplifyIndices(const Stmt& s, arith::Analyzer* analyzer) { return s ? IndexSimplifier(analyzer).Mutate(s) : s; }
Expr SimplifyIndices(const Expr& e, arith::Analyzer* analyzer) { return IndexSimplifier(analyzer).Mutate(e); }
BufferRegion SimplifyIndices(const BufferRegion& region, arith::Analyzer* analyzer) {
  return IndexSimplifier(analyzer).MutateRegion(region);
}

void ReplaceInBlock(BlockNode::Fields* fields, const VarMap& values, arith::Analyzer* analyzer) {
  arith::Analyzer::Scope inside(analyzer);
  BindIterators(fields->iter_vars, analyzer);
  for (auto* regions : {&fields->reads, &fields->writes}) {
    for (BufferRegion& region : *regions) region = SimplifyIndices(Substitute(region, values), analyzer);
  }
  for (MatchBuffer& match : fields->match_buffers) {
    match.source = SimplifyIndices(Substitute(match.source, values), analyzer);
  }
  if (fields->init) fields->init = SimplifyIndices(Substitute(fields->init, values), analyzer);
  fields->body = SimplifyIndices(Substitute(fields->body, values), analyzer);
}

IndexMap WithTypesOf(const IndexMap& map, const std::vector<IterVar>& iters) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < iters.size(); ++i) inputs.emplace_back(map->inputs[i].name(), iters[i].var.dtype());
  return IndexMap(inputs, map.Apply({inputs.begin(), inputs.end()}));
}

}  // namespace tilewright

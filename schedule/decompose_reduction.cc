#include "schedule/decompose_reduction.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/common_refusals.h"
#include "schedule/loop_tree.h"
#include "schedule/reduction_block.h"
#include "verify/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "decompose_reduction";

// What is taken apart: the block, and the loops above it from the given one inwards.
struct Reduction {
  const BlockRealizeNode* realize;
  const ForNode* loop;
  std::vector<const ForNode*> inner_loops;  // `loop` first
};

// Blocks below the loop, other than the one decomposed, that touch its output: the init would now run before them.
std::optional<Refusal> WhyOthersInTheWay(const Reduction& reduction) {
  for (const BlockRealizeNode* other : BlocksBelow(Stmt(reduction.loop))) {
    if (other == reduction.realize) continue;
    for (const std::vector<BufferRegion>* regions : {&other->block->reads, &other->block->writes}) {
      for (const BufferRegion& region : *regions) {
        for (const BufferRegion& write : reduction.realize->block->writes) {
          if (!region.buffer.same_as(write.buffer)) continue;
          return Refusal{kName,
                         "{block1} is also below {loop0} and uses {text0}",
                         {reduction.loop->id, other->block->id},
                         {},
                         {region.buffer->name}};
        }
      }
    }
  }
  return std::nullopt;
}

Outcome<Reduction> Check(const Function& function, uint32_t block_id, uint32_t loop_id) {
  Outcome<Path> path = PathToInnerBlock(kName, function, block_id);
  if (!path.ok()) return path.refusal();
  Outcome<Path> loop_path = PathToLoop(kName, function, loop_id);
  if (!loop_path.ok()) return loop_path.refusal();
  Reduction reduction{cast<BlockRealizeNode>(path->back()), cast<ForNode>(loop_path->back()), {}};
  const std::vector<const ForNode*> above = LoopsAbove(*path);
  const auto first = std::find(above.begin(), above.end(), reduction.loop);
  if (first == above.end()) return Refusal{kName, "{loop1} is not above {block0}", {block_id, loop_id}};
  reduction.inner_loops.assign(first, above.end());

  const BlockScope scope = BlockScope::Around(function, block_id);
  if (auto why = WhyNotReduction(scope, *scope.Find(block_id))) {
    return Refusal{kName, "{block0} is not a reduction block: {text0}", {block_id}, {}, {*why}};
  }
  const BlockNode& block = *reduction.realize->block;
  for (auto outer = above.begin(); outer != first; ++outer) {
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::kReduce && !IsInt((*outer)->extent, 1) &&
          UsesVar(reduction.realize->bindings[i], (*outer)->var)) {
        return Refusal{kName,
                       "{loop2}, outside of {loop1}, takes part in the reduction of {block0}",
                       {block_id, loop_id, (*outer)->id}};
      }
    }
  }
  if (auto refusal = WhyOthersInTheWay(reduction)) return *refusal;
  return reduction;
}

void CollectConjuncts(const Expr& predicate, std::vector<Expr>& conjuncts) {
  if (const auto* both = dyn_cast<BinaryNode>(predicate); both != nullptr && both->op == BinaryOp::kAnd) {
    CollectConjuncts(both->a, conjuncts);
    CollectConjuncts(both->b, conjuncts);
  } else {
    conjuncts.push_back(predicate);
  }
}

using VarSet = std::unordered_set<const VarNode*>;
bool UsesAny(const Expr& e, const VarSet& vars) {
  return UsesVar(e, [&](const VarNode* var) { return vars.contains(var); });
}

// The predicate of the init: the conjuncts that only restrict the reduction do not concern it.
Outcome<Expr> PredicateOfInit(const Reduction& reduction, const VarSet& kept, const VarSet& left_out) {
  std::vector<Expr> conjuncts;
  CollectConjuncts(reduction.realize->predicate, conjuncts);
  Expr predicate = True();
  for (const Expr& conjunct : conjuncts) {
    if (!UsesAny(conjunct, left_out)) {
      predicate = IsTrue(predicate) ? conjunct : And(predicate, conjunct);
    } else if (UsesAny(conjunct, kept)) {
      return Refusal{kName,
                     "the condition {expr0} of {block0} restricts spatial and reduce iterators together",
                     {reduction.realize->block->id},
                     {conjunct}};
    }
  }
  return predicate;
}

Outcome<Stmt> MakeInit(const Reduction& reduction, uint32_t* next_id, uint32_t* init_id) {
  const BlockNode& block = *reduction.realize->block;
  BlockNode::Fields init;
  init.id = *init_id = (*next_id)++;
  init.name = block.name + "_init";
  init.annotations = block.annotations;
  std::vector<Expr> bindings;
  VarMap iters;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (iter.kind != IterKind::kSpatial) continue;
    init.iter_vars.push_back({Var(iter.var.name(), iter.var.dtype()), iter.domain, iter.kind});
    iters[iter.var] = init.iter_vars.back().var;
    bindings.push_back(reduction.realize->bindings[i]);
  }
  for (const BufferRegion& region : block.writes) init.writes.push_back(Substitute(region, iters));
  init.body = Substitute(block.init, iters);

  // Loops that no spatial iterator needs are left out, with the parts of the predicate that mention them.
  VarMap loop_vars;
  VarSet kept, left_out;
  std::vector<ForNode::Fields> loops;
  for (const ForNode* loop : reduction.inner_loops) {
    if (std::none_of(bindings.begin(), bindings.end(), [&](const Expr& e) { return UsesVar(e, loop->var); })) {
      left_out.insert(loop->var.get());
      continue;
    }
    kept.insert(loop->var.get());
    ForNode::Fields fields = loop->fields();
    fields.id = (*next_id)++;
    fields.var = Var(loop->var.name() + "_init", loop->var.dtype());
    fields.min = Substitute(fields.min, loop_vars);
    fields.extent = Substitute(fields.extent, loop_vars);
    loop_vars[loop->var] = fields.var;
    loops.push_back(std::move(fields));
  }
  Outcome<Expr> predicate = PredicateOfInit(reduction, kept, left_out);
  if (!predicate.ok()) return predicate.refusal();
  return Nest(std::move(loops), Realize(Substitute(bindings, loop_vars), Substitute(*predicate, loop_vars),
                                        Block(std::move(init))));
}

Stmt MakeUpdate(const BlockRealizeNode& realize) {
  BlockNode::Fields update = realize.block->fields();
  update.name += "_update";
  update.init = Stmt();
  update.reads = ReadsOfUpdate(*realize.block);
  return Realize(realize.bindings, realize.predicate, Block(std::move(update)));
}

}  // namespace

Outcome<DecomposeReductionResult> DecomposeReduction(const Function& function, uint32_t block_id, uint32_t loop_id) {
  Outcome<Reduction> reduction = Check(function, block_id, loop_id);
  if (!reduction.ok()) return reduction.refusal();
  DecomposeReductionResult result;
  uint32_t next_id = function->next_id;
  Outcome<Stmt> init = MakeInit(*reduction, &next_id, &result.init_block);
  if (!init.ok()) return init.refusal();
  const Stmt update = ReplaceStmt(Stmt(reduction->loop), reduction->realize, MakeUpdate(*reduction->realize));
  result.function = ReplaceIn(function, reduction->loop, Sequence({*init, update}), next_id);
  return result;
}

}  // namespace tilewright

#include "schedule/reduction/decompose_accumulation.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/substitute.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

constexpr const char* kName = "decompose_accumulation";

// Whether the sum has terms, by the iterators; where it has none, nothing sets it.
Expr HasTerms(const BlockRealizeNode& realize) {
  const BlockNode& block = *realize.block;
  arith::Analyzer analyzer;
  VarMap iterators;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    if (const auto* loop = dyn_cast<VarNode>(realize.bindings[i])) iterators[Var(loop)] = block.iter_vars[i].var;
  }
  Expr has = True();
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::kReduce) continue;
    const Expr runs = analyzer.Simplify(Const(iter.domain.extent.dtype(), 0) < iter.domain.extent);
    if (!IsTrue(runs)) has = IsTrue(has) ? runs : And(has, runs);
  }
  return Substitute(has, iterators);
}

// The reduce iterator or the array that decides whether there are terms; empty where nothing of the sum does.
std::string DecidedWithin(const Expr& has_terms, const BlockNode& block, const Buffer& target) {
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::kReduce && UsesVar(has_terms, iter.var)) return "iterator " + iter.var.name();
  }
  return Reads(has_terms, target) ? "array " + target->name : "";
}

}  // namespace

Outcome<DecomposeAccumulationResult> DecomposeAccumulation(const Function& function, uint32_t block_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (block.init) return Refusal{kName, "{block0} has an init", {block_id}};
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  const std::optional<SumForm> form = AsSum(block);
  if (!form || Reads(form->term, form->store->buffer)) {
    return Refusal{kName, "{block0} does not add something to what it stores to", {block_id}};
  }
  const StoreNode& store = *form->store;
  const std::optional<std::vector<IterVar>> at = StoredAt(block, store);
  if (!at) {
    return Refusal{
        kName,
        "{block0} does not store at its spatial iterators, each one index and from 0, and add up along others",
        {block_id}};
  }
  const Expr has_terms = HasTerms(*realize);
  if (const std::string by = DecidedWithin(has_terms, block, store.buffer); !by.empty()) {
    return Refusal{kName, "whether {block0} adds anything to an element depends on {text0}", {block_id}, {}, {by}};
  }

  std::vector<Expr> shape;
  for (const IterVar& iter : *at) shape.push_back(iter.domain.extent);
  const Buffer sum(store.buffer->name + "_sum", std::move(shape), store.buffer->dtype);
  BlockNode::Fields fields = block.fields();
  fields.init = Store(sum, Const(store.buffer->dtype, 0), store.indices);
  fields.body = Store(sum, sum.Load(store.indices) + form->term, store.indices);

  DecomposeAccumulationResult result;
  uint32_t next_id = function->next_id;
  const Expr before = store.buffer.Load(store.indices), added = before + sum.Load(store.indices);
  const Stmt addition = MakeBlock({.name = block.name + "_add",
                                   .iters = *at,
                                   .target = store.buffer,
                                   .indices = store.indices,
                                   .value = IsTrue(has_terms) ? added : IfThenElse(has_terms, added, before)},
                                  &next_id, &result.block);
  const Stmt reduction = ReplaceStmt(Stmt(OutermostOwnLoop(path)), realize,
                                     Realize(realize->bindings, realize->predicate, TouchingBlock(std::move(fields))));
  const BlockNode& scope = *ScopeOf(path)->block;
  const Stmt body = ReplaceStmt(scope.body, OutermostOwnLoop(path), Sequence({reduction, addition}));
  result.function = WithScopeBody(function, scope, body, {sum}, next_id);
  return result;
}

}  // namespace tilewright

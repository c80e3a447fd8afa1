#include "schedule/program/reduction_block.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/region.h"
#include "ir/regions.h"
#include "ir/substitute.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/repeating_loop.h"

namespace tilewright {
namespace {

using VarSet = std::unordered_set<const VarNode*>;
bool UsesAny(const Expr& e, const VarSet& vars) {
  return UsesVar(e, [&](const VarNode* var) { return vars.contains(var); });
}

// Whether the loop takes part in a reduce iterator.
bool Reduces(const BlockRealizeNode& realize, const ForNode& loop) {
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const bool reduce = realize.block->iter_vars[i].kind == IterKind::kReduce;
    if (reduce && UsesVar(realize.bindings[i], loop.var)) return true;
  }
  return false;
}

// The conjuncts that only restrict the reduction do not concern the init. `loops`: all around the block; `first`: those
// that are left out.
Outcome<Expr> PredicateOfInit(const char* primitive, const BlockRealizeNode& realize,
                              const std::vector<const ForNode*>& loops, const VarSet& kept,
                              const std::vector<const ForNode*>& first) {
  VarSet left_out;
  for (const ForNode* loop : first) left_out.insert(loop->var.get());
  Expr predicate = True();
  for (const Expr& conjunct : Conjuncts(realize.predicate)) {
    if (!UsesAny(conjunct, left_out)) {
      predicate = IsTrue(predicate) ? conjunct : And(predicate, conjunct);
    } else if (UsesAny(conjunct, kept) && !HoldsAtStart(conjunct, loops, first)) {
      return Refusal{primitive,
                     "the condition {expr0} of {block0} restricts spatial and reduce iterators together",
                     {realize.block->id},
                     {conjunct}};
    }
  }
  return predicate;
}

// Why an init in front of `loops`, which runs once, does not replace that of the block.
std::optional<Refusal> WhyNotOnce(const char* primitive, const BlockRealizeNode& realize,
                                  const std::vector<const ForNode*>& around, const std::vector<const ForNode*>& loops) {
  const uint32_t id = realize.block->id;
  if (const size_t repeats = InnermostRepeatingLoop(realize, loops, around); repeats < loops.size()) {
    return Refusal{primitive,
                   "{loop0} runs the reduction of {block1} again in each iteration, and its init would run only once",
                   {loops[repeats]->id, id}};
  }
  for (const ForNode* loop : loops) {
    if (!loop->thread_tag.starts_with("threadIdx") || IsInt(loop->extent, 1) || !Reduces(realize, *loop)) continue;
    return Refusal{primitive,
                   "the threads of {loop0} combine their results in {block1}, which must keep its init",
                   {loop->id, id}};
  }
  return std::nullopt;
}

}  // namespace

std::vector<BufferRegion> ReadsOfUpdate(const BlockNode& block) {
  arith::Analyzer analyzer;
  for (const IterVar& iter : block.iter_vars) analyzer.Bind(iter.var, iter.domain);
  std::vector<BufferRegion> reads;
  for (const BufferRegion& write : block.writes) {
    const bool declared = std::ranges::any_of(block.reads, [&](const BufferRegion& read) {
      return read.buffer.same_as(write.buffer) && arith::Covers(read.region, write.region, {}, &analyzer);
    });
    if (!declared) reads.push_back(write);
  }
  reads.insert(reads.end(), block.reads.begin(), block.reads.end());
  return reads;
}

Outcome<InitNest> MakeInitNest(const char* primitive, const BlockRealizeNode& realize,
                               const std::vector<const ForNode*>& around, const std::vector<const ForNode*>& loops,
                               const InitNames& names, uint32_t* next_id) {
  const BlockNode& block = *realize.block;
  BlockNode::Fields init;
  init.id = (*next_id)++;
  init.name = block.name + "_init";
  if (names.keeps_annotations) init.annotations = block.annotations;
  std::vector<Expr> bindings;
  VarMap iters;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (iter.kind != IterKind::kSpatial) continue;
    init.iter_vars.push_back({Var(iter.var.name() + names.iter_suffix, iter.var.dtype()), iter.domain, iter.kind});
    iters[iter.var] = init.iter_vars.back().var;
    bindings.push_back(realize.bindings[i]);
  }
  for (const BufferRegion& region : block.writes) init.writes.push_back(Substitute(region, iters));
  init.body = Substitute(block.init, iters);
  init.reads = DetectRegions(init.body).reads;

  VarMap loop_vars;
  VarSet kept;
  std::vector<const ForNode*> left_out;
  for (const ForNode* loop : around) {
    if (!IsInt(loop->extent, 1)) kept.insert(loop->var.get());
  }
  std::vector<ForNode::Fields> copies;
  for (const ForNode* loop : loops) {
    if (std::none_of(bindings.begin(), bindings.end(), [&](const Expr& e) { return UsesVar(e, loop->var); })) {
      left_out.push_back(loop);
      continue;
    }
    kept.insert(loop->var.get());
    ForNode::Fields fields = loop->fields();
    fields.id = (*next_id)++;
    fields.var = Var(loop->var.name() + names.loop_suffix, loop->var.dtype());
    fields.min = Substitute(fields.min, loop_vars);
    fields.extent = Substitute(fields.extent, loop_vars);
    loop_vars[loop->var] = fields.var;
    copies.push_back(std::move(fields));
  }
  std::vector<const ForNode*> all = around;
  all.insert(all.end(), loops.begin(), loops.end());
  TW_ASSIGN_OR_RETURN(Expr predicate, PredicateOfInit(primitive, realize, all, kept, left_out));
  if (auto refusal = WhyNotOnce(primitive, realize, around, loops)) return *refusal;
  const uint32_t id = init.id;
  return InitNest{Nest(std::move(copies), Realize(Substitute(bindings, loop_vars), Substitute(predicate, loop_vars),
                                                  Block(std::move(init)))),
                  id};
}

}  // namespace tilewright

#include "schedule/loops/loop_partition.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/reduction_block.h"
#include "schedule/program/simplify_nest.h"

namespace tilewright {
namespace {

constexpr const char* kName = "loop_partition";

// The extents of the parts.
Outcome<std::vector<int64_t>> CompleteFactors(const ForNode& loop, const std::vector<Expr>& factors) {
  const std::optional<int64_t> extent = AsInt(loop.extent);
  if (!extent) return Refusal{kName, "the extent {expr0} of {loop0} is not constant", {loop.id}, {loop.extent}};
  std::vector<int64_t> parts;
  int64_t total = 0;
  ptrdiff_t absent = -1;
  for (const Expr& factor : factors) {
    const std::optional<int64_t> part = factor ? AsInt(factor) : 0;
    if (!factor) {
      if (absent >= 0) return Refusal{kName, "more than one factor of {loop0} is to be inferred", {loop.id}};
      absent = std::ssize(parts);
    } else if (!part || *part < 1) {
      return Refusal{kName, "factor {expr0} of {loop0} is not a positive constant", {loop.id}, {factor}};
    }
    parts.push_back(*part);
    if (__builtin_add_overflow(total, *part, &total) || total >= *extent) {
      return Refusal{kName,    "the factors leave nothing over of the extent {num0} of {loop0}", {loop.id}, {}, {},
                     {*extent}};
    }
  }
  if (absent < 0) {
    absent = std::ssize(parts);
    parts.push_back(0);
  }
  parts[absent] = *extent - total;
  return parts;
}

// One part: the loop over [first, first + extent).
class PartMaker : public Mutator {
 public:
  // `above`: the loops around the partitioned one.
  PartMaker(const ForNode& loop, const std::vector<const ForNode*>& above, int number, int64_t first, int64_t extent)
      : loop_(loop), suffix_(loop.var.name() + std::to_string(number)), first_(first), extent_(extent) {
    BindLoops(analyzer_, above);
    BindLoop(analyzer_, loop.var, Const(loop.var.dtype(), first), Const(loop.var.dtype(), extent));
  }

  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

  // The block whose init may have to run in this part, though it is not the first.
  const BlockNode* needs_init() const { return needs_init_; }

  Stmt Make(uint32_t* next_id, uint32_t* loop_id) {
    Stmt body = Mutate(loop_.body);
    if (needs_init_ != nullptr) return Stmt();
    ForNode::Fields fields = loop_.fields();
    fields.id = *loop_id = (*next_id)++;
    fields.var = Var(suffix_, loop_.var.dtype());
    fields.extent = Const(loop_.var.dtype(), extent_);
    const Expr value = first_ == 0 ? Expr(fields.var) : fields.var + Const(loop_.var.dtype(), first_);
    fields.body = Substitute(body, {{loop_.var, value}});
    if (first_ != 0) fields.body = CopyWithFreshNames(fields.body, next_id);
    return For(std::move(fields));
  }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const arith::Analyzer::Scope inside(&analyzer_);
    BindLoop(analyzer_, op->var, op->min, op->extent);
    return Mutator::MutateFor(op, self);
  }
  // Blocks further inside see the loop through this one's iterators.
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt&) override {
    BlockNode::Fields block = op->block->fields();
    block.name += "_" + suffix_;
    block.body = WithNames(block.body);
    if (block.init) block.init = WithNames(block.init);
    bool reduces = false, starts_later = false;
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      IterVar& iter = block.iter_vars[i];
      // An init runs where the reduce iterators are at their least values; opaque ones have no say in it.
      if (iter.kind == IterKind::kReduce && UsesVar(op->bindings[i], loop_.var)) {
        reduces = true;
        starts_later |= analyzer_.CanProve(op->bindings[i] > iter.domain.min);
      }
      if (op->bindings[i].same_as(loop_.var)) {
        iter.domain = {Const(iter.var.dtype(), first_), Const(iter.var.dtype(), extent_)};
      }
    }
    if (block.init && reduces && first_ != 0) {
      if (!starts_later && needs_init_ == nullptr) needs_init_ = op->block.get();
      block.reads = ReadsOfUpdate(*op->block);
      block.init = Stmt();
    }
    return Realize(op->bindings, WhatIsLeftOf(op->predicate), Block(std::move(block)));
  }

 private:
  // Every part has blocks of its own, whose names say so.
  Stmt WithNames(const Stmt& inside) const {
    return RewriteStmt(inside, [&](const Stmt& part) -> Stmt {
      const auto* realize = dyn_cast<BlockRealizeNode>(part);
      if (realize == nullptr) return part;
      BlockNode::Fields block = realize->block->fields();
      block.name += "_" + suffix_;
      return Realize(realize->bindings, realize->predicate, Block(std::move(block)));
    });
  }
  // The conditions that do not hold throughout the part.
  Expr WhatIsLeftOf(const Expr& predicate) {
    Expr left = True();
    for (const Expr& condition : Conjuncts(predicate)) {
      if (!analyzer_.CanProve(condition)) left = IsTrue(left) ? condition : And(left, condition);
    }
    return left;
  }

  const ForNode& loop_;
  const std::string suffix_;
  const int64_t first_, extent_;
  arith::Analyzer analyzer_;
  const BlockNode* needs_init_ = nullptr;
};

}  // namespace

Outcome<LoopPartitionResult> LoopPartition(const Function& function, uint32_t loop_id,
                                           const std::vector<Expr>& factors) {
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop(kName, function, loop_id));
  const ForNode& loop = *cast<ForNode>(path.back());
  if (auto refusal = WhyNotReplaceable(kName, loop)) return *refusal;
  TW_ASSIGN_OR_RETURN(std::vector<int64_t> extents, CompleteFactors(loop, factors));

  const std::vector<const ForNode*> above = LoopsAbove(path);
  LoopPartitionResult result;
  uint32_t next_id = function->next_id;
  std::vector<Stmt> parts;
  int64_t first = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    PartMaker maker(loop, above, static_cast<int>(i), first, extents[i]);
    result.loops.emplace_back();
    const Stmt part = maker.Make(&next_id, &result.loops.back());
    if (maker.needs_init() != nullptr) {
      return Refusal{kName,
                     "the reduction of {block1} may start in a later part of {loop0} than the first",
                     {loop_id, maker.needs_init()->id}};
    }
    parts.push_back(SimplifyNest(part, above, /*preserve_unit_iters=*/true));
    first += extents[i];
  }
  result.function = ReplaceIn(function, &loop, Sequence(std::move(parts)), next_id);
  return result;
}

}  // namespace tilewright

#include "schedule/movement/expand_auto_copy.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

constexpr const char* kName = "expand_auto_copy";

// The body of an AutoCopy block.
struct BoxCopy {
  std::vector<const ForNode*> loops;  // one for each dimension
  std::vector<Expr> begins;           // the least index in each dimension, in terms of the block's iterators
  Expr inside = True();
  const StoreNode* store = nullptr;
  const LoadNode* load = nullptr;
};

// Nothing where the body is another one.
std::optional<BoxCopy> MatchBoxCopy(const BlockNode& block) {
  BoxCopy copy;
  Stmt stmt = block.body;
  for (const auto* loop = dyn_cast<ForNode>(stmt); loop != nullptr; loop = dyn_cast<ForNode>(stmt)) {
    if (loop->kind != ForKind::kSerial || !IsInt(loop->min, 0) || !loop->annotations.empty()) return std::nullopt;
    copy.loops.push_back(loop);
    stmt = loop->body;
  }
  if (const auto* condition = dyn_cast<IfNode>(stmt)) {
    if (condition->else_case) return std::nullopt;
    copy.inside = condition->condition;
    stmt = condition->then_case;
  }
  copy.store = dyn_cast<StoreNode>(stmt);
  copy.load = copy.store == nullptr ? nullptr : dyn_cast<LoadNode>(copy.store->value);
  if (copy.load == nullptr || copy.store->predicate || copy.load->predicate) return std::nullopt;
  const std::vector<Expr>& indices = copy.store->indices;
  if (indices.size() != copy.loops.size() || copy.load->indices.size() != indices.size()) return std::nullopt;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!StructuralEqual(indices[d], copy.load->indices[d])) return std::nullopt;
    copy.begins.push_back(arith::Simplify(indices[d] - copy.loops[d]->var));
    const bool uses_loops =
        std::ranges::any_of(copy.loops, [&](const ForNode* loop) { return UsesVar(copy.begins.back(), loop->var); });
    if (uses_loops) return std::nullopt;
  }
  return copy;
}

// Loops around the copy of an element of the box, as `realize` runs it.
Stmt ExpandBox(const BlockRealizeNode& realize, const BoxCopy& copy, arith::Analyzer* analyzer) {
  VarMap values;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    values[realize.block->iter_vars[i].var] = realize.bindings[i];
  }
  BlockNode::Fields block = realize.block->fields();
  block.annotations.erase(kAutoCopy);
  block.iter_vars.clear();
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings, element;
  for (size_t d = 0; d < copy.loops.size(); ++d) {
    const ForNode& loop = *copy.loops[d];
    const DataType type = copy.store->indices[d].dtype();
    Expr binding = analyzer->Simplify(Substitute(copy.begins[d], values));
    if (IsInt(loop.extent, 1)) {
      values[loop.var] = Const(loop.var.dtype(), 0);
    } else {
      const Var var("ax" + std::to_string(loops.size()), loop.var.dtype());
      binding = analyzer->Simplify(binding + var);
      const Expr extent = Substitute(loop.extent, values);
      analyzer->Bind(var, Range{Const(var.dtype(), 0), extent});
      values[loop.var] = var;
      loops.push_back({.id = loop.id, .var = var, .extent = extent});
    }
    bindings.push_back(CastTo(type, binding));
    const Var iter("v" + std::to_string(d), type);
    block.iter_vars.push_back({iter, {Const(type, 0), CastTo(type, copy.store->buffer->shape[d])}, IterKind::kSpatial});
    element.push_back(iter);
  }
  Expr predicate = realize.predicate;
  for (const Expr& condition : Conjuncts(copy.inside)) {
    const Expr needed = analyzer->Simplify(Substitute(condition, values));
    if (!IsTrue(needed)) predicate = IsTrue(predicate) ? needed : And(predicate, needed);
  }
  block.body = Store(copy.store->buffer, copy.load->buffer.Load(element), element);
  block.reads = {BufferRegion::Point(copy.load->buffer, element)};
  block.writes = {BufferRegion::Point(copy.store->buffer, element)};
  return Nest(std::move(loops), Realize(std::move(bindings), predicate, Block(std::move(block))));
}

}  // namespace

Outcome<Function> ExpandAutoCopy(const Function& function, uint32_t block_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  if (!realize->block->annotations.contains(kAutoCopy)) {
    return Refusal{kName, "{block0} is not an AutoCopy block", {block_id}};
  }
  const std::optional<BoxCopy> copy = MatchBoxCopy(*realize->block);
  if (!copy) return Refusal{kName, "{block0} does not copy a box in the way of read_at and write_at", {block_id}};
  arith::Analyzer analyzer;
  BindLoops(analyzer, LoopsAbove(path));
  return ReplaceIn(function, realize, ExpandBox(*realize, *copy, &analyzer), function->next_id);
}

}  // namespace tilewright

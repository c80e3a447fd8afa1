#include "schedule/loops/fuse.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_nest.h"

namespace tilewright {
namespace {

constexpr const char* kName = "fuse";

// The loops as nodes, or why they are not a nest that can be one loop.
// What a loop over all of them counts in.
DataType WidestType(const std::vector<const ForNode*>& loops) {
  DataType widest = loops[0]->var.dtype();
  for (const ForNode* loop : loops) {
    if (loop->var.dtype().bits() > widest.bits()) widest = loop->var.dtype();
  }
  return widest;
}

Outcome<std::vector<const ForNode*>> CheckNest(const Function& function, const std::vector<uint32_t>& ids) {
  if (ids.empty()) return Refusal{kName, "there are no loops"};
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop(kName, function, ids[0]));
  std::vector<const ForNode*> loops = {cast<ForNode>(path.back())};
  for (size_t i = 1; i < ids.size(); ++i) {
    TW_ASSIGN_OR_RETURN(Path inner, PathToLoop(kName, function, ids[i]));
    const ForNode* loop = cast<ForNode>(inner.back());
    if (loops.back()->body.get() != loop) {
      return Refusal{kName, "{loop0} is not the only statement in {loop1}", {loop->id, loops.back()->id}};
    }
    for (const ForNode* outer : loops) {
      if (UsesVar(loop->extent, outer->var)) {
        return Refusal{
            kName, "the extent {expr0} of {loop0} depends on {loop1}", {loop->id, outer->id}, {loop->extent}};
      }
    }
    loops.push_back(loop);
  }
  for (const ForNode* loop : loops) {
    if (auto refusal = WhyNotReplaceable(kName, *loop)) return *refusal;
  }
  std::vector<Expr> extents;
  for (const ForNode* loop : loops) extents.push_back(loop->extent);
  const DataType type = WidestType(loops);
  if (!ProductFits(type, extents)) {
    return Refusal{kName,
                   "the product of the extents is too large for {loop0}, which counts in {text0}",
                   {loops[0]->id},
                   {},
                   {type.ToString()}};
  }
  return loops;
}

}  // namespace

Outcome<FuseResult> Fuse(const Function& function, const std::vector<uint32_t>& ids, bool preserve_unit_iters) {
  TW_ASSIGN_OR_RETURN(std::vector<const ForNode*> checked, CheckNest(function, ids));
  const std::vector<const ForNode*>& loops = checked;
  const Path path = FindPath(function, ids[0]);

  std::string name = loops[0]->var.name();
  const DataType fused_type = WidestType(loops);
  const auto extent_of = [&](size_t i) { return CastTo(fused_type, loops[i]->extent); };
  Expr extent = extent_of(0);
  for (size_t i = 1; i < loops.size(); ++i) {
    name += "_" + loops[i]->var.name();
    extent = extent * extent_of(i);
  }
  arith::Analyzer analyzer;
  ForNode::Fields fields;
  fields.id = function->next_id;
  fields.var = Var(name + "_fused", extent.dtype());
  fields.extent = analyzer.Simplify(extent);

  VarMap values;
  Expr rest = fields.var;
  for (size_t i = loops.size(); i-- > 1;) {
    const DataType type = loops[i]->var.dtype();
    values[loops[i]->var] =
        CastTo(type, IsInt(loops[i]->extent, 1) ? Const(rest.dtype(), 0) : FloorMod(rest, extent_of(i)));
    if (!IsInt(loops[i]->extent, 1)) rest = FloorDiv(rest, extent_of(i));
  }
  // A loop that runs once has no part in the fused one.
  values[loops[0]->var] = CastTo(loops[0]->var.dtype(), IsInt(loops[0]->extent, 1) ? Const(rest.dtype(), 0) : rest);
  fields.body = ReplaceLoopVars(loops.back()->body, values);
  const Stmt nest = SimplifyNest(For(fields), LoopsAbove(path), preserve_unit_iters);
  return FuseResult{ReplaceIn(function, loops[0], nest, function->next_id + 1), fields.id};
}

}  // namespace tilewright

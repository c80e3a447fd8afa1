#include "schedule/reduction/rescale_reduction.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builder.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"
#include "schedule/reduction/decompose_reduction.h"
#include "schedule/reduction/divided_chain.h"
#include "schedule/reduction/idle_terms.h"
#include "schedule/reduction/online_blocks.h"
#include "schedule/reduction/online_chain.h"

namespace tilewright {
namespace {

constexpr const char *kName = "rescale_reduction", *kApart = "rescale_parts";

// Whether a condition leaves m out of some terms. Such a sum may be a number where the factor of the others is none.
bool LeavesOutFactor(const Expr& value, const Var& m) {
  bool found = false;
  const auto check = [&](const Expr& condition, const Expr& a, const Expr& b) {
    found |= !UsesVar(condition, m) && UsesVar(a, m) != UsesVar(b, m);
  };
  PreOrder(value, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    if (const auto* select = dyn_cast<SelectNode>(e)) check(select->condition, select->true_value, select->false_value);
    if (call != nullptr && call->op == kIfThenElse) check(call->args[0], call->args[1], call->args[2]);
    return !found;
  });
  return found;
}

// Puts the blocks into one nest, or into one of the parts and those that follow it.
class Builder {
 public:
  Builder(DividedChain divided, std::optional<IdleTerms> idle)
      : divided_(std::move(divided)), idle_(std::move(idle)), blocks_(divided_, idle_) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  RescaleReductionResult Build(bool skip_leading) {
    std::vector<Stmt> body = {blocks_.FirstPart(), blocks_.Running()};
    for (size_t i = 0; i < chain_.factors.size(); ++i) body.push_back(blocks_.Rescale(i));
    size_t part = 1;
    for (const OnlineBlock& block : chain_.others) {
      if (!block.reduces) {
        body.push_back(blocks_.Elementwise(block));
        continue;
      }
      body.push_back(blocks_.Partial(block, divided_.parts[part++]));
      body.push_back(blocks_.Combined(block));
    }
    Function assembled = Assemble(blocks_.Start(), Sequence(std::move(body)));
    return {skip_leading && idle_ && idle_->begin ? BeginWithTerms(assembled) : assembled, divided_.parts};
  }

  RescaleReductionResult BuildApart() {
    std::vector<Stmt> body = {blocks_.FirstPart()}, corrections;
    std::vector<uint32_t> made = divided_.parts;
    for (size_t i = 0; i < chain_.factors.size(); ++i) {
      body.push_back(blocks_.Reference(i));
      corrections.push_back(blocks_.Correction(i, &made.emplace_back()));
    }
    size_t part = 1;
    for (const OnlineBlock& block : chain_.others) {
      body.push_back(block.reduces ? blocks_.Partial(block, divided_.parts[part++]) : blocks_.Elementwise(block));
    }
    return {AssembleApart(Sequence(std::move(body)), corrections), std::move(made)};
  }

 private:
  // The shared loops around all blocks; `start` comes before the innermost of them.
  Stmt SharedNest(const Stmt& body, const Stmt& start = {}) const {
    Stmt nest = body;
    for (size_t i = chain_.first.outer; i-- > 0;) {
      const bool innermost = i + 1 == chain_.first.outer;
      ForNode::Fields fields = divided_.shared[i]->fields();
      fields.body = nest;
      if (idle_ && idle_->end && innermost) fields.extent = ExtentWithTerms(fields.extent);
      nest = For(std::move(fields));
      if (start && innermost) nest = Sequence({start, nest});
    }
    return nest;
  }

  Function Assemble(const Stmt& start, const Stmt& body) const {
    return InScope([&](const ForNode* loop, std::vector<Stmt>* stmts) {
      if (loop == divided_.combining.loops[0]) stmts->push_back(SharedNest(body, start));
      return loop == divided_.combining.loops[0];
    });
  }

  // A nest of all parts; then the final value, what follows from it, and sums of the parts.
  Function AssembleApart(const Stmt& body, const std::vector<Stmt>& corrections) const {
    return InScope([&](const ForNode* loop, std::vector<Stmt>* stmts) {
      if (loop == divided_.combining.loops[0]) {
        stmts->insert(stmts->end(), {SharedNest(body), Stmt(loop)});
        stmts->insert(stmts->end(), corrections.begin(), corrections.end());
        return true;
      }
      for (const OnlineBlock& block : chain_.others) {
        const PlacedBlock placed = Place(divided_.function, block.id());
        if (!block.reduces || placed.loops[0] != loop) continue;
        stmts->push_back(ReplaceStmt(Stmt(loop), placed.realize, blocks_.Combining(block)));
        return true;
      }
      return false;
    });
  }

  // The scope without the nests that have moved; `put` puts others there for a loop, where it does.
  Function InScope(const std::function<bool(const ForNode*, std::vector<Stmt>*)>& put) const {
    const auto* scope = FindBlock(divided_.function, chain_.scope);
    const auto* sequence = dyn_cast<SeqNode>(scope->block->body);
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : sequence == nullptr ? std::vector<Stmt>{scope->block->body} : sequence->stmts) {
      const auto* loop = dyn_cast<ForNode>(stmt);
      const bool moved = loop != nullptr && std::ranges::find(blocks_.emptied(), loop->id) != blocks_.emptied().end();
      if ((loop == nullptr || !put(loop, &stmts)) && !moved) stmts.push_back(stmt);
    }
    BlockNode::Fields fields = scope->block->fields();
    fields.body = Sequence(std::move(stmts));
    std::vector<Buffer>& allocated = fields.alloc_buffers;
    const RunningBuffers& buffers = divided_.buffers;
    if (!divided_.apart) allocated.insert(allocated.end(), {buffers.before, buffers.running});
    allocated.insert(allocated.end(), buffers.references.begin(), buffers.references.end());
    allocated.insert(allocated.end(), buffers.rescales.begin(), buffers.rescales.end());
    return ReplaceIn(divided_.function, scope, Realize(scope->bindings, scope->predicate, Block(std::move(fields))),
                     blocks_.next_id());
  }

  Expr ExtentWithTerms(const Expr& extent) const {
    arith::Analyzer analyzer;
    return analyzer.Simplify(Min(extent, CastTo(extent.dtype(), OfOuterLoops(idle_->end, &analyzer))));
  }
  // An expression of the loops around the first reduction's, in terms of those that are left.
  Expr OfOuterLoops(const Expr& e, arith::Analyzer* analyzer) const {
    VarMap vars;
    for (size_t i = 0; i + 1 < chain_.first.outer; ++i) {
      const ForNode& loop = *divided_.combining.loops[i];
      vars[chain_.first.loops[i]->var] = loop.var;
      analyzer->Bind(loop.var, {loop.min, loop.extent});
    }
    return Substitute(e, vars);
  }

  // The shared loop from its first iteration with terms on, where sums may begin before it.
  Function BeginWithTerms(const Function& assembled) const {
    const uint32_t shared = divided_.combining.loops[chain_.first.outer - 1]->id;
    Function function = assembled;
    for (const OnlineBlock& block : chain_.others) {
      if (!block.reduces) continue;
      Outcome<DecomposeReductionResult> begun = DecomposeReduction(function, block.id(), shared);
      if (!begun.ok()) return assembled;
      function = begun->function;
    }
    const auto* loop = cast<ForNode>(FindPath(function, shared).back());
    ForNode::Fields fields = loop->fields();
    arith::Analyzer analyzer;
    const DataType type = fields.extent.dtype();
    fields.min = analyzer.Simplify(CastTo(type, OfOuterLoops(idle_->begin, &analyzer)));
    fields.extent = analyzer.Simplify(fields.extent - fields.min);
    if (IsInt(fields.min, 0)) return assembled;
    return ReplaceIn(function, loop, For(std::move(fields)), function->next_id);
  }

  const DividedChain divided_;
  const OnlineChain& chain_ = divided_.chain;
  const std::optional<IdleTerms> idle_;
  OnlineBlocks blocks_;
};

}  // namespace

Outcome<RescaleReductionResult> RescaleReduction(const Function& function, const std::vector<uint32_t>& loops,
                                                 bool skip_leading) {
  TW_CHECK(!loops.empty());
  TW_ASSIGN_OR_RETURN(OnlineChain chain, FindOnlineChain(kName, function, loops[0], {loops.begin() + 1, loops.end()}));
  std::optional<IdleTerms> idle = FindIdleTerms(function, chain);
  TW_ASSIGN_OR_RETURN(DividedChain divided, DivideChain(kName, function, std::move(chain), /*apart=*/false));
  return Builder(std::move(divided), std::move(idle)).Build(skip_leading);
}

Outcome<RescaleReductionResult> RescaleParts(const Function& function, const std::vector<uint32_t>& loops) {
  TW_CHECK(!loops.empty());
  TW_ASSIGN_OR_RETURN(OnlineChain chain, FindOnlineChain(kApart, function, loops[0], {loops.begin() + 1, loops.end()}));
  for (const OnlineBlock& block : chain.others) {
    if (block.reduces && LeavesOutFactor(block.value, chain.m)) {
      return Refusal{kApart, "a condition leaves the factor out of some terms of {block0}", {block.id()}};
    }
  }
  TW_ASSIGN_OR_RETURN(DividedChain divided, DivideChain(kApart, function, std::move(chain), /*apart=*/true));
  return Builder(std::move(divided), std::nullopt).BuildApart();
}

}  // namespace tilewright

#include "autoschedule/split_iterators.h"

#include <optional>

#include "autoschedule/block_loops.h"
#include "ir/arith/linear.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

struct Division {
  size_t iterator;
  int64_t divisor;
};

// The first iterator that the block divides by a divisor of its extent.
std::optional<Division> FindDivision(const BlockNode& block) {
  std::optional<Division> found;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* division = dyn_cast<BinaryNode>(e);
    if (found || division == nullptr || division->op != BinaryOp::kFloorDiv) return !found;
    const auto divisor = AsInt(division->b);
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const auto extent = ExtentOf(block.iter_vars[i]);
      const bool divides = divisor && extent && *divisor > 1 && *extent > *divisor && *extent % *divisor == 0;
      if (divides && division->a.same_as(block.iter_vars[i].var)) found = Division{i, *divisor};
    }
    return !found;
  });
  return found;
}

IndexMap SplitMap(size_t iterators, const Division& division) {
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t i = 0; i < iterators; ++i) {
    inputs.emplace_back("i" + std::to_string(i));
    if (i == division.iterator) {
      outputs.push_back(FloorDiv(inputs.back(), division.divisor));
      outputs.push_back(FloorMod(inputs.back(), division.divisor));
    } else {
      outputs.push_back(inputs.back());
    }
  }
  return IndexMap(std::move(inputs), std::move(outputs));
}

// The first iterator that takes part, with the coefficient 1, in an `e % s == 0` and has more than one period.
std::optional<Division> FindPeriod(const BlockNode& block) {
  std::optional<Division> found;
  arith::Analyzer analyzer;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* equal = dyn_cast<BinaryNode>(e);
    if (found || equal == nullptr || equal->op != BinaryOp::kEQ) return !found;
    const auto* modulo = dyn_cast<BinaryNode>(equal->a);
    const auto period = modulo != nullptr && modulo->op == BinaryOp::kFloorMod ? AsInt(modulo->b) : std::nullopt;
    for (size_t i = 0; period && i < block.iter_vars.size(); ++i) {
      const auto extent = ExtentOf(block.iter_vars[i]);
      if (!extent || *extent <= *period || *extent % *period != 0) continue;
      const auto linear = arith::DetectLinear(modulo->a, {block.iter_vars[i].var}, &analyzer);
      if (linear && AsInt(linear->coefficients[0]) == 1) found = Division{i, *period};
    }
    return !found;
  });
  return found;
}

bool Split(Schedule& sch, BlockRv block, const std::optional<Division>& division) {
  return division &&
         sch.TransformBlockLayout(block, SplitMap(RealizeOf(sch, block).block->iter_vars.size(), *division)).ok();
}

void SkipZeroTerms(Schedule& sch, BlockRv block) {
  if (!FindPeriod(*RealizeOf(sch, block).block)) return;
  Schedule attempt = sch;
  while (Split(attempt, block, FindPeriod(*RealizeOf(attempt, block).block))) {
  }
  if (attempt.Apply("skip_zero_terms", {block}).ok()) sch = std::move(attempt);
}

}  // namespace

void SplitIterators(Schedule& sch, const std::string& function) {
  const auto* root = dyn_cast<BlockRealizeNode>(sch.module().Find(function)->body);
  if (root == nullptr) return;
  const Outcome<BlockRv> root_block = sch.GetBlock(root->block->name, function);
  if (!root_block.ok()) return;
  const Outcome<std::vector<BlockRv>> children = sch.GetChildBlocks(*root_block);
  if (!children.ok()) return;
  for (const BlockRv& block : *children) {
    while (Split(sch, block, FindDivision(*RealizeOf(sch, block).block))) {
    }
    SkipZeroTerms(sch, block);
  }
}

}  // namespace tilewright

#include "autoschedule/normalize/join_phases.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "base/math.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/program/sum_form.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// Strides of convolutions.
constexpr int64_t kMostPhases = 8;

struct Phase {
  int64_t iterator, reduction;  // positions; -1: no reduction
  int64_t values;               // of the iterator
  int64_t taps;                 // products of all its values together, without those that are known to be zero
  int64_t joined;               // products of one value when they are joined
};

struct Sides {
  Expr rows, columns;           // factors
  int64_t column;               // position of the only iterator of the columns alone
  std::vector<int64_t> shared;  // positions of spatial iterators of both
};

// Nothing unless one factor alone runs along the last dimension of the output, by one iterator.
std::optional<Sides> SidesOf(const BlockNode& block) {
  const std::optional<SumForm> sum = AsSum(block);
  if (!sum || !block.init || sum->store->indices.empty()) return std::nullopt;
  const std::vector<Expr> factors = FactorsOf(sum->term);
  if (factors.size() != 2) return std::nullopt;
  std::optional<Sides> sides;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const Var& var = block.iter_vars[i].var;
    if (!sum->store->indices.back().same_as(var)) continue;
    const bool in_first = UsesVar(factors[0], var);
    if (in_first == UsesVar(factors[1], var)) return std::nullopt;
    sides = Sides{factors[in_first ? 1 : 0], factors[in_first ? 0 : 1], static_cast<int64_t>(i), {}};
  }
  if (!sides) return std::nullopt;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (!ExtentOf(iter)) return std::nullopt;
    if (iter.kind != IterKind::kSpatial || !UsesVar(sides->columns, iter.var)) continue;
    if (UsesVar(sides->rows, iter.var)) {
      sides->shared.push_back(static_cast<int64_t>(i));
    } else if (static_cast<int64_t>(i) != sides->column) {
      return std::nullopt;
    }
  }
  return sides;
}

// Whether what an expression reads is known ahead of time: constant parameters and what is made of them.
bool IsConstant(const Schedule& sch, const std::vector<BlockRv>& blocks, const Function& function, const Expr& e) {
  bool constant = true;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    if (load == nullptr || IsConstantParam(function, load->buffer)) return constant;
    const auto writer = std::ranges::find_if(blocks, [&](const BlockRv& block) {
      return RealizeOf(sch, block).block->writes[0].buffer.same_as(load->buffer);
    });
    constant = constant && writer != blocks.end() &&
               std::ranges::all_of(RealizeOf(sch, *writer).block->reads,
                                   [&](const BufferRegion& read) { return IsConstantParam(function, read.buffer); });
    return constant;
  });
  return constant;
}

// Products along an iterator and a reduction that are not known to be zero.
int64_t Taps(const BlockNode& block, const Expr& rows, int64_t iterator, int64_t reduction) {
  const IterVar& phase = block.iter_vars[static_cast<size_t>(iterator)];
  const IterVar* along = reduction < 0 ? nullptr : &block.iter_vars[static_cast<size_t>(reduction)];
  arith::Analyzer analyzer;
  int64_t taps = 0;
  for (int64_t value = 0; value < *ExtentOf(phase); ++value) {
    for (int64_t tap = 0; tap < (along == nullptr ? 1 : *ExtentOf(*along)); ++tap) {
      VarMap at{{phase.var, Const(phase.var.dtype(), value)}};
      if (along != nullptr) at[along->var] = Const(along->var.dtype(), tap);
      taps += IsZero(analyzer.Simplify(Substitute(rows, at))) ? 0 : 1;
    }
  }
  return taps;
}

std::vector<Phase> FindPhases(const Schedule& sch, BlockRv block, const Sides& sides) {
  const Block kept = RealizeOf(sch, block).block;
  std::vector<Phase> phases;
  for (const int64_t iterator : sides.shared) {
    const int64_t values = *ExtentOf(kept->iter_vars[static_cast<size_t>(iterator)]);
    if (values < 2 || values > kMostPhases) continue;
    for (int64_t reduction = -1; reduction < static_cast<int64_t>(kept->iter_vars.size()); ++reduction) {
      Schedule attempt = sch;
      if (reduction >= 0 && kept->iter_vars[static_cast<size_t>(reduction)].kind != IterKind::kReduce) continue;
      if (!attempt.Apply("join_windows", {block, Value(iterator), Value(reduction)}).ok()) continue;
      const int64_t joined =
          reduction < 0 ? 1 : *ExtentOf(RealizeOf(attempt, block).block->iter_vars[static_cast<size_t>(reduction)]);
      phases.push_back({iterator, reduction, values, Taps(*kept, sides.rows, iterator, reduction), joined});
      break;
    }
  }
  return phases;
}

// Products of all phases for one channel sum, in vectors of `lanes` columns; `set`: the phases that are joined, as
// bits.
int64_t Products(const std::vector<Phase>& phases, unsigned set, int64_t columns, int64_t lanes) {
  int64_t products = 1;
  for (size_t i = 0; i < phases.size(); ++i) {
    const bool joined = (set >> i & 1) != 0;
    products *= joined ? phases[i].joined : phases[i].taps;
    columns *= joined ? phases[i].values : 1;
  }
  return products * (RoundUp(columns, lanes));
}

// The iterators of the set and the column become one, in the column's place.
IndexMap Fused(size_t iterators, const std::vector<Phase>& phases, unsigned set, int64_t column, int64_t columns) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < iterators; ++i) inputs.emplace_back("i" + std::to_string(i));
  Expr fused;
  std::vector<bool> is_fused(iterators, false);
  for (size_t i = 0; i < phases.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    const Var& input = inputs[static_cast<size_t>(phases[i].iterator)];
    fused = fused ? fused * static_cast<int>(phases[i].values) + input : Expr(input);
    is_fused[static_cast<size_t>(phases[i].iterator)] = true;
  }
  std::vector<Expr> outputs;
  for (size_t i = 0; i < iterators; ++i) {
    if (is_fused[i]) continue;
    const bool is_column = static_cast<int64_t>(i) == column;
    outputs.push_back(is_column ? fused * static_cast<int>(columns) + inputs[i] : Expr(inputs[i]));
  }
  return IndexMap(std::move(inputs), std::move(outputs));
}

// Joins the phases of the set. Whether it did; a refusal leaves the steps before it.
bool Join(Schedule& sch, BlockRv block, const std::vector<Phase>& phases, unsigned set, int64_t column,
          int64_t columns) {
  const size_t iterators = RealizeOf(sch, block).block->iter_vars.size();
  for (size_t i = 0; i < phases.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    if (!sch.Apply("join_windows", {block, Value(phases[i].iterator), Value(phases[i].reduction)}).ok()) return false;
  }
  return sch.TransformBlockLayout(block, Fused(iterators, phases, set, column, columns)).ok();
}

void JoinPhasesOf(Schedule& sch, BlockRv block, const std::vector<BlockRv>& blocks, const Target& target,
                  Choices& choices) {
  const Block kept = RealizeOf(sch, block).block;
  const std::optional<Sides> sides = SidesOf(*kept);
  if (!sides || sides->shared.empty() || !IsConstant(sch, blocks, FunctionOf(sch, block), sides->columns)) return;
  const std::vector<Phase> phases = FindPhases(sch, block, *sides);
  const int64_t columns = *ExtentOf(kept->iter_vars[static_cast<size_t>(sides->column)]);
  const int64_t lanes = target.lanes(kept->writes[0].buffer->dtype.bits());
  // Among equals the fewest, and the last ones: those are next to the columns in the output.
  unsigned best = 0;
  for (unsigned set = 1; set < 1U << phases.size(); ++set) {
    const int64_t products = Products(phases, set, columns, lanes), least = Products(phases, best, columns, lanes);
    if (products < least || (products == least && std::popcount(set) <= std::popcount(best))) best = set;
  }
  if (best == 0) return;
  const auto apart = static_cast<double>(Products(phases, 0, columns, lanes)),
             joined = static_cast<double>(Products(phases, best, columns, lanes));
  const bool pays = joined <= (1 - CpuCostsOf(target).joined_phases) * apart;
  Attempt(sch, choices, [&](Schedule& attempt, Choices& picked) {
    const Outcome<Choices::Pick> pick =
        picked.Take(attempt, kept->name + ".phases", {0, 1}, pays ? 1 : 0, {{"apart"}, {"joined"}});
    return pick.ok() && (pick->value == 0 || Join(attempt, block, phases, best, sides->column, columns));
  });
}

}  // namespace

void JoinPhases(Schedule& sch, const std::string& function, const Target& target, Choices& choices) {
  const std::vector<BlockRv> children = BlocksInRoot(sch, function);
  for (const BlockRv& block : children) JoinPhasesOf(sch, block, children, target, choices);
}

}  // namespace tilewright

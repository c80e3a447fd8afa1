#include "autoschedule/normalize/split_iterators.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/row_chain.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

struct Division {
  size_t iterator;
  int64_t divisor;
};

// Whether an index runs over the same elements as the iterator, period by period: `v // 2 * 2 + 1 - v % 2`.
bool KeepsPeriods(const Expr& index, const Var& iterator, int64_t period) {
  const Var quotient("quotient", iterator.dtype()), remainder("remainder", iterator.dtype());
  arith::Analyzer analyzer;
  analyzer.Bind(remainder, Range(Const(iterator.dtype(), 0), Const(iterator.dtype(), period)));
  const Expr whole = quotient * Const(iterator.dtype(), period);
  const Expr parted = analyzer.Simplify(Substitute(index, {{iterator, whole + remainder}}));
  const auto linear = arith::DetectLinear(parted, {quotient, remainder}, &analyzer);
  return linear && IsInt(linear->coefficients[0], period);
}

// Whether a remainder of the iterator is part of an index, without the quotient that belongs to it.
bool HasRemainderInIndex(const BlockNode& block, const Var& iterator) {
  bool found = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr) return !found;
    for (const Expr& index : load->indices) {
      PreOrder(index, [&](const Expr& part) {
        const auto* remainder = dyn_cast<BinaryNode>(part);
        if (found || remainder == nullptr || remainder->op != BinaryOp::kFloorMod || !remainder->a.same_as(iterator)) {
          return !found;
        }
        const auto period = AsInt(remainder->b);
        found = !period || !KeepsPeriods(index, iterator, *period);
        return !found;
      });
    }
    return !found;
  });
  return found;
}

// Whether nothing that is loaded could be used again in a sum: there is no sum, or some operand has an element for each
// instance of the block.
bool LoadsForEachInstance(const BlockNode& block) {
  bool found = std::ranges::none_of(block.iter_vars, [](const IterVar& v) { return v.kind == IterKind::kReduce; });
  PreOrderExprs(block.body, [&](const Expr& e) {
    if (!isa<LoadNode>(e) || cast<LoadNode>(e)->buffer.same_as(block.writes[0].buffer)) return !found;
    found |= std::ranges::all_of(block.iter_vars,
                                 [&](const IterVar& iter) { return ExtentOf(iter) == 1 || UsesVar(e, iter.var); });
    return !found;
  });
  return found;
}

// The iterator along which a block without reuse works on neighbours, which become vectors: that of a sum along them,
// or of what is stored, unless its parts are dimensions of what is loaded. Words of packed bits and scales of groups
// are not such dimensions. -1: there is none.
int NeighboursOf(const BlockNode& block) {
  if (block.writes.size() != 1 || !LoadsForEachInstance(block)) return -1;
  if (const int lanes = LaneIterator(block); lanes >= 0) return lanes;
  for (const Access& access : AccessesOf(block)) {
    for (size_t i = 0; access.store && i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      if (access.strides[i] == 1 && ExtentOf(iter) != 1 && !HasRemainderInIndex(block, iter.var)) {
        return static_cast<int>(i);
      }
    }
  }
  return -1;
}

// The greatest divisor of its extent by which the block divides an iterator, or by whose remainder it loads, if its
// parts are of use.
std::optional<Division> FindDivision(const BlockNode& block) {
  std::optional<Division> found;
  const int neighbours = NeighboursOf(block);
  const auto visit = [&](const Expr& e, BinaryOp op) {
    const auto* division = dyn_cast<BinaryNode>(e);
    if (division == nullptr || division->op != op) return true;
    const auto divisor = AsInt(division->b);
    for (size_t i = 0; divisor && i < block.iter_vars.size(); ++i) {
      if (static_cast<int>(i) == neighbours || !division->a.same_as(block.iter_vars[i].var)) continue;
      const auto extent = ExtentOf(block.iter_vars[i]);
      const bool divides = extent && *divisor > 1 && *extent > *divisor && *extent % *divisor == 0;
      if (divides && (!found || *divisor > found->divisor)) found = Division{i, *divisor};
    }
    return true;
  };
  PreOrderExprs(block.body, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) {
      for (const Expr& index : load->indices) {
        PreOrder(index, [&](const Expr& part) { return visit(part, BinaryOp::kFloorMod); });
      }
    }
    return visit(e, BinaryOp::kFloorDiv);
  });
  return found;
}

// Iterators that take part in an `e % s == 0`, with the period after which it repeats: s by the greatest common divisor
// of s and their coefficient in e.
std::vector<Division> FindPeriods(const BlockNode& block) {
  std::vector<Division> found;
  arith::Analyzer analyzer;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* equal = dyn_cast<BinaryNode>(e);
    if (equal == nullptr || equal->op != BinaryOp::kEQ) return true;
    const auto* modulo = dyn_cast<BinaryNode>(equal->a);
    const auto period = modulo != nullptr && modulo->op == BinaryOp::kFloorMod ? AsInt(modulo->b) : std::nullopt;
    for (size_t i = 0; period && i < block.iter_vars.size(); ++i) {
      const auto linear = arith::DetectLinear(modulo->a, {block.iter_vars[i].var}, &analyzer);
      const auto coefficient = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
      const int64_t own = coefficient ? *period / std::gcd(*coefficient, *period) : 1;
      if (own > 1) found.push_back({i, own});
    }
    return true;
  });
  return found;
}

// Whether the iterator runs over whole periods.
bool IsWhole(const IterVar& iter, int64_t period) {
  return arith::Analyzer().CanProveDivisible(iter.domain.extent, Const(iter.domain.extent.dtype(), period));
}

// The first of them that has more than one period, and nothing but whole ones.
std::optional<Division> FindPeriod(const BlockNode& block) {
  for (const Division& period : FindPeriods(block)) {
    const IterVar& iter = block.iter_vars[period.iterator];
    if (ExtentOf(iter) != period.divisor && IsWhole(iter, period.divisor)) return period;
  }
  return std::nullopt;
}

bool Split(Schedule& sch, BlockRv block, const std::optional<Division>& division) {
  return division && SplitIterator(sch, block, division->iterator, division->divisor);
}

// Fills the iterators up to whole periods: what is computed beyond the end of the output is not stored, weights beyond
// the end of a window are zero. Whether it did.
bool FillPeriods(Schedule& sch, BlockRv block) {
  const Block kept = RealizeOf(sch, block).block;
  const std::optional<SumForm> sum = AsSum(*kept);
  if (!sum || !kept->init) return false;
  Value::List padding(kept->iter_vars.size(), Value(1));
  std::vector<int64_t> wholes(kept->iter_vars.size(), 1);
  for (const Division& period : FindPeriods(*kept)) {
    int64_t& whole = wholes[period.iterator];
    whole = std::lcm(whole, period.divisor);
    padding[period.iterator] = Value(whole);
  }
  // The operands and the output get buffers that can be filled up.
  const std::vector<Expr> factors = FactorsOf(sum->term);
  if (factors.size() != 2) return false;
  const auto chosen = std::ranges::find_if(factors, [](const Expr& factor) {
    bool chooses = false;
    PreOrder(factor, [&](const Expr& e) {
      const auto* call = dyn_cast<CallNode>(e);
      chooses |= call != nullptr && call->op == kIfThenElse;
      return !chooses;
    });
    return chooses;
  });
  if (chosen == factors.end()) return false;
  const Outcome<std::vector<Rv>> cached =
      sch.Apply("cache_factors", {block, Value(Value::List{Value(chosen - factors.begin())})});
  if (!cached.ok()) return false;
  const BlockRv chooser{(*cached)[0]};
  const Buffer written = RealizeOf(sch, chooser).block->writes[0].buffer;
  const std::vector<BufferRegion>& reads = RealizeOf(sch, block).block->reads;
  const auto other = std::ranges::find_if(reads, [&](const BufferRegion& r) { return !r.buffer.same_as(written); });
  return sch.Reindex(block, Value::List{Value("read"), Value(other - reads.begin())}, Value::List{},
                     /*skip_simplify=*/true)
             .ok() &&
         sch.CacheWrite(block, 0, "global").ok() && sch.Apply("pad_einsum_in_place", {block, Value(padding)}).ok() &&
         sch.ComputeInline(chooser).ok();
}

void SkipZeroTerms(Schedule& sch, BlockRv block) {
  const Block kept = RealizeOf(sch, block).block;
  const std::vector<Division> periods = FindPeriods(*kept);
  if (periods.empty()) return;
  const bool whole = std::ranges::all_of(
      periods, [&](const Division& period) { return IsWhole(kept->iter_vars[period.iterator], period.divisor); });
  Schedule attempt = sch;
  if (!whole && !FillPeriods(attempt, block)) return;
  while (Split(attempt, block, FindPeriod(*RealizeOf(attempt, block).block))) {
  }
  if (attempt.Apply("skip_zero_terms", {block}).ok()) sch = std::move(attempt);
}

}  // namespace

bool SplitIterator(Schedule& sch, BlockRv block, size_t iterator, int64_t divisor) {
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t i = 0; i < RealizeOf(sch, block).block->iter_vars.size(); ++i) {
    inputs.emplace_back("i" + std::to_string(i));
    if (i == iterator) {
      outputs.push_back(FloorDiv(inputs.back(), divisor));
      outputs.push_back(FloorMod(inputs.back(), divisor));
    } else {
      outputs.push_back(inputs.back());
    }
  }
  return sch.TransformBlockLayout(block, IndexMap(std::move(inputs), std::move(outputs))).ok();
}

void SplitIterators(Schedule& sch, const std::string& function) {
  const std::vector<BlockRv> children = BlocksInRoot(sch, function);
  for (const BlockRv& block : children) {
    while (Split(sch, block, FindDivision(*RealizeOf(sch, block).block))) {
    }
    SkipZeroTerms(sch, block);
  }
}

bool FuseIterators(Schedule& sch, BlockRv block, size_t inner, int64_t extent) {
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t i = 0; i < RealizeOf(sch, block).block->iter_vars.size(); ++i) {
    inputs.emplace_back("i" + std::to_string(i));
    if (i == inner) {
      outputs.back() = inputs[i - 1] * static_cast<int>(extent) + inputs.back();
    } else {
      outputs.push_back(inputs.back());
    }
  }
  return sch.TransformBlockLayout(block, IndexMap(std::move(inputs), std::move(outputs))).ok();
}

}  // namespace tilewright

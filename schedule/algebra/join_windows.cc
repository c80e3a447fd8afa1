#include "schedule/algebra/join_windows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/arith/region.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "schedule/algebra/conditional_factor.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/simplify_block.h"
#include "schedule/program/sum_form.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "join_windows";
// Values of the iterator and of the reduction that are looked at one by one.
constexpr int64_t kMostValues = 64;

Expr BelowCasts(const Expr& e, const Expr& condition) {
  if (const auto* cast_node = dyn_cast<CastNode>(e)) {
    return CastTo(e.dtype(), BelowCasts(cast_node->value, condition));
  }
  return IfThenElse(condition, e, Const(e.dtype(), 0));
}

class Joiner {
 public:
  Joiner(const BlockNode& block, const BlockScope& scope, const StoreNode& store, size_t iterator,
         std::optional<size_t> reduction)
      : block_(block), scope_(scope), store_(store), iterator_(block.iter_vars[iterator]) {
    if (reduction) reduction_ = block.iter_vars[*reduction];
    values_ = *AsInt(iterator_.domain.extent);
    taps_ = reduction ? *AsInt(reduction_.domain.extent) : 1;
    joined_ = Var(reduction ? reduction_.var.name() : "window", iterator_.var.dtype());
    BindIterators(block.iter_vars, &analyzer_);
  }

  // Whether the iterator shifts where `factor` is read along the reduction, and nothing else.
  bool FindWindows(const Expr& factor) {
    std::vector<Expr> conditions;
    core_ = WithoutConditions(factor, &conditions);
    kept_.clear();
    own_.clear();
    for (const Expr& condition : conditions) {
      if (UsesOthers(condition)) {
        if (!OnlyLeavesOutUnread(condition)) kept_.push_back(condition);
      } else {
        own_.push_back(condition);
      }
    }
    if (!FindShifts()) return false;
    std::set<int64_t> reached;
    reach_.clear();
    for (int64_t value = 0; value < values_; ++value) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        const VarMap at = At(value, Const(joined_.dtype(), tap));
        const bool used = std::ranges::all_of(
            own_, [&](const Expr& condition) { return IsTrue(analyzer_.Simplify(Substitute(condition, at))); });
        if (!used) continue;
        reached.insert(tap + shifts_[static_cast<size_t>(value)]);
        if (reach_.empty() || reach_.back() != value) reach_.push_back(value);
      }
    }
    if (reached.empty()) return false;
    first_ = *reached.begin();
    extent_ = *reached.rbegin() - first_ + 1;
    has_gaps_ = extent_ != static_cast<int64_t>(reached.size());
    analyzer_.Bind(joined_, Domain());
    return FindJoined();
  }

  bool has_gaps() const { return has_gaps_; }
  const Var& joined() const { return joined_; }
  Range Domain() const { return {Const(joined_.dtype(), 0), Const(joined_.dtype(), extent_)}; }
  arith::Analyzer* analyzer() { return &analyzer_; }

  // Whether what is read in windows of all stays inside of its buffer; only dropped conditions could have seen to that,
  // for indices of their iterators and of those that other conditions connect with them.
  bool StaysInside() {
    if (dropped_.empty()) return true;
    std::vector<Var> guarded;
    const auto uses_guarded = [&](const Expr& e) {
      return std::ranges::any_of(guarded, [&](const Var& var) { return UsesVar(e, var); });
    };
    const auto guard = [&](const Expr& condition) {
      for (const IterVar& iter : block_.iter_vars) {
        if (UsesVar(condition, iter.var)) guarded.push_back(iter.var);
      }
    };
    for (const Expr& condition : dropped_) guard(condition);
    std::vector<Expr> others = joined_conditions_;
    for (auto it = others.begin(); it != others.end();) {
      if (!uses_guarded(*it)) {
        ++it;
        continue;
      }
      guard(*it);
      others.erase(it);
      it = others.begin();
    }
    arith::Analyzer::Scope inside(&analyzer_);
    for (const Expr& condition : joined_conditions_) analyzer_.Assume(condition);
    bool stays = true;
    PreOrder(joined_core_, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      for (size_t d = 0; load != nullptr && d < load->indices.size(); ++d) {
        const Expr& index = load->indices[d];
        if (!uses_guarded(index)) continue;
        stays = stays && analyzer_.CanProve(Const(index.dtype(), 0) <= index) &&
                analyzer_.CanProve(index < load->buffer->shape[d]);
      }
      return stays;
    });
    return stays;
  }

  Expr Joined() const {
    return joined_conditions_.empty() ? joined_core_ : BelowCasts(joined_core_, AllOf(joined_conditions_));
  }

  // The other factor, zero outside of the windows of each value.
  Expr Other(const Expr& factor) {
    VarMap values;
    std::vector<Expr> conditions;
    if (reduction_.var) {
      const Expr tap = CastTo(reduction_.var.dtype(), analyzer_.Simplify(joined_ - ShiftOf()));
      values[reduction_.var] = tap;
      conditions = {Const(tap.dtype(), 0) <= tap, tap < Const(tap.dtype(), taps_)};
    }
    for (const Expr& condition : own_) conditions.push_back(Substitute(condition, values));
    for (Expr& condition : conditions) condition = analyzer_.Simplify(condition);
    std::erase_if(conditions, [&](const Expr& condition) { return analyzer_.CanProve(condition); });
    const Expr other = Substitute(factor, values);
    return conditions.empty() ? other : BelowCasts(other, AllOf(conditions));
  }

 private:
  // Whether an expression uses iterators other than the two.
  bool UsesOthers(const Expr& e) const {
    return std::ranges::any_of(block_.iter_vars, [&](const IterVar& iter) {
      return !iter.var.same_as(iterator_.var) && !iter.var.same_as(reduction_.var) && UsesVar(e, iter.var);
    });
  }

  // Whether a condition `index < constant` holds for all that is read of what the block stores.
  bool OnlyLeavesOutUnread(const Expr& condition) {
    const auto* less = dyn_cast<BinaryNode>(condition);
    if (less == nullptr || less->op != BinaryOp::kLT || !AsInt(less->b) || !UsesVar(less->a, iterator_.var)) {
      return false;
    }
    const auto at =
        std::ranges::find_if(store_.indices, [&](const Expr& index) { return StructuralEqual(index, less->a); });
    const auto& local = scope_.block()->alloc_buffers;
    if (at == store_.indices.end() ||
        std::ranges::none_of(local, [&](const Buffer& b) { return b.same_as(store_.buffer); })) {
      return false;
    }
    const auto dim = static_cast<size_t>(at - store_.indices.begin());
    for (const ScopeChild& child : scope_.children()) {
      if (child.id() == block_.id) continue;
      arith::Analyzer analyzer;
      arith::Domain domain;
      for (const IterVar& iter : child.realize->block->iter_vars) domain.push_back({iter.var, iter.domain});
      for (const BufferRegion& read : child.realize->block->reads) {
        if (!read.buffer.same_as(store_.buffer)) continue;
        const std::optional<arith::Region> touched = arith::MayTouch(read.region, domain, Expr(), &analyzer);
        if (!touched || !analyzer.CanProve((*touched)[dim].min + (*touched)[dim].extent <= less->b)) return false;
      }
    }
    dropped_.push_back(condition);
    return true;
  }

  // How far each value of the iterator shifts the first index that it is in. It may be in conditions alone.
  bool FindShifts() {
    Expr index;
    PreOrder(core_, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      for (size_t d = 0; load != nullptr && d < load->indices.size() && !index; ++d) {
        if (UsesVar(load->indices[d], iterator_.var)) index = load->indices[d];
      }
      return !index;
    });
    if (!index && own_.empty()) return false;
    base_ = index ? index : Const(joined_.dtype(), 0);
    if (index && reduction_.var) {
      const auto linear = arith::DetectLinear(index, {reduction_.var}, &analyzer_);
      if (!linear || !IsInt(linear->coefficients[0], 1)) return false;
      base_ = linear->base;
    }
    const Expr start = Substitute(base_, At(0, Expr()));
    shifts_.clear();
    for (int64_t value = 0; value < values_; ++value) {
      const auto shift = AsInt(analyzer_.Simplify(Substitute(base_, At(value, Expr())) - start));
      if (!shift) return false;
      shifts_.push_back(*shift);
    }
    return true;
  }

  // The iterator at a value, and the reduction at `tap` where that is not null.
  VarMap At(int64_t value, const Expr& tap) const {
    VarMap values{{iterator_.var, Const(iterator_.var.dtype(), value)}};
    if (reduction_.var && tap) values[reduction_.var] = CastTo(reduction_.var.dtype(), tap);
    return values;
  }

  // The factor in the window of all; the same for each value that has a window.
  bool FindJoined() {
    joined_conditions_.clear();
    for (const int64_t value : reach_) {
      const VarMap at = At(value, joined_ + Const(joined_.dtype(), first_ - shifts_[static_cast<size_t>(value)]));
      const Expr core = SimplifyIndices(Substitute(core_, at), &analyzer_);
      std::vector<Expr> conditions;
      for (const Expr& condition : kept_) conditions.push_back(analyzer_.Simplify(Substitute(condition, at)));
      std::erase_if(conditions, [](const Expr& condition) { return IsTrue(condition); });
      if (value == reach_[0]) {
        joined_core_ = core;
        joined_conditions_ = conditions;
      }
      if (!StructuralEqual(core, joined_core_) || conditions.size() != joined_conditions_.size()) return false;
      for (size_t i = 0; i < conditions.size(); ++i) {
        if (!StructuralEqual(conditions[i], joined_conditions_[i])) return false;
      }
    }
    return true;
  }

  // From the joined window's begin to that of the iterator's value.
  Expr ShiftOf() {
    const int64_t step = values_ > 1 ? shifts_[1] - shifts_[0] : 0;
    bool is_linear = true;
    for (size_t i = 0; i < shifts_.size(); ++i) is_linear &= shifts_[i] == static_cast<int64_t>(i) * step;
    const DataType dtype = joined_.dtype();
    const Expr shift = is_linear ? CastTo(dtype, iterator_.var) * Const(dtype, step)
                                 : CastTo(dtype, base_ - Substitute(base_, At(0, Expr())));
    return analyzer_.Simplify(shift - Const(dtype, first_));
  }

  const BlockNode& block_;
  const BlockScope& scope_;
  const StoreNode& store_;
  const IterVar iterator_;
  IterVar reduction_;  // without a variable: none
  int64_t values_ = 0, taps_ = 0;
  Var joined_;
  arith::Analyzer analyzer_;

  Expr core_, base_;  // the factor, and what its shifted index adds to the reduction
  std::vector<Expr> kept_, own_;
  std::vector<Expr> dropped_;
  bool has_gaps_ = false;
  std::vector<int64_t> shifts_, reach_;  // for each value; the values that have a window
  int64_t first_ = 0, extent_ = 0;
  Expr joined_core_;
  std::vector<Expr> joined_conditions_;
};

// The position of an iterator of that kind that counts a constant number from 0.
bool Counts(const BlockNode& block, int64_t position, IterKind kind) {
  if (position < 0 || position >= static_cast<int64_t>(block.iter_vars.size())) return false;
  const IterVar& iter = block.iter_vars[static_cast<size_t>(position)];
  const auto extent = AsInt(iter.domain.extent);
  return iter.kind == kind && IsInt(iter.domain.min, 0) && extent && *extent <= kMostValues;
}

}  // namespace

Outcome<JoinWindowsResult> JoinWindows(const Function& function, uint32_t block_id, int64_t iterator,
                                       int64_t reduction) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  const BlockScope scope = BlockScope::Around(function, block_id);
  if (auto reason = WhyNotReduction(scope, *scope.Find(block_id))) {
    return Refusal{kName, "{block0} is not a reduction: {text0}", {block_id}, {}, {*reason}};
  }
  const std::optional<SumForm> sum = AsSum(block);
  const std::vector<Expr> factors = sum ? FactorsOf(sum->term) : std::vector<Expr>();
  if (factors.size() != 2) return Refusal{kName, "{block0} does not add products of two factors", {block_id}};
  if (!Counts(block, iterator, IterKind::kSpatial) ||
      (reduction != -1 && !Counts(block, reduction, IterKind::kReduce))) {
    return Refusal{
        kName,
        "{num0} and {num1} are not a spatial and a reduce iterator of {block0} that count up to {num2} from 0",
        {block_id},
        {},
        {},
        {iterator, reduction, kMostValues}};
  }
  const std::optional<size_t> taps = reduction == -1 ? std::nullopt : std::optional(static_cast<size_t>(reduction));
  Joiner first(block, scope, *sum->store, static_cast<size_t>(iterator), taps);
  Joiner second(block, scope, *sum->store, static_cast<size_t>(iterator), taps);
  const bool is_first = first.FindWindows(factors[0]);
  if (!is_first && !second.FindWindows(factors[1])) {
    return Refusal{kName,
                   "{text0} shifts no factor of {block0} along the reduction, and nothing else",
                   {block_id},
                   {},
                   {block.iter_vars[static_cast<size_t>(iterator)].var.name()}};
  }
  Joiner& joiner = is_first ? first : second;
  if (joiner.has_gaps()) return Refusal{kName, "there are gaps between the windows of {block0}", {block_id}};
  if (!joiner.StaysInside()) {
    return Refusal{kName, "conditions of {block0} that leave out what nobody reads guard an access", {block_id}};
  }
  const Expr joined = joiner.Joined(), other = joiner.Other(factors[is_first ? 1 : 0]);

  BlockNode::Fields fields = block.fields();
  std::vector<Expr> bindings = realize->bindings;
  std::vector<ForNode::Fields> loops;
  for (const ForNode* loop : LoopsAbove(path)) {
    loops.push_back(loop->fields());
    if (!taps || !realize->bindings[*taps].same_as(loop->var)) continue;
    loops.back().var = Var(loop->var.name(), joiner.joined().dtype());
    loops.back().extent = joiner.Domain().extent;
    bindings[*taps] = loops.back().var;
    fields.iter_vars[*taps] = {joiner.joined(), joiner.Domain(), IterKind::kReduce};
  }
  const StoreNode& store = *sum->store;
  fields.body = Store(store.buffer, store.buffer.Load(store.indices) + (is_first ? joined * other : other * joined),
                      store.indices);
  ReplaceInBlock(&fields, {}, joiner.analyzer());
  Stmt nest = Nest(std::move(loops), Realize(std::move(bindings), True(), TouchingBlock(std::move(fields))));
  return JoinWindowsResult{ReplaceIn(function, OutermostOwnLoop(path), nest, function->next_id)};
}

}  // namespace tilewright

#include "codegen/lower/gpu/thread_combiner.h"

#include <algorithm>

#include "codegen/lower/gpu/kernel_accesses.h"
#include "ir/arith/analyzer.h"

namespace tilewright {
namespace {

// The statements around one reduction.
class ThreadCombiner {
 public:
  ThreadCombiner(const ThreadReductionPlan& reduction, int64_t warp_size, uint32_t* next_id)
      : reduction_(reduction), warp_size_(warp_size), next_id_(next_id) {
    const Expr thread = reduction.digits.Thread();
    lane_ = arith::Simplify(FloorMod(thread, Expr(warp_size_)));
  }
  bool uses_warp = false, uses_shared = false;

  Stmt Start() {
    return ForEachElement([&](const std::vector<Expr>& index, const VarMap& loops) {
      std::vector<Stmt> stores;
      for (size_t i = 0; i < Count(); ++i) {
        stores.push_back(Store(reduction_.parts[i], Outside(Component(i).identity, loops), index));
      }
      return Sequence(std::move(stores));
    });
  }

  // An instance: what replaces the block.
  Stmt Update() const {
    const std::vector<Expr> index = PartIndex({});
    std::vector<Expr> values;
    for (size_t i = 0; i < Count(); ++i) values.push_back(Substitute(Component(i).value, reduction_.values));
    const Stmt update = CombineInto(reduction_.reducer, PartsAt(index), values);
    return IsTrue(reduction_.condition) ? update : If(reduction_.condition, update);
  }

  Stmt Finish() {
    return ForEachElement([&](const std::vector<Expr>& index, const VarMap& loops) {
      element_loops_ = loops;
      return Sequence({Combine(index), StoreResult(index, loops)});
    });
  }

 private:
  size_t Count() const { return reduction_.reducer.components.size(); }
  const Reducer::Component& Component(size_t i) const { return reduction_.reducer.components[i]; }
  // What stands in terms of the block's iterators, outside of the loops of the reduction.
  Expr Outside(const Expr& e, const VarMap& loops) const { return Substitute(Substitute(e, reduction_.values), loops); }

  std::vector<Expr> PartIndex(const VarMap& loops) const {
    std::vector<Expr> index;
    for (const ForNode* loop : reduction_.spatial) index.push_back(Substitute(loop->var - loop->min, loops));
    if (index.empty()) index.push_back(Expr(0));
    for (Expr& each : index) each = arith::Simplify(each);
    return index;
  }
  std::vector<Element> PartsAt(const std::vector<Expr>& index) const {
    std::vector<Element> parts;
    for (const Buffer& part : reduction_.parts) parts.push_back({part, index});
    return parts;
  }

  template <class Body>
  Stmt ForEachElement(Body body) {
    VarMap loops;
    std::vector<Var> vars;
    for (const ForNode* loop : reduction_.spatial) {
      vars.push_back(Var(loop->var.name(), loop->var.dtype()));
      loops[loop->var] = vars.back();
    }
    Stmt result = body(PartIndex(loops), loops);
    for (size_t i = vars.size(); i-- > 0;) {
      ForNode::Fields fields;
      fields.id = (*next_id_)++;
      fields.var = vars[i];
      fields.min = reduction_.spatial[i]->min;
      fields.extent = reduction_.spatial[i]->extent;
      if (reduction_.spatial[i]->kind == ForKind::kUnrolled) fields.kind = ForKind::kUnrolled;
      fields.body = std::move(result);
      result = For(std::move(fields));
    }
    return result;
  }

  // All threads of a group hold the group's result.
  Stmt Combine(const std::vector<Expr>& index) {
    const ThreadDigits& digits = reduction_.digits;
    const int64_t members = digits.members;
    const bool power = (members & (members - 1)) == 0;
    if (members == 1) return Sequence({});
    if (digits.neighbours && power && members <= warp_size_) return InWarp(index, members);
    if (digits.neighbours && members % warp_size_ == 0) return OverWarps(index, members / warp_size_);
    return Tree(index, members);
  }

  // Lanes exchange their parts with those of the lane whose number differs in one bit.
  Stmt InWarp(const std::vector<Expr>& index, int64_t lanes) {
    uses_warp = true;
    std::vector<Stmt> steps;
    for (int64_t bit = 1; bit < lanes; bit *= 2) {  // neighbours first: the order of values is kept
      std::vector<Expr> others;
      for (size_t i = 0; i < Count(); ++i) {
        steps.push_back(Store(reduction_.warp[i], reduction_.parts[i].Load(index), {lane_}));
        const Expr partner = Call(lane_.dtype(), "bitwise_xor", {lane_, Const(lane_.dtype(), bit)});
        others.push_back(reduction_.warp[i].Load({partner}));
      }
      steps.push_back(CombineBoth(index, others, FloorMod(FloorDiv(lane_, Expr(bit)), Expr(2)) == 0));
    }
    return Sequence(std::move(steps));
  }

  // If the order of the operands counts, both partners take the part of the lower lane first.
  Stmt CombineBoth(const std::vector<Expr>& index, const std::vector<Expr>& others, const Expr& is_lower) const {
    if (!reduction_.reducer.in_order) return CombineInto(reduction_.reducer, PartsAt(index), others);
    VarMap operands;
    std::vector<Var> vars;
    std::vector<std::pair<Var, Expr>> lets;
    for (size_t i = 0; i < Count(); ++i) {
      const std::string& name = reduction_.parts[i]->name;
      const Var own(name + "_own", reduction_.parts[i]->dtype), other(name + "_other", reduction_.parts[i]->dtype);
      lets.push_back({own, reduction_.parts[i].Load(index)});
      lets.push_back({other, others[i]});
      operands[Component(i).old] = Select(is_lower, own, other);
      operands[Component(i).fresh] = Select(is_lower, other, own);
    }
    std::vector<Stmt> stores;
    for (size_t i = 0; i < Count(); ++i) {
      stores.push_back(Store(reduction_.parts[i], Substitute(Component(i).combined, operands), index));
    }
    Stmt body = Sequence(std::move(stores));
    for (size_t i = lets.size(); i-- > 0;) body = LetStmt(lets[i].first, lets[i].second, body);
    return body;
  }

  // Each warp by itself, then each warp of the group the results of all of them.
  Stmt OverWarps(const std::vector<Expr>& index, int64_t warps) {
    std::vector<Stmt> steps = {InWarp(index, warp_size_)};
    if (warps > warp_size_) return Tree(index, reduction_.digits.members);
    uses_shared = true;
    int64_t lanes = 1;
    while (lanes < warps) lanes *= 2;
    const Expr thread = reduction_.digits.Thread();
    const Expr warp = arith::Simplify(FloorDiv(thread, Expr(warp_size_)));
    const Expr of_group = arith::Simplify(FloorMod(lane_, Expr(lanes)));
    const Expr first = arith::Simplify(FloorDiv(thread, Expr(warps * warp_size_)) * Expr(warps));
    std::vector<Stmt> stores, loads;
    for (size_t i = 0; i < Count(); ++i) {
      stores.push_back(Store(reduction_.shared[i], reduction_.parts[i].Load(index), {warp}));
      Expr value = reduction_.shared[i].Load({first + of_group});
      if (lanes != warps)
        value = IfThenElse(of_group < Expr(warps), value, Outside(Component(i).identity, element_loops_));
      loads.push_back(Store(reduction_.parts[i], value, index));
    }
    steps.push_back(If(lane_ == 0, Sequence(std::move(stores))));
    steps.push_back(Sequence(std::move(loads)));
    steps.push_back(InWarp(index, lanes));
    return Sequence(std::move(steps));
  }

  // How far apart the partners of each step are. Where order counts, neighbours come first.
  std::vector<int64_t> Strides(int64_t members) const {
    std::vector<int64_t> strides;
    for (int64_t stride = 1; stride < members; stride *= 2) strides.push_back(stride);
    if (!reduction_.reducer.in_order) std::reverse(strides.begin(), strides.end());
    return strides;
  }

  Stmt Tree(const std::vector<Expr>& index, int64_t members) {
    uses_shared = true;
    const Expr member = reduction_.digits.Member();
    const Expr place = arith::Simplify(reduction_.digits.Group() * Expr(members) + member);
    const Expr first = arith::Simplify(reduction_.digits.Group() * Expr(members));
    std::vector<Stmt> steps;
    std::vector<Element> own;
    for (size_t i = 0; i < Count(); ++i) {
      steps.push_back(Store(reduction_.shared[i], reduction_.parts[i].Load(index), {place}));
      own.push_back({reduction_.shared[i], {place}});
    }
    for (int64_t stride : Strides(members)) {
      std::vector<Expr> others;
      for (const Buffer& shared : reduction_.shared) others.push_back(shared.Load({place + Expr(stride)}));
      Expr condition = member < Expr(std::min(stride, members - stride));
      if (reduction_.reducer.in_order) {
        condition = And(FloorMod(member, Expr(stride * 2)) == 0, member < Expr(members - stride));
      } else {
        members = stride;
      }
      steps.push_back(If(condition, CombineInto(reduction_.reducer, own, others)));
    }
    for (size_t i = 0; i < Count(); ++i) {
      steps.push_back(Store(reduction_.parts[i], reduction_.shared[i].Load({first}), index));
    }
    return Sequence(std::move(steps));
  }

  Stmt StoreResult(const std::vector<Expr>& index, const VarMap& loops) const {
    std::vector<Element> targets;
    std::vector<Expr> inits, totals;
    bool of_thread = true, starts_neutral = true;
    for (size_t i = 0; i < Count(); ++i) {
      const Element& target = Component(i).accumulator;
      std::vector<Expr> indices;
      for (const Expr& each : target.indices) indices.push_back(Outside(each, loops));
      targets.push_back({target.buffer, indices});
      inits.push_back(Outside(Component(i).init, loops));
      totals.push_back(reduction_.parts[i].Load(index));
      of_thread &= MemoryOwner(target.buffer->scope) == OwnerLevel::kThread;
      starts_neutral &= Component(i).init.same_as(Component(i).identity) || IsSame(i);
    }
    Stmt store = StoreInto(targets, totals);
    if (!starts_neutral) {
      VarMap operands;
      for (size_t i = 0; i < Count(); ++i) {
        operands[Component(i).old] = inits[i];
        operands[Component(i).fresh] = totals[i];
      }
      std::vector<Expr> values;
      for (size_t i = 0; i < Count(); ++i) values.push_back(Substitute(Component(i).combined, operands));
      store = StoreInto(targets, values);
    }
    Expr condition = Outside(reduction_.element_condition, loops);
    if (!of_thread) condition = And(condition, reduction_.digits.IsLeader());
    return IsTrue(condition) ? store : If(condition, store);
  }
  bool IsSame(size_t i) const {
    const auto* a = dyn_cast<FloatImmNode>(Component(i).init);
    const auto* b = dyn_cast<FloatImmNode>(Component(i).identity);
    if (a != nullptr && b != nullptr) return a->value == b->value;
    const auto x = AsInt(Component(i).init), y = AsInt(Component(i).identity);
    return x && y && *x == *y;
  }

  const ThreadReductionPlan& reduction_;
  const int64_t warp_size_;
  uint32_t* next_id_;
  Expr lane_;
  VarMap element_loops_;  // loops of the reduction to those of Finish
};

}  // namespace

CombinedParts CombineParts(const ThreadReductionPlan& plan, int64_t warp_size, uint32_t* next_id) {
  ThreadCombiner combiner(plan, warp_size, next_id);
  CombinedParts parts;
  parts.start = combiner.Start();
  parts.finish = combiner.Finish();
  parts.uses_warp = combiner.uses_warp;
  parts.uses_shared = combiner.uses_shared;
  return parts;
}

Stmt UpdateParts(const ThreadReductionPlan& plan) { return ThreadCombiner(plan, /*warp_size=*/1, nullptr).Update(); }

}  // namespace tilewright

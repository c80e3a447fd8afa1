#include "codegen/lower/gpu/cross_thread_reduction.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/thread_digits.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/reducer.h"
#include "ir/substitute.h"
#include "ir/thread_reductions.h"

namespace tilewright {
namespace {

constexpr int64_t kWarpSize = 32;

void TakeApart(const Expr& condition, std::vector<Expr>* conjuncts) {
  const auto* both = dyn_cast<BinaryNode>(condition);
  if (both != nullptr && both->op == BinaryOp::kAnd && condition.dtype().is_scalar()) {
    TakeApart(both->a, conjuncts);
    TakeApart(both->b, conjuncts);
  } else if (!IsTrue(condition)) {
    conjuncts->push_back(condition);
  }
}

// A reduction of threads: where it stands and what it consists of.
struct Reduction {
  const BlockRealizeNode* realize;
  Reducer reducer;
  ThreadDigits digits;
  VarMap values;                        // of the block's iterators, in terms of loops
  const StmtNode* whole;                // the statement after which all of it was seen
  std::vector<const ForNode*> spatial;  // loops inside of `whole` that choose the element, outermost first
  Expr element_condition;               // of the element, in terms of loops
  Expr condition;                       // of an instance: the block's predicate
  std::vector<Buffer> parts;            // of each thread, one for each component
  std::vector<Buffer> warp, shared;     // one for each component, where they are used
};

class Finder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  explicit Finder(const BufferScopes& scopes, const Function& function) : scopes_(scopes) {
    for (const ThreadReduction& reduction : FindThreadReductions(function)) blocks_[reduction.block] = true;
  }
  std::vector<Reduction> found;
  absl::Status status;

 protected:
  void VisitFor(const ForNode* op) override {
    path_.push_back(op);
    StmtVisitor::VisitFor(op);
    path_.pop_back();
  }
  void VisitIf(const IfNode* op) override {
    conditions_.push_back({path_.size(), Now(op->condition)});
    StmtVisitor::VisitIf(op);
    conditions_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VarMap own;
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const Var& var = op->block->iter_vars[i].var;
      own[var] = CastTo(var.dtype(), Now(op->bindings[i]));
    }
    for (const auto& [var, value] : own) values_[var] = value;
    if (blocks_.contains(op->block.get())) Add(op);
    conditions_.push_back({path_.size(), Now(op->predicate)});
    StmtVisitor::VisitBlockRealize(op);
    conditions_.pop_back();
  }

 private:
  Expr Now(const Expr& e) const { return values_.empty() || !e ? e : Substitute(e, values_); }

  void Refuse(const BlockNode& block, const std::string& reason) {
    if (status.ok()) status = absl::InvalidArgumentError(absl::StrCat("block ", block.name, ": ", reason));
  }

  void Add(const BlockRealizeNode* op) {
    const BlockNode& block = *op->block;
    std::variant<Reducer, NoReducer> reducer = DetectReducer(block);
    if (const auto* problem = std::get_if<NoReducer>(&reducer)) {
      return Refuse(block, absl::StrCat("threads reduce together, but ", ToString(*problem, block.name)));
    }
    Reduction reduction{.realize = op, .reducer = std::get<Reducer>(std::move(reducer)), .whole = op};
    std::vector<Expr> reduced, spatial;
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const Var& var = block.iter_vars[i].var;
      reduction.values[var] = values_.at(var);
      (block.iter_vars[i].kind == IterKind::kReduce ? reduced : spatial).push_back(values_.at(var));
    }
    std::string loop;
    std::vector<const ForNode*> threads;
    for (const ForNode* each : path_) {
      if (each->thread_tag.starts_with("threadIdx")) threads.push_back(each);
      if (!each->thread_tag.starts_with("blockIdx")) continue;
      for (const Expr& e : reduced) {
        if (UsesVar(e, each->var)) {
          return Refuse(block, absl::StrCat("the blocks of loop ", each->var.name(),
                                            " reduce together, and blocks do not wait for each other (use rfactor)"));
        }
      }
    }
    auto digits = FindThreadDigits(threads, reduced, spatial, &loop);
    if (!digits) {
      return Refuse(block, absl::StrCat("some of the threads of loop ", loop,
                                        " reduce together and choose the element at the same time"));
    }
    reduction.digits = *std::move(digits);
    FindWhole(reduced, spatial, &reduction);
    if (!FindConditions(spatial, reduced, &reduction)) return;
    if (!OutputsAreOwn(reduction)) return;
    MakeParts(&reduction);
    found.push_back(std::move(reduction));
  }

  // The outermost serial loop that what is reduced depends on, and the loops in it that choose the element.
  void FindWhole(const std::vector<Expr>& reduced, const std::vector<Expr>& spatial, Reduction* reduction) {
    const auto uses = [](const std::vector<Expr>& exprs, const ForNode* loop) {
      return std::any_of(exprs.begin(), exprs.end(), [&](const Expr& e) { return UsesVar(e, loop->var); });
    };
    size_t first = path_.size();
    for (size_t i = 0; i < path_.size() && first == path_.size(); ++i) {
      if (path_[i]->kind != ForKind::kThreadBound && uses(reduced, path_[i])) first = i;
    }
    depth_of_whole_ = first;
    if (first == path_.size()) return;
    reduction->whole = path_[first];
    for (size_t i = first; i < path_.size(); ++i) {
      if (!uses(spatial, path_[i])) continue;
      reduction->spatial.push_back(path_[i]);
      if (uses(reduced, path_[i])) {
        Refuse(*reduction->realize->block,
               absl::StrCat("loop ", path_[i]->var.name(), " chooses the element and what is reduced"));
      }
      if (!AsInt(path_[i]->extent) || !AsInt(path_[i]->min)) {
        Refuse(*reduction->realize->block,
               absl::StrCat("loop ", path_[i]->var.name(),
                            ", inside of the reduction, has an extent that is no constant"));
      }
    }
  }

  // Conditions of the element, which decide whether it is stored, and of what is reduced.
  bool FindConditions(const std::vector<Expr>& spatial, const std::vector<Expr>& reduced, Reduction* reduction) {
    std::vector<Expr> conjuncts;
    for (const auto& [depth, condition] : conditions_) {
      if (depth > depth_of_whole_) TakeApart(condition, &conjuncts);
    }
    TakeApart(Now(reduction->realize->predicate), &conjuncts);
    reduction->condition = Now(reduction->realize->predicate);
    reduction->element_condition = True();
    for (const Expr& conjunct : conjuncts) {
      const bool of_reduced = UsesVar(conjunct, [&](const VarNode* var) {
        for (const ThreadDigit& digit : reduction->digits.digits) {
          if (digit.reduces && digit.extent > 1 && UsesVar(digit.value, Var(var))) return true;
        }
        return std::any_of(
            path_.begin() + static_cast<ptrdiff_t>(depth_of_whole_), path_.end(), [&](const ForNode* loop) {
              const bool chooses =
                  std::find(reduction->spatial.begin(), reduction->spatial.end(), loop) != reduction->spatial.end();
              return loop->var.get() == var && !chooses;
            });
      });
      if (!of_reduced) {
        reduction->element_condition = And(reduction->element_condition, conjunct);
        continue;
      }
      const bool of_element = UsesVar(conjunct, [&](const VarNode* var) {
        return std::any_of(spatial.begin(), spatial.end(), [&](const Expr& e) { return UsesVar(e, Var(var)); }) &&
               std::none_of(reduced.begin(), reduced.end(), [&](const Expr& e) { return UsesVar(e, Var(var)); });
      });
      if (of_element) {
        Refuse(*reduction->realize->block, "a condition of its instances mixes what is reduced and the element");
        return false;
      }
    }
    return true;
  }

  // Nothing else inside of the whole reduction may see its outputs, which are complete only after it.
  bool OutputsAreOwn(const Reduction& reduction) {
    const auto* loop = dyn_cast<ForNode>(reduction.whole);
    if (loop == nullptr) return true;
    bool others = false;
    for (const Reducer::Component& component : reduction.reducer.components) {
      const VarNode* data = component.accumulator.buffer->data.get();
      PreOrder(loop->body, [&](const Stmt& s) {
        const auto* realize = dyn_cast<BlockRealizeNode>(s);
        if (realize == nullptr || realize == reduction.realize) return realize == nullptr;
        bool nested = false;
        PreOrder(realize->block->body, [&](const Stmt& inner) {
          nested |= inner.get() == reduction.realize;
          return !nested;
        });
        if (nested) return true;
        for (const KernelAccess& access : AccessesOf(s, scopes_).list) others |= access.data == data;
        return false;
      });
    }
    if (others) Refuse(*reduction.realize->block, "another block uses its output before the threads have reduced it");
    return !others;
  }

  void MakeParts(Reduction* reduction) {
    std::vector<Expr> shape;
    for (const ForNode* loop : reduction->spatial) shape.push_back(loop->extent);
    if (shape.empty()) shape.push_back(Expr(1));
    const ThreadDigits& digits = reduction->digits;
    for (const Reducer::Component& component : reduction->reducer.components) {
      const std::string& name = component.accumulator.buffer->name;
      const DataType type = component.accumulator.buffer->dtype;
      reduction->parts.push_back(Buffer(name + "_part", shape, type, Scope::Parse("local")));
      reduction->warp.push_back(Buffer(name + "_warp", {Expr(kWarpSize)}, type, Scope::Parse("warp")));
      reduction->shared.push_back(Buffer(name + "_threads", {Expr(digits.threads)}, type, Scope::Parse("shared")));
    }
  }

  const BufferScopes& scopes_;
  std::unordered_map<const BlockNode*, bool> blocks_;
  std::vector<const ForNode*> path_;
  std::vector<std::pair<size_t, Expr>> conditions_;  // with the number of loops around
  VarMap values_;
  size_t depth_of_whole_ = 0;
};

// The statements around one reduction.
class Combiner {
 public:
  Combiner(const Reduction& reduction, uint32_t* next_id) : reduction_(reduction), next_id_(next_id) {
    const Expr thread = reduction.digits.Thread();
    lane_ = arith::Simplify(FloorMod(thread, Expr(kWarpSize)));
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
    if (digits.neighbours && power && members <= kWarpSize) return InWarp(index, members);
    if (digits.neighbours && members % kWarpSize == 0) return OverWarps(index, members / kWarpSize);
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

  // Where the order of the operands counts, both partners take the part of the lower lane first.
  Stmt CombineBoth(const std::vector<Expr>& index, const std::vector<Expr>& others, const Expr& is_lower) const {
    if (!reduction_.reducer.in_order) return CombineInto(reduction_.reducer, PartsAt(index), others);
    VarMap placeholders;
    std::vector<Var> vars;
    std::vector<std::pair<Var, Expr>> lets;
    for (size_t i = 0; i < Count(); ++i) {
      const std::string& name = reduction_.parts[i]->name;
      const Var own(name + "_own", reduction_.parts[i]->dtype), other(name + "_other", reduction_.parts[i]->dtype);
      lets.push_back({own, reduction_.parts[i].Load(index)});
      lets.push_back({other, others[i]});
      placeholders[Component(i).old] = Select(is_lower, own, other);
      placeholders[Component(i).fresh] = Select(is_lower, other, own);
    }
    std::vector<Stmt> stores;
    for (size_t i = 0; i < Count(); ++i) {
      stores.push_back(Store(reduction_.parts[i], Substitute(Component(i).combined, placeholders), index));
    }
    Stmt body = Sequence(std::move(stores));
    for (size_t i = lets.size(); i-- > 0;) body = LetStmt(lets[i].first, lets[i].second, body);
    return body;
  }

  // Each warp by itself, then each warp of the group the results of all of them.
  Stmt OverWarps(const std::vector<Expr>& index, int64_t warps) {
    std::vector<Stmt> steps = {InWarp(index, kWarpSize)};
    if (warps > kWarpSize) return Tree(index, reduction_.digits.members);
    uses_shared = true;
    int64_t lanes = 1;
    while (lanes < warps) lanes *= 2;
    const Expr thread = reduction_.digits.Thread();
    const Expr warp = arith::Simplify(FloorDiv(thread, Expr(kWarpSize)));
    const Expr of_group = arith::Simplify(FloorMod(lane_, Expr(lanes)));
    const Expr first = arith::Simplify(FloorDiv(thread, Expr(warps * kWarpSize)) * Expr(warps));
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
      VarMap placeholders;
      for (size_t i = 0; i < Count(); ++i) {
        placeholders[Component(i).old] = inits[i];
        placeholders[Component(i).fresh] = totals[i];
      }
      std::vector<Expr> values;
      for (size_t i = 0; i < Count(); ++i) values.push_back(Substitute(Component(i).combined, placeholders));
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

  const Reduction& reduction_;
  uint32_t* next_id_;
  Expr lane_;
  VarMap element_loops_;  // loops of the reduction to those of Finish
};

class Replacer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  Replacer(const std::vector<Reduction>& reductions, uint32_t next_id) : next_id_(next_id) {
    for (const Reduction& reduction : reductions) {
      wholes_[reduction.whole].push_back(&reduction);
      realizes_[reduction.realize] = &reduction;
    }
  }
  uint32_t next_id() const { return next_id_; }
  std::vector<Buffer> shared;  // memory that threads share, to be allocated outside of the kernels

  Stmt Mutate(const Stmt& s) override {
    Stmt inside;
    if (const auto realize = realizes_.find(s.get()); realize != realizes_.end()) {
      inside = Combiner(*realize->second, &next_id_).Update();
    } else {
      inside = StmtMutator::Mutate(s);
    }
    const auto whole = wholes_.find(s.get());
    if (whole == wholes_.end()) return inside;
    std::vector<Stmt> before, after;
    for (const Reduction* reduction : whole->second) {
      Combiner combiner(*reduction, &next_id_);
      before.push_back(combiner.Start());
      after.push_back(combiner.Finish());
      if (combiner.uses_warp) shared.insert(shared.end(), reduction->warp.begin(), reduction->warp.end());
      if (combiner.uses_shared) shared.insert(shared.end(), reduction->shared.begin(), reduction->shared.end());
    }
    Stmt result = Sequence({Sequence(std::move(before)), inside, Sequence(std::move(after))});
    for (const Reduction* reduction : whole->second) {
      for (const Buffer& part : reduction->parts) result = Stmt(new AllocateNode(part, {}, std::move(result)));
    }
    return result;
  }

 private:
  std::unordered_map<const StmtNode*, std::vector<const Reduction*>> wholes_;
  std::unordered_map<const StmtNode*, const Reduction*> realizes_;
  uint32_t next_id_;
};

// Adds the buffers to those of the root block.
Stmt WithAllocations(const Stmt& body, const std::vector<Buffer>& buffers) {
  const auto* root = dyn_cast<BlockRealizeNode>(body);
  if (root == nullptr) {
    Stmt result = body;
    for (const Buffer& buffer : buffers) result = Stmt(new AllocateNode(buffer, {}, std::move(result)));
    return result;
  }
  BlockNode::Fields fields = root->block->fields();
  fields.alloc_buffers.insert(fields.alloc_buffers.end(), buffers.begin(), buffers.end());
  return Realize(root->bindings, root->predicate, Block(std::move(fields)));
}

}  // namespace

absl::StatusOr<Function> CombineAcrossThreads(const Function& function) {
  const BufferScopes scopes = ScopesOf(function);
  Finder finder(scopes, function);
  finder.Visit(function->body);
  if (!finder.status.ok()) return finder.status;
  if (finder.found.empty()) return function;
  Replacer replacer(finder.found, function->next_id);
  Stmt body = WithAllocations(replacer.Mutate(function->body), replacer.shared);
  return function.WithBody(std::move(body), replacer.next_id());
}

}  // namespace tilewright

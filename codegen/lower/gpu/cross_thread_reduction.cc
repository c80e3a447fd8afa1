#include "codegen/lower/gpu/cross_thread_reduction.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/thread_combiner.h"
#include "codegen/lower/gpu/thread_digits.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/reducer.h"
#include "ir/substitute.h"
#include "ir/thread_reductions.h"
#include "ir/thread_tags.h"

namespace tilewright {
namespace {

void TakeApart(const Expr& condition, std::vector<Expr>* conjuncts) {
  const auto* both = dyn_cast<BinaryNode>(condition);
  if (both != nullptr && both->op == BinaryOp::kAnd && condition.dtype().is_scalar()) {
    TakeApart(both->a, conjuncts);
    TakeApart(both->b, conjuncts);
  } else if (!IsTrue(condition)) {
    conjuncts->push_back(condition);
  }
}

class Finder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  Finder(const BufferScopes& scopes, const Function& function, const GpuTarget& gpu) : scopes_(scopes), gpu_(gpu) {
    for (const ThreadReduction& reduction : FindThreadReductions(function)) blocks_[reduction.block] = true;
  }
  std::vector<ThreadReductionPlan> found;
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
    ThreadReductionPlan reduction{.realize = op, .reducer = std::get<Reducer>(std::move(reducer)), .whole = op};
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
      if (!IsBlockTag(each->thread_tag)) continue;
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
  void FindWhole(const std::vector<Expr>& reduced, const std::vector<Expr>& spatial, ThreadReductionPlan* reduction) {
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
                            ", inside of the reduction, has an extent that is not a constant"));
      }
    }
  }

  // Conditions of the element, which decide whether it is stored, and of what is reduced.
  bool FindConditions(const std::vector<Expr>& spatial, const std::vector<Expr>& reduced,
                      ThreadReductionPlan* reduction) {
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
      if (of_element && !HasFirstTerm(conjunct, spatial, reduced)) {
        Refuse(*reduction->realize->block, "a condition of its instances mixes what is reduced and the element");
        return false;
      }
    }
    return true;
  }

  // Whether the condition holds for the first term of each element: then each has a value, whatever is left out of the
  // other terms.
  bool HasFirstTerm(const Expr& condition, const std::vector<Expr>& spatial, const std::vector<Expr>& reduced) const {
    const auto uses = [](const std::vector<Expr>& exprs, const VarNode* var) {
      return std::ranges::any_of(exprs, [&](const Expr& e) { return UsesVar(e, Var(var)); });
    };
    arith::Analyzer analyzer;
    VarMap first;
    for (const ForNode* loop : path_) {
      analyzer.Bind(loop->var, {loop->min, loop->extent});
      if (!UsesVar(condition, loop->var) || !uses(reduced, loop->var.get())) continue;
      if (uses(spatial, loop->var.get())) return false;
      first[loop->var] = loop->min;
    }
    return analyzer.CanProve(Substitute(condition, first));
  }

  // Nothing else inside of the whole reduction may see its outputs, which are complete only after it.
  bool OutputsAreOwn(const ThreadReductionPlan& reduction) {
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

  void MakeParts(ThreadReductionPlan* reduction) {
    std::vector<Expr> shape;
    for (const ForNode* loop : reduction->spatial) shape.push_back(loop->extent);
    if (shape.empty()) shape.push_back(Expr(1));
    const ThreadDigits& digits = reduction->digits;
    for (const Reducer::Component& component : reduction->reducer.components) {
      const std::string& name = component.accumulator.buffer->name;
      const DataType type = component.accumulator.buffer->dtype;
      reduction->parts.push_back(Buffer(name + "_part", shape, type, Scope::Parse("local")));
      reduction->warp.push_back(Buffer(name + "_warp", {Expr(gpu_.warp_size)}, type, Scope::Parse("warp")));
      reduction->shared.push_back(Buffer(name + "_threads", {Expr(digits.threads)}, type, Scope::Parse("shared")));
    }
  }

  const BufferScopes& scopes_;
  const GpuTarget& gpu_;
  std::unordered_map<const BlockNode*, bool> blocks_;
  std::vector<const ForNode*> path_;
  std::vector<std::pair<size_t, Expr>> conditions_;  // with the number of loops around
  VarMap values_;
  size_t depth_of_whole_ = 0;
};

class Replacer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  Replacer(const std::vector<ThreadReductionPlan>& reductions, const GpuTarget& gpu, uint32_t next_id)
      : gpu_(gpu), next_id_(next_id) {
    for (const ThreadReductionPlan& reduction : reductions) {
      wholes_[reduction.whole].push_back(&reduction);
      realizes_[reduction.realize] = &reduction;
    }
  }
  uint32_t next_id() const { return next_id_; }
  std::vector<Buffer> shared;  // memory that threads share, to be allocated outside of the kernels

  Stmt Mutate(const Stmt& s) override {
    Stmt inside;
    if (const auto realize = realizes_.find(s.get()); realize != realizes_.end()) {
      inside = UpdateParts(*realize->second);
    } else {
      inside = StmtMutator::Mutate(s);
    }
    const auto whole = wholes_.find(s.get());
    if (whole == wholes_.end()) return inside;
    std::vector<Stmt> before, after;
    for (const ThreadReductionPlan* reduction : whole->second) {
      CombinedParts parts = CombineParts(*reduction, gpu_.warp_size, &next_id_);
      before.push_back(std::move(parts.start));
      after.push_back(std::move(parts.finish));
      if (parts.uses_warp) shared.insert(shared.end(), reduction->warp.begin(), reduction->warp.end());
      if (parts.uses_shared) shared.insert(shared.end(), reduction->shared.begin(), reduction->shared.end());
    }
    Stmt result = Sequence({Sequence(std::move(before)), inside, Sequence(std::move(after))});
    for (const ThreadReductionPlan* reduction : whole->second) {
      for (const Buffer& part : reduction->parts) result = Stmt(new AllocateNode(part, {}, std::move(result)));
    }
    return result;
  }

 private:
  std::unordered_map<const StmtNode*, std::vector<const ThreadReductionPlan*>> wholes_;
  std::unordered_map<const StmtNode*, const ThreadReductionPlan*> realizes_;
  const GpuTarget& gpu_;
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

absl::StatusOr<Function> CombineAcrossThreads(const Function& function, const GpuTarget& gpu) {
  const BufferScopes scopes = ScopesOf(function);
  Finder finder(scopes, function, gpu);
  finder.Visit(function->body);
  if (!finder.status.ok()) return finder.status;
  if (finder.found.empty()) return function;
  Replacer replacer(finder.found, gpu, function->next_id);
  Stmt body = WithAllocations(replacer.Mutate(function->body), replacer.shared);
  return function.WithBody(std::move(body), replacer.next_id());
}

}  // namespace tilewright

#include "graph/executor/in_place.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

// A condition and two values, of a Select or of a call that evaluates one of them.
struct Choice {
  Expr condition, yes, no;
};
std::optional<Choice> ChoiceOf(const Expr& e) {
  if (const auto* select = dyn_cast<SelectNode>(e)) {
    return Choice{select->condition, select->true_value, select->false_value};
  }
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->op != kIfThenElse) return std::nullopt;
  return Choice{call->args[0], call->args[1], call->args[2]};
}

void AddConjuncts(const Expr& condition, std::vector<Expr>* all) {
  const auto* binary = dyn_cast<BinaryNode>(condition);
  if (binary == nullptr || binary->op != BinaryOp::kAnd) return all->push_back(condition);
  AddConjuncts(binary->a, all);
  AddConjuncts(binary->b, all);
}

bool HasLoads(const Expr& e) {
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    found |= isa<LoadNode>(part);
    return !found;
  });
  return found;
}

// first <= v < end
struct Interval {
  Expr first, end;
};

class Former {
 public:
  Former(const tilewright::Function& program, size_t read, size_t written)
      : program_(program), read_(read), written_(written) {}

  std::optional<tilewright::Function> Run() {
    x_ = program_->params[read_].buffer;
    y_ = program_->params[written_].buffer;
    if (!x_ || !y_ || x_->dtype != y_->dtype || !MatchExtents()) return std::nullopt;
    const auto* root = dyn_cast<BlockRealizeNode>(program_->body);
    if (root == nullptr) return std::nullopt;
    const Stmt body = RewriteNests(root->block->body);
    if (!good_ || !done_) return std::nullopt;
    return Finished(*root, body);
  }

 private:
  // The extents of y that are variables are those of x here.
  bool MatchExtents() {
    if (x_->ndim() != y_->ndim()) return false;
    for (size_t d = 0; d < x_->ndim(); ++d) {
      if (StructuralEqual(x_->shape[d], y_->shape[d])) continue;
      const auto* var = dyn_cast<VarNode>(y_->shape[d]);
      if (var == nullptr) return false;
      extents_.emplace(Var(var), x_->shape[d]);
    }
    BufferNode::Fields fields = y_->fields();
    fields.shape = x_->shape;
    new_y_ = Buffer(std::move(fields));
    return true;
  }

  Stmt RewriteNests(const Stmt& body) {
    const auto* sequence = dyn_cast<SeqNode>(body);
    if (sequence == nullptr) return RewriteNest(body);
    std::vector<Stmt> nests;
    for (const Stmt& nest : sequence->stmts) nests.push_back(RewriteNest(nest));
    return Sequence(std::move(nests));
  }

  // The nest that writes y is written anew; the others do not read x.
  Stmt RewriteNest(const Stmt& nest) {
    bool writes = false, reads = false;
    PreOrder(nest, [&](const Stmt& s) {
      const auto* store = dyn_cast<StoreNode>(s);
      writes |= store != nullptr && store->buffer.same_as(y_);
      return true;
    });
    PreOrderExprs(nest, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      reads |= load != nullptr && load->buffer.same_as(x_);
      return true;
    });
    if (!writes) {
      good_ &= !reads;
      return nest;
    }
    const Stmt rewritten = done_ ? Stmt() : Partial(nest);
    done_ = true;
    good_ &= static_cast<bool>(rewritten);
    return rewritten ? rewritten : nest;
  }

  // Null where the nest is not one block over all elements of y.
  Stmt Partial(const Stmt& nest) {
    Stmt inner = nest;
    std::vector<const ForNode*> loops;
    while (const auto* loop = dyn_cast<ForNode>(inner)) {
      loops.push_back(loop);
      inner = loop->body;
    }
    const auto* realize = dyn_cast<BlockRealizeNode>(inner);
    if (realize == nullptr || !IsTrue(realize->predicate)) return {};
    const BlockNode& block = *realize->block;
    const auto* store = dyn_cast<StoreNode>(block.body);
    if (store == nullptr || block.init || store->predicate || !block.alloc_buffers.empty()) return {};
    if (block.iter_vars.size() != y_->ndim() || store->indices.size() != y_->ndim()) return {};
    for (size_t d = 0; d < y_->ndim(); ++d) {
      if (block.iter_vars[d].kind == IterKind::kReduce || !IsZero(block.iter_vars[d].domain.min)) return {};
      // Iterators in another order, or offsets, are not worth a case.
      if (store->indices[d].get() != block.iter_vars[d].var.get()) return {};
      analyzer_.Bind(block.iter_vars[d].var, Range(Const(block.iter_vars[d].var.dtype(), 0), x_->shape[d]));
    }
    return Written(block, *store);
  }

  // Whether it is the element of x that lies where the store writes.
  bool IsKept(const Expr& value, const StoreNode& store) {
    const auto* load = dyn_cast<LoadNode>(value);
    if (load == nullptr || !load->buffer.same_as(x_)) return false;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      if (!analyzer_.CanProveEqual(load->indices[d], store.indices[d])) return false;
    }
    return true;
  }

  Stmt Written(const BlockNode& block, const StoreNode& store) {
    const Expr value = analyzer_.Simplify(Substitute(store.value, extents_));
    const std::optional<Choice> choice = ChoiceOf(value);
    if (!choice) return {};
    const bool kept_if_not = IsKept(choice->no, store);
    if (!kept_if_not && !IsKept(choice->yes, store)) return {};
    const Expr added = kept_if_not ? choice->yes : choice->no;
    const Expr condition = kept_if_not ? choice->condition : analyzer_.Simplify(Not(choice->condition));
    if (ReadsX(added) || ReadsX(condition)) return {};
    std::vector<Expr> conjuncts;
    AddConjuncts(condition, &conjuncts);
    for (size_t d = 0; d < y_->ndim(); ++d) {
      if (const auto interval = IntervalOf(block.iter_vars[d].var, conjuncts)) {
        return Nest(block, d, *interval, added, condition);
      }
    }
    return {};
  }

  bool ReadsX(const Expr& e) const {
    bool found = false;
    PreOrder(e, [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      found |= load != nullptr && load->buffer.same_as(x_);
      return !found;
    });
    return found;
  }

  // Bounds of v whose distance is known before the loops begin; nothing where the conditions do not give both.
  std::optional<Interval> IntervalOf(const Var& v, const std::vector<Expr>& conjuncts) {
    Interval interval;
    for (const Expr& conjunct : conjuncts) AddBound(v, conjunct, &interval);
    if (!interval.first || !interval.end) return std::nullopt;
    const Expr count = analyzer_.Simplify(interval.end - interval.first);
    const bool varies = HasLoads(count) || UsesVar(count, [&](const VarNode* var) { return !IsExtent(var); });
    return varies ? std::nullopt : std::optional(interval);
  }

  bool IsExtent(const VarNode* var) const {
    return std::ranges::any_of(program_->params, [&](const Param& param) {
      if (!param.buffer) return param.var.get() == var;
      return std::ranges::any_of(param.buffer->shape, [&](const Expr& extent) { return extent.get() == var; });
    });
  }

  // 0 <= v + rest is a lower bound, 0 <= rest - v one that is the last value.
  void AddBound(const Var& v, const Expr& conjunct, Interval* interval) {
    const auto* compare = dyn_cast<BinaryNode>(conjunct);
    if (compare == nullptr) return;
    Expr less = compare->a, more = compare->b;
    if (compare->op == BinaryOp::kGT || compare->op == BinaryOp::kGE) std::swap(less, more);
    const bool strict = compare->op == BinaryOp::kLT || compare->op == BinaryOp::kGT;
    if (!strict && compare->op != BinaryOp::kLE && compare->op != BinaryOp::kGE) return;
    if (less.dtype() != v.dtype()) return;
    const Expr one = Const(v.dtype(), 1), zero = Const(v.dtype(), 0);
    const Expr gap = strict ? more - less - one : more - less;
    const auto slope = AsInt(analyzer_.Simplify(Substitute(gap, {{v, v + one}}) - gap));
    const Expr rest = Substitute(gap, {{v, zero}});
    if (slope == 1 && !interval->first) interval->first = arith::Simplify(zero - rest);
    if (slope == -1 && !interval->end) interval->end = arith::Simplify(rest + one);
  }

  // The same block over the interval alone. Conditions stay, as the interval may lie outside of the buffer.
  Stmt Nest(const BlockNode& block, size_t axis, const Interval& interval, const Expr& added, const Expr& condition) {
    std::vector<Var> loops, iters;
    BlockNode::Fields fields = block.fields();
    fields.id = 0;
    fields.reads.clear();
    fields.writes.clear();
    VarMap values;
    for (size_t d = 0; d < y_->ndim(); ++d) {
      const Var& old = block.iter_vars[d].var;
      loops.emplace_back("i" + std::to_string(d), old.dtype());
      iters.emplace_back(old.name(), old.dtype());
      const Expr extent = d == axis ? analyzer_.Simplify(interval.end - interval.first) : x_->shape[d];
      fields.iter_vars[d] = {iters[d], Range(Const(old.dtype(), 0), extent), IterKind::kSpatial};
      if (d != axis) values.emplace(old, iters[d]);
    }
    values.emplace(block.iter_vars[axis].var, Substitute(interval.first, values) + iters[axis]);
    arith::Analyzer inside;
    for (const IterVar& iter : fields.iter_vars) inside.Bind(iter.var, iter.domain);
    const Expr place = Substitute(Expr(block.iter_vars[axis].var), values);
    const Expr in_buffer = And(place >= Const(place.dtype(), 0), place < x_->shape[axis]);
    const Expr holds = inside.Simplify(And(in_buffer, Substitute(condition, values)));
    std::vector<Expr> indices;
    for (const IterVar& iter : block.iter_vars) indices.push_back(Substitute(Expr(iter.var), values));
    fields.body = If(holds, Store(new_y_, inside.Simplify(Substitute(added, values)), indices));
    std::vector<Expr> bindings(loops.begin(), loops.end());
    Stmt nest = Realize(std::move(bindings), True(), WithUndeclaredRegions(Block(fields)));
    for (size_t d = y_->ndim(); d-- > 0;) {
      nest = For({.var = loops[d], .extent = fields.iter_vars[d].domain.extent, .body = std::move(nest)});
    }
    return nest;
  }

  tilewright::Function Finished(const BlockRealizeNode& root, const Stmt& body) const {
    tilewright::FunctionNode::Fields fields = program_->fields();
    BlockNode::Fields block = root.block->fields();
    block.body = body;
    block.reads.clear();
    block.writes.clear();
    const Stmt whole = Realize(root.bindings, root.predicate, Block(std::move(block)));
    fields.body = Substitute(whole, extents_, {{y_, new_y_}});
    fields.params[written_].buffer = new_y_;
    fields.params.erase(fields.params.begin() + static_cast<std::ptrdiff_t>(read_));
    return tilewright::Function(std::move(fields));
  }

  const tilewright::Function& program_;
  const size_t read_, written_;
  Buffer x_, y_, new_y_;
  VarMap extents_;
  arith::Analyzer analyzer_;
  bool good_ = true, done_ = false;
};

}  // namespace

std::optional<tilewright::Function> InPlaceForm(const tilewright::Function& program, size_t read, size_t written) {
  return Former(program, read, written).Run();
}

}  // namespace tilewright::graph

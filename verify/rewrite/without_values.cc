#include "verify/rewrite/without_values.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

bool Divides(const BinaryNode& op) {
  return op.dtype().is_integer() && (op.op == BinaryOp::kDiv || op.op == BinaryOp::kMod ||
                                     op.op == BinaryOp::kFloorDiv || op.op == BinaryOp::kFloorMod);
}

class Dependence : public Visitor {
 public:
  using Visitor::Visit;
  Dependence(const Function& function, const KnownContents& known) : values_(function, &known) {}
  bool found = false;

 protected:
  void VisitLoad(const LoadNode* op) override {
    found |= values_.Any(op->indices) || values_.Is(op->predicate);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    found |= values_.Any(op->indices) || values_.Is(op->predicate);
    Visitor::VisitStore(op);
  }
  void VisitIf(const IfNode* op) override {
    found |= values_.Is(op->condition);
    Visitor::VisitIf(op);
  }
  void VisitWhile(const WhileNode*) override { found = true; }
  void VisitAssert(const AssertNode*) override { found = true; }
  void VisitLet(const LetNode* op) override {
    if (values_.Is(op->value)) values_.Add(op->var);
    Visitor::VisitLet(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    if (values_.Is(op->value)) values_.Add(op->var);
    Visitor::VisitLetStmt(op);
  }
  void VisitSelect(const SelectNode* op) override {
    // One that chooses between loads evaluates one of them only.
    found |= values_.Is(op->condition) && (values_.Is(op->true_value) || values_.Is(op->false_value));
    Visitor::VisitSelect(op);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == kIfThenElse) found |= values_.Is(op->args[0]);
    found |= EffectOf(op->op) != CallEffect::kPure || op->op.starts_with("call_");
    Visitor::VisitCall(op);
  }
  void VisitBinary(const BinaryNode* op) override {
    // Division by what memory holds, which is nothing in particular here; and what a value guards.
    found |= Divides(*op) && values_.Is(op->b);
    found |= (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) && values_.Is(op->a) && values_.Is(op->b);
    Visitor::VisitBinary(op);
  }
  void VisitFor(const ForNode* op) override {
    if (values_.Is(op->min) || values_.Is(op->extent)) found = true;
    Visitor::VisitFor(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    found |= values_.Is(op->predicate) || values_.Any(op->bindings);
    Visitor::VisitBlockRealize(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) found |= values_.Is(iter.domain.min) || values_.Is(iter.domain.extent);
    for (const auto* regions : {&op->reads, &op->writes}) {
      for (const BufferRegion& region : *regions) {
        for (const Range& range : region.region) found |= values_.Is(range.min) || values_.Is(range.extent);
      }
    }
    Visitor::VisitBlock(op);
  }

 private:
  FromMemory values_;
};

bool HoldsBlocksOrThreads(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* loop = dyn_cast<ForNode>(part);
    found |=
        isa<BlockRealizeNode>(part) || isa<SyncNode>(part) || (loop != nullptr && loop->kind == ForKind::kThreadBound);
    return !found;
  });
  return found;
}

bool CallsOutside(const Stmt& s) {
  bool found = false;
  PreOrderExprs(s, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    found |= call != nullptr && EffectOf(call->op) != CallEffect::kPure;
    return !found;
  });
  return found;
}

class Rewriter : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  Rewriter(const Function& function, const KnownContents& known)
      : known_(known), values_(function, &known), next_id_(function->next_id) {}
  bool failed = false;
  std::unordered_set<const VarNode*> written_in_part;
  std::unordered_set<uint32_t> as_declared;
  uint32_t next_id() const { return next_id_; }

  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = block->fields();
    for (const IterVar& iter : block->iter_vars)
      failed |= values_.Is(iter.domain.min) || values_.Is(iter.domain.extent);
    for (const MatchBuffer& match : fields.match_buffers) {
      for (const Range& range : match.source.region) failed |= values_.Is(range.min) || values_.Is(range.extent);
      source_of_[match.buffer->data.get()] = match.source.buffer->data.get();
    }
    fields.reads.clear();
    fields.writes.clear();
    if (!HoldsBlocksOrThreads(block->body) && CallsOutside(block->body)) {
      as_declared.insert(block->id);
      std::vector<Stmt> touches;
      for (const BufferRegion& read : block->reads) touches.push_back(Touch(read, false));
      for (const BufferRegion& write : block->writes) touches.push_back(Touch(write, true));
      fields.match_buffers.clear();
      fields.alloc_buffers.clear();
      fields.body = Sequence(std::move(touches));
    } else {
      fields.body = Mutate(block->body);
    }
    if (fields.init) fields.init = Mutate(block->init);
    return Block(std::move(fields));
  }

 protected:
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    // Its value decides what others touch.
    if (known_.contains(op->buffer->data.get())) return self;
    std::vector<Stmt> touches;
    Loads(op->value, &touches);
    for (const Expr& index : op->indices) Loads(index, &touches);
    Loads(op->predicate, &touches);
    std::vector<Expr> indices = op->indices;
    std::vector<ForNode::Fields> loops = LoopsOverUnknown(op->buffer, &indices);
    const bool known = loops.empty() && !values_.Is(op->predicate) && in_doubt_ == (sure_.contains(op) ? 1 : 0);
    if (!known) WriteInPart(op->buffer->data.get());
    const Expr zero = Const(op->buffer->dtype.with_lanes(1), 0);
    const int lanes = op->value.dtype().lanes();
    touches.push_back(Nest(
        std::move(loops), Stmt(new StoreNode(op->buffer, lanes == 1 ? zero : Broadcast(zero, lanes), std::move(indices),
                                             values_.Is(op->predicate) ? Expr() : op->predicate))));
    return Sequence(std::move(touches));
  }
  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt&) override {
    std::vector<Stmt> touches;
    Loads(op->value, &touches);
    return Sequence(std::move(touches));
  }
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    std::vector<Stmt> parts;
    Loads(op->condition, &parts);
    if (!values_.Is(op->condition)) {
      parts.push_back(StmtMutator::MutateIf(op, self));
      return Sequence(std::move(parts));
    }
    MarkWhatBothStore(op->then_case, op->else_case);
    ++in_doubt_;
    parts.push_back(Mutate(op->then_case));
    if (op->else_case) parts.push_back(Mutate(op->else_case));
    --in_doubt_;
    return Sequence(std::move(parts));
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    std::vector<Stmt> parts;
    Loads(op->min, &parts);
    Loads(op->extent, &parts);
    failed |= in_doubt_ > 0 && op->kind == ForKind::kThreadBound;
    if (!values_.Is(op->min) && !values_.Is(op->extent)) {
      parts.push_back(StmtMutator::MutateFor(op, self));
      return Sequence(std::move(parts));
    }
    failed |= op->kind != ForKind::kSerial && op->kind != ForKind::kUnrolled;
    values_.Add(op->var);
    ++in_doubt_;
    parts.push_back(Mutate(op->body));
    --in_doubt_;
    return Sequence(std::move(parts));
  }
  Stmt MutateWhile(const WhileNode* op, const Stmt&) override {
    std::vector<Stmt> parts;
    Loads(op->condition, &parts);
    ++in_doubt_;
    parts.push_back(Mutate(op->body));
    --in_doubt_;
    return Sequence(std::move(parts));
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt&) override {
    std::vector<Stmt> parts;
    Loads(op->value, &parts);
    const bool from_memory = values_.Is(op->value);
    if (from_memory) values_.Add(op->var);
    const Stmt body = Mutate(op->body);
    parts.push_back(from_memory ? body : LetStmt(op->var, op->value, body));
    return Sequence(std::move(parts));
  }
  Stmt MutateAssert(const AssertNode* op, const Stmt&) override {
    std::vector<Stmt> parts;
    Loads(op->condition, &parts);
    return Sequence(std::move(parts));
  }
  Stmt MutateSync(const SyncNode*, const Stmt& self) override {
    failed |= in_doubt_ > 0;
    return self;
  }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt&) override {
    std::vector<Stmt> parts;
    failed |= values_.Any(op->bindings);
    Loads(op->predicate, &parts);
    const Expr known = KnownPart(op->predicate);
    const bool doubtful = !IsTrue(op->predicate) && values_.Is(op->predicate);
    in_doubt_ += doubtful;
    parts.push_back(Realize(op->bindings, known, MutateBlock(op->block)));
    in_doubt_ -= doubtful;
    return Sequence(std::move(parts));
  }

 private:
  Expr KnownPart(const Expr& condition) const {
    if (!values_.Is(condition)) return condition;
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op == nullptr || op->op != BinaryOp::kAnd) return True();
    return And(KnownPart(op->a), KnownPart(op->b));
  }

  void WriteInPart(const VarNode* data) {
    for (const VarNode* of = data; of != nullptr;) {
      written_in_part.insert(of);
      const auto source = source_of_.find(of);
      of = source == source_of_.end() ? nullptr : source->second;
    }
  }

  // Elements that are stored to whatever the condition says.
  void MarkWhatBothStore(const Stmt& a, const Stmt& b) {
    const auto stores = [](const Stmt& s) {
      std::vector<const StoreNode*> found;
      const auto add = [&](const Stmt& part) {
        if (const auto* store = dyn_cast<StoreNode>(part); store != nullptr && !store->predicate)
          found.push_back(store);
      };
      const auto* seq = dyn_cast<SeqNode>(s);
      if (seq == nullptr) add(s);
      if (seq != nullptr) std::ranges::for_each(seq->stmts, add);
      return found;
    };
    if (!a || !b) return;
    for (const StoreNode* x : stores(a)) {
      for (const StoreNode* y : stores(b)) {
        if (!x->buffer.same_as(y->buffer) || !std::ranges::equal(x->indices, y->indices, arith::SameExpr)) continue;
        sure_.insert(x);
        sure_.insert(y);
      }
    }
  }

  // Statements that touch all that evaluating `e` may load, where conditions that are known let it.
  void Loads(const Expr& e, std::vector<Stmt>* touches) {
    if (!e || isa<VarNode>(e) || isa<IntImmNode>(e)) return;
    if (const auto* load = dyn_cast<LoadNode>(e)) return LoadsOf(*load, touches);
    if (const auto* let = dyn_cast<LetNode>(e)) {
      Loads(let->value, touches);
      const bool from_memory = values_.Is(let->value);
      if (from_memory) values_.Add(let->var);
      std::vector<Stmt> inside;
      Loads(let->body, &inside);
      if (!inside.empty()) {
        const Stmt body = Sequence(std::move(inside));
        touches->push_back(from_memory ? body : LetStmt(let->var, let->value, body));
      }
      return;
    }
    if (const auto* op = dyn_cast<BinaryNode>(e)) {
      Loads(op->a, touches);
      if (op->op != BinaryOp::kAnd && op->op != BinaryOp::kOr) return Loads(op->b, touches);
      return LoadsUnder(op->op == BinaryOp::kAnd ? op->a : Not(op->a), op->b, touches);
    }
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      return LoadsOfChoice(select->condition, select->true_value, select->false_value, touches);
    }
    const auto* call = dyn_cast<CallNode>(e);
    if (call != nullptr && call->op == kIfThenElse) {
      return LoadsOfChoice(call->args[0], call->args[1], call->args[2], touches);
    }
    if (call != nullptr && call->op == kAddressOf) return;
    failed |= call != nullptr && EffectOf(call->op) != CallEffect::kPure && !IsHint(*call);
    LoadsOfOperands(e, touches);
  }
  static bool IsHint(const CallNode& call) { return call.op == kPrefetch; }

  void LoadsOfOperands(const Expr& e, std::vector<Stmt>* touches) {
    bool self = true;
    PreOrder(e, [&](const Expr& part) {
      if (std::exchange(self, false)) return true;
      Loads(part, touches);
      return false;
    });
  }
  void LoadsOfChoice(const Expr& condition, const Expr& yes, const Expr& no, std::vector<Stmt>* touches) {
    Loads(condition, touches);
    LoadsUnder(condition, yes, touches);
    LoadsUnder(Not(condition), no, touches);
  }
  void LoadsUnder(const Expr& condition, const Expr& e, std::vector<Stmt>* touches) {
    std::vector<Stmt> inside;
    Loads(e, &inside);
    if (inside.empty()) return;
    const Expr known = condition.dtype().is_scalar() ? KnownPart(condition) : True();
    const Stmt body = Sequence(std::move(inside));
    touches->push_back(IsTrue(known) ? body : If(known, body));
  }
  void LoadsOf(const LoadNode& load, std::vector<Stmt>* touches) {
    for (const Expr& index : load.indices) Loads(index, touches);
    Loads(load.predicate, touches);
    std::vector<Expr> indices = load.indices;
    std::vector<ForNode::Fields> loops = LoopsOverUnknown(load.buffer, &indices);
    const Expr predicate = values_.Is(load.predicate) ? Expr() : load.predicate;
    touches->push_back(Nest(std::move(loops), Evaluate(load.buffer.Load(std::move(indices), predicate))));
  }

  // Loops over whole dimensions in place of indices that memory decides.
  std::vector<ForNode::Fields> LoopsOverUnknown(const Buffer& buffer, std::vector<Expr>* indices) {
    std::vector<ForNode::Fields> loops;
    for (size_t d = 0; d < indices->size(); ++d) {
      Expr& index = (*indices)[d];
      if (!values_.Is(index)) continue;
      Var place("p" + std::to_string(d), index.dtype().with_lanes(1));
      loops.push_back({.id = next_id_++, .var = place, .extent = CastTo(place.dtype(), buffer->shape[d])});
      index = index.dtype().lanes() == 1 ? Expr(place) : Broadcast(place, index.dtype().lanes());
    }
    return loops;
  }
  static Stmt Nest(std::vector<ForNode::Fields> loops, Stmt body) {
    while (!loops.empty()) {
      loops.back().body = std::move(body);
      body = For(std::move(loops.back()));
      loops.pop_back();
    }
    return body;
  }

  // Loops over the part of a region that lies in the buffer, around a load or a store.
  Stmt Touch(const BufferRegion& region, bool write) {
    std::vector<ForNode::Fields> loops;
    std::vector<Expr> indices;
    for (size_t d = 0; d < region.region.size(); ++d) {
      const Range& range = region.region[d];
      failed |= values_.Is(range.min) || values_.Is(range.extent);
      if (IsInt(range.extent, 1)) {
        indices.push_back(range.min);
        continue;
      }
      Expr min = range.min, end = range.min + range.extent;
      if (!write) {
        min = Max(min, Const(min.dtype(), 0));
        end = Min(end, CastTo(end.dtype(), region.buffer->shape[d]));
      }
      Var position("p" + std::to_string(d), min.dtype());
      indices.push_back(min + position);
      loops.push_back({.id = next_id_++, .var = position, .extent = arith::Simplify(Max(end - min, 0))});
    }
    const DataType type = region.buffer->dtype;
    Stmt touch = write ? Store(region.buffer, Const(type, 0), indices) : Evaluate(region.buffer.Load(indices));
    if (!write) touch = If(arith::Simplify(InsideOf(region, indices)), touch);
    return Nest(std::move(loops), touch);
  }
  // A point outside of the buffer is what a condition of the body keeps from being read.
  static Expr InsideOf(const BufferRegion& region, const std::vector<Expr>& indices) {
    Expr inside = True();
    for (size_t d = 0; d < indices.size(); ++d) {
      if (!IsInt(region.region[d].extent, 1)) continue;
      const Expr extent = CastTo(indices[d].dtype(), region.buffer->shape[d]);
      inside = And(inside, And(Const(indices[d].dtype(), 0) <= indices[d], indices[d] < extent));
    }
    return inside;
  }

  const KnownContents& known_;
  FromMemory values_;
  std::unordered_map<const VarNode*, const VarNode*> source_of_;  // of the data of matched parts
  std::unordered_set<const StoreNode*> sure_;                     // run in both cases of the condition around them
  int in_doubt_ = 0;                                              // conditions around that values decide
  uint32_t next_id_;
};

}  // namespace

bool DependsOnValues(const Function& function, const KnownContents& known) {
  Dependence visitor(function, known);
  visitor.Visit(function->body);
  return visitor.found;
}

std::optional<WithoutValues> RemoveValues(const Function& function, const KnownContents& known) {
  Rewriter rewriter(function, known);
  const Stmt body = rewriter.Mutate(function->body);
  if (rewriter.failed) return std::nullopt;
  return WithoutValues{function.WithBody(body, rewriter.next_id()), std::move(rewriter.written_in_part),
                       std::move(rewriter.as_declared)};
}

}  // namespace tilewright

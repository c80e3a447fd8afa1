// The rewriting half of functor.h.
#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.h"
#include "ir/functor.h"

namespace tilewright {
namespace internal {
extern constinit thread_local int64_t visited_nodes;  // of functor.cc
}  // namespace internal

Expr Mutator::Mutate(const Expr& e) {
  if (!e) return e;
  ++internal::visited_nodes;
  switch (e->kind()) {
    case Kind::kIntImm:
    case Kind::kFloatImm:
    case Kind::kStringImm:
      return e;
    case Kind::kVar:
      return MutateVar(cast<VarNode>(e), e);
    case Kind::kBinary:
      return MutateBinary(cast<BinaryNode>(e), e);
    case Kind::kNot:
      return MutateNot(cast<NotNode>(e), e);
    case Kind::kSelect:
      return MutateSelect(cast<SelectNode>(e), e);
    case Kind::kCast:
      return MutateCast(cast<CastNode>(e), e);
    case Kind::kLoad:
      return MutateLoad(cast<LoadNode>(e), e);
    case Kind::kRamp:
      return MutateRamp(cast<RampNode>(e), e);
    case Kind::kBroadcast:
      return MutateBroadcast(cast<BroadcastNode>(e), e);
    case Kind::kShuffle:
      return MutateShuffle(cast<ShuffleNode>(e), e);
    case Kind::kLet:
      return MutateLet(cast<LetNode>(e), e);
    case Kind::kCall:
      return MutateCall(cast<CallNode>(e), e);
    default:
      TW_UNREACHABLE();
  }
}

Stmt Mutator::Mutate(const Stmt& s) {
  if (!s) return s;
  ++internal::visited_nodes;
  switch (s->kind()) {
    case Kind::kFor:
      return MutateFor(cast<ForNode>(s), s);
    case Kind::kWhile:
      return MutateWhile(cast<WhileNode>(s), s);
    case Kind::kIf:
      return MutateIf(cast<IfNode>(s), s);
    case Kind::kSeq:
      return MutateSeq(cast<SeqNode>(s), s);
    case Kind::kStore:
      return MutateStore(cast<StoreNode>(s), s);
    case Kind::kEvaluate:
      return MutateEvaluate(cast<EvaluateNode>(s), s);
    case Kind::kLetStmt:
      return MutateLetStmt(cast<LetStmtNode>(s), s);
    case Kind::kAttrStmt:
      return MutateAttrStmt(cast<AttrStmtNode>(s), s);
    case Kind::kAssert:
      return MutateAssert(cast<AssertNode>(s), s);
    case Kind::kAllocate:
      return MutateAllocate(cast<AllocateNode>(s), s);
    case Kind::kDeclBuffer:
      return MutateDeclBuffer(cast<DeclBufferNode>(s), s);
    case Kind::kBlockRealize:
      return MutateBlockRealize(cast<BlockRealizeNode>(s), s);
    case Kind::kSync:
      return MutateSync(cast<SyncNode>(s), s);
    default:
      TW_UNREACHABLE();
  }
}

namespace {

// What `mutator` makes of something, or nothing where it stays as it is.
template <class T>
std::optional<T> Changed(const T& from, T to) {
  return to.same_as(from) ? std::nullopt : std::optional<T>(std::move(to));
}
std::optional<Expr> Change(Mutator& mutator, const Expr& e) { return Changed(e, mutator.Mutate(e)); }
std::optional<Stmt> Change(Mutator& mutator, const Stmt& s) { return Changed(s, mutator.Mutate(s)); }
std::optional<Buffer> Change(Mutator& mutator, const Buffer& b) { return Changed(b, mutator.MutateBuffer(b)); }
std::optional<Range> Change(Mutator& mutator, const Range& range) {
  Range result = mutator.MutateRange(range);
  if (result.min.same_as(range.min) && result.extent.same_as(range.extent)) return std::nullopt;
  return result;
}
std::optional<IterVar> Change(Mutator& mutator, const IterVar& iter) {
  std::optional<Range> domain = Change(mutator, iter.domain);
  return domain ? std::optional<IterVar>({iter.var, std::move(*domain), iter.kind}) : std::nullopt;
}
std::optional<BufferRegion> Change(Mutator& mutator, const BufferRegion& region);
std::optional<MatchBuffer> Change(Mutator& mutator, const MatchBuffer& match);

// A list after a rewrite. Most lists stay as they are: nothing is copied before the first entry that changes.
template <class T>
class Rewritten {
 public:
  Rewritten(Mutator& mutator, const std::vector<T>& list) : original_(list) {
    for (size_t i = 0; i < list.size(); ++i) {
      std::optional<T> entry = Change(mutator, list[i]);
      if (entry && !changed_) {
        changed_ = true;
        result_.reserve(list.size());
        result_.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (changed_) result_.push_back(entry ? std::move(*entry) : list[i]);
    }
  }
  bool changed() const { return changed_; }
  std::vector<T> Take() { return changed_ ? std::move(result_) : original_; }

 private:
  const std::vector<T>& original_;
  std::vector<T> result_;
  bool changed_ = false;
};

std::optional<BufferRegion> Change(Mutator& mutator, const BufferRegion& region) {
  Rewritten ranges(mutator, region.region);
  Buffer buffer = mutator.MutateBuffer(region.buffer);
  if (!ranges.changed() && buffer.same_as(region.buffer)) return std::nullopt;
  return BufferRegion{std::move(buffer), ranges.Take()};
}
std::optional<MatchBuffer> Change(Mutator& mutator, const MatchBuffer& match) {
  std::optional<Buffer> buffer = Change(mutator, match.buffer);
  std::optional<BufferRegion> source = Change(mutator, match.source);
  if (!buffer && !source) return std::nullopt;
  return MatchBuffer{buffer ? std::move(*buffer) : match.buffer, source ? std::move(*source) : match.source};
}

}  // namespace

std::vector<Expr> Mutator::MutateAll(const std::vector<Expr>& exprs) {
  std::vector<Expr> result;
  result.reserve(exprs.size());
  for (const Expr& e : exprs) result.push_back(Mutate(e));
  return result;
}
Range Mutator::MutateRange(const Range& range) { return {Mutate(range.min), Mutate(range.extent)}; }
BufferRegion Mutator::MutateRegion(const BufferRegion& region) {
  BufferRegion result{MutateBuffer(region.buffer), {}};
  result.region.reserve(region.region.size());
  for (const Range& range : region.region) result.region.push_back(MutateRange(range));
  return result;
}

Expr Mutator::MutateVar(const VarNode*, const Expr& self) { return self; }
Expr Mutator::MutateBinary(const BinaryNode* op, const Expr& self) {
  Expr a = Mutate(op->a), b = Mutate(op->b);
  return a.same_as(op->a) && b.same_as(op->b) ? self : MakeBinary(op->op, std::move(a), std::move(b));
}
Expr Mutator::MutateNot(const NotNode* op, const Expr& self) {
  Expr a = Mutate(op->a);
  return a.same_as(op->a) ? self : Not(a);
}
Expr Mutator::MutateSelect(const SelectNode* op, const Expr& self) {
  Expr condition = Mutate(op->condition), t = Mutate(op->true_value), f = Mutate(op->false_value);
  if (condition.same_as(op->condition) && t.same_as(op->true_value) && f.same_as(op->false_value)) return self;
  return Select(std::move(condition), std::move(t), std::move(f));
}
Expr Mutator::MutateCast(const CastNode* op, const Expr& self) {
  Expr value = Mutate(op->value);
  return value.same_as(op->value) ? self : CastTo(op->dtype(), std::move(value));
}
Expr Mutator::MutateLoad(const LoadNode* op, const Expr& self) {
  Buffer buffer = MutateBuffer(op->buffer);
  Rewritten indices(*this, op->indices);
  Expr predicate = Mutate(op->predicate);
  if (buffer.same_as(op->buffer) && !indices.changed() && predicate.same_as(op->predicate)) return self;
  return buffer.Load(indices.Take(), std::move(predicate));
}
Expr Mutator::MutateRamp(const RampNode* op, const Expr& self) {
  Expr base = Mutate(op->base), stride = Mutate(op->stride);
  if (base.same_as(op->base) && stride.same_as(op->stride)) return self;
  return Ramp(std::move(base), std::move(stride), op->dtype().lanes());
}
Expr Mutator::MutateBroadcast(const BroadcastNode* op, const Expr& self) {
  Expr value = Mutate(op->value);
  if (value.same_as(op->value)) return self;
  return Broadcast(value, op->dtype().lanes() / value.dtype().lanes());
}
Expr Mutator::MutateShuffle(const ShuffleNode* op, const Expr& self) {
  Rewritten vectors(*this, op->vectors);
  if (!vectors.changed()) return self;
  return Expr(new ShuffleNode(vectors.Take(), op->indices));
}
Expr Mutator::MutateLet(const LetNode* op, const Expr& self) {
  Expr value = Mutate(op->value), body = Mutate(op->body);
  if (value.same_as(op->value) && body.same_as(op->body)) return self;
  return Expr(new LetNode(op->var, std::move(value), std::move(body)));
}
Expr Mutator::MutateCall(const CallNode* op, const Expr& self) {
  Rewritten args(*this, op->args);
  return args.changed() ? Call(op->dtype(), op->op, args.Take()) : self;
}

Stmt Mutator::MutateFor(const ForNode* op, const Stmt& self) {
  Expr min = Mutate(op->min), extent = Mutate(op->extent);
  Stmt body = Mutate(op->body);
  if (min.same_as(op->min) && extent.same_as(op->extent) && body.same_as(op->body)) return self;
  ForNode::Fields fields = op->fields();
  fields.min = std::move(min);
  fields.extent = std::move(extent);
  fields.body = std::move(body);
  return For(std::move(fields));
}
Stmt Mutator::MutateWhile(const WhileNode* op, const Stmt& self) {
  Expr condition = Mutate(op->condition);
  Stmt body = Mutate(op->body);
  if (condition.same_as(op->condition) && body.same_as(op->body)) return self;
  return While(std::move(condition), std::move(body));
}
Stmt Mutator::MutateIf(const IfNode* op, const Stmt& self) {
  Expr condition = Mutate(op->condition);
  Stmt t = Mutate(op->then_case), f = Mutate(op->else_case);
  if (condition.same_as(op->condition) && t.same_as(op->then_case) && f.same_as(op->else_case)) return self;
  return If(std::move(condition), std::move(t), std::move(f));
}
Stmt Mutator::MutateSeq(const SeqNode* op, const Stmt& self) {
  Rewritten stmts(*this, op->stmts);
  return stmts.changed() ? Sequence(stmts.Take()) : self;
}
Stmt Mutator::MutateStore(const StoreNode* op, const Stmt& self) {
  Buffer buffer = MutateBuffer(op->buffer);
  Rewritten indices(*this, op->indices);
  Expr value = Mutate(op->value), predicate = Mutate(op->predicate);
  if (buffer.same_as(op->buffer) && !indices.changed() && value.same_as(op->value) &&
      predicate.same_as(op->predicate)) {
    return self;
  }
  return Store(std::move(buffer), std::move(value), indices.Take(), std::move(predicate));
}
Stmt Mutator::MutateEvaluate(const EvaluateNode* op, const Stmt& self) {
  Expr value = Mutate(op->value);
  return value.same_as(op->value) ? self : Evaluate(std::move(value));
}
Stmt Mutator::MutateLetStmt(const LetStmtNode* op, const Stmt& self) {
  Expr value = Mutate(op->value);
  Stmt body = Mutate(op->body);
  if (value.same_as(op->value) && body.same_as(op->body)) return self;
  return LetStmt(op->var, std::move(value), std::move(body));
}
Stmt Mutator::MutateAttrStmt(const AttrStmtNode* op, const Stmt& self) {
  Expr node = Mutate(op->node), value = Mutate(op->value);
  Stmt body = Mutate(op->body);
  if (node.same_as(op->node) && value.same_as(op->value) && body.same_as(op->body)) return self;
  return Stmt(new AttrStmtNode(std::move(node), op->key, std::move(value), std::move(body)));
}
Stmt Mutator::MutateAssert(const AssertNode* op, const Stmt& self) {
  Expr condition = Mutate(op->condition);
  return condition.same_as(op->condition) ? self : Stmt(new AssertNode(std::move(condition), op->message));
}
Stmt Mutator::MutateAllocate(const AllocateNode* op, const Stmt& self) {
  Buffer buffer = MutateBuffer(op->buffer);
  Stmt body = Mutate(op->body);
  if (buffer.same_as(op->buffer) && body.same_as(op->body)) return self;
  return Stmt(new AllocateNode(std::move(buffer), op->annotations, std::move(body)));
}
Stmt Mutator::MutateDeclBuffer(const DeclBufferNode* op, const Stmt& self) {
  Buffer buffer = MutateBuffer(op->buffer);
  Stmt body = Mutate(op->body);
  if (buffer.same_as(op->buffer) && body.same_as(op->body)) return self;
  return Stmt(new DeclBufferNode(std::move(buffer), std::move(body)));
}
Stmt Mutator::MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) {
  Rewritten bindings(*this, op->bindings);
  Expr predicate = Mutate(op->predicate);
  Block block = MutateBlock(op->block);
  if (!bindings.changed() && predicate.same_as(op->predicate) && block.same_as(op->block)) return self;
  return Realize(bindings.Take(), std::move(predicate), std::move(block));
}
Stmt Mutator::MutateSync(const SyncNode* op, const Stmt& self) {
  Expr operand = Mutate(op->operand), object = Mutate(op->object);
  if (operand.same_as(op->operand) && object.same_as(op->object)) return self;
  return Stmt(new SyncNode(op->sync, op->memory, op->participants, std::move(operand), std::move(object)));
}

Block Mutator::MutateBlock(const Block& block) {
  const BlockNode& op = *block;
  Rewritten iter_vars(*this, op.iter_vars);
  Rewritten reads(*this, op.reads), writes(*this, op.writes);
  Rewritten alloc_buffers(*this, op.alloc_buffers);
  Rewritten match_buffers(*this, op.match_buffers);
  Stmt init = Mutate(op.init), body = Mutate(op.body);
  const bool changed = iter_vars.changed() || reads.changed() || writes.changed() || alloc_buffers.changed() ||
                       match_buffers.changed() || !init.same_as(op.init) || !body.same_as(op.body);
  if (!changed) return block;
  return Block({op.id, op.name, iter_vars.Take(), reads.Take(), writes.Take(), std::move(init), alloc_buffers.Take(),
                match_buffers.Take(), op.annotations, std::move(body)});
}

Block StmtMutator::MutateBlock(const Block& block) {
  Stmt init = Mutate(block->init), body = Mutate(block->body);
  if (init.same_as(block->init) && body.same_as(block->body)) return block;
  BlockNode::Fields fields = block->fields();
  fields.init = std::move(init);
  fields.body = std::move(body);
  return Block(std::move(fields));
}
Stmt StmtMutator::MutateFor(const ForNode* op, const Stmt& self) {
  Stmt body = Mutate(op->body);
  if (body.same_as(op->body)) return self;
  ForNode::Fields fields = op->fields();
  fields.body = std::move(body);
  return For(std::move(fields));
}
Stmt StmtMutator::MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) {
  Block block = MutateBlock(op->block);
  return block.same_as(op->block) ? self : Realize(op->bindings, op->predicate, std::move(block));
}

namespace {

class ExprRewriter : public Mutator {
 public:
  explicit ExprRewriter(const std::function<Expr(const Expr&)>& rewrite) : rewrite_(rewrite) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e ? rewrite_(Mutator::Mutate(e)) : e; }

 private:
  const std::function<Expr(const Expr&)>& rewrite_;
};

class StmtRewriter : public StmtMutator {
 public:
  explicit StmtRewriter(const std::function<Stmt(const Stmt&)>& rewrite) : rewrite_(rewrite) {}
  using StmtMutator::Mutate;
  Stmt Mutate(const Stmt& s) override { return s ? rewrite_(StmtMutator::Mutate(s)) : s; }

 private:
  const std::function<Stmt(const Stmt&)>& rewrite_;
};

}  // namespace

Expr RewriteExpr(const Expr& e, const std::function<Expr(const Expr&)>& rewrite) {
  return ExprRewriter(rewrite).Mutate(e);
}
Stmt RewriteExprs(const Stmt& s, const std::function<Expr(const Expr&)>& rewrite) {
  return ExprRewriter(rewrite).Mutate(s);
}
Stmt RewriteStmt(const Stmt& s, const std::function<Stmt(const Stmt&)>& rewrite) {
  return StmtRewriter(rewrite).Mutate(s);
}

}  // namespace tilewright

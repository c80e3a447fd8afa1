#include "ir/functor.h"

#include "ir/check.h"

namespace tilewright {

// ---- Visitor

void Visitor::Visit(const Expr& e) {
  if (!e) return;
  switch (e->kind()) {
    case Kind::kIntImm:
      return VisitIntImm(cast<IntImmNode>(e));
    case Kind::kFloatImm:
      return VisitFloatImm(cast<FloatImmNode>(e));
    case Kind::kStringImm:
      return VisitStringImm(cast<StringImmNode>(e));
    case Kind::kVar:
      return VisitVar(cast<VarNode>(e));
    case Kind::kBinary:
      return VisitBinary(cast<BinaryNode>(e));
    case Kind::kNot:
      return VisitNot(cast<NotNode>(e));
    case Kind::kSelect:
      return VisitSelect(cast<SelectNode>(e));
    case Kind::kCast:
      return VisitCast(cast<CastNode>(e));
    case Kind::kLoad:
      return VisitLoad(cast<LoadNode>(e));
    case Kind::kRamp:
      return VisitRamp(cast<RampNode>(e));
    case Kind::kBroadcast:
      return VisitBroadcast(cast<BroadcastNode>(e));
    case Kind::kShuffle:
      return VisitShuffle(cast<ShuffleNode>(e));
    case Kind::kLet:
      return VisitLet(cast<LetNode>(e));
    case Kind::kCall:
      return VisitCall(cast<CallNode>(e));
    default:
      TW_UNREACHABLE();
  }
}

void Visitor::Visit(const Stmt& s) {
  if (!s) return;
  switch (s->kind()) {
    case Kind::kFor:
      return VisitFor(cast<ForNode>(s));
    case Kind::kWhile:
      return VisitWhile(cast<WhileNode>(s));
    case Kind::kIf:
      return VisitIf(cast<IfNode>(s));
    case Kind::kSeq:
      return VisitSeq(cast<SeqNode>(s));
    case Kind::kStore:
      return VisitStore(cast<StoreNode>(s));
    case Kind::kEvaluate:
      return VisitEvaluate(cast<EvaluateNode>(s));
    case Kind::kLetStmt:
      return VisitLetStmt(cast<LetStmtNode>(s));
    case Kind::kAttrStmt:
      return VisitAttrStmt(cast<AttrStmtNode>(s));
    case Kind::kAssert:
      return VisitAssert(cast<AssertNode>(s));
    case Kind::kAllocate:
      return VisitAllocate(cast<AllocateNode>(s));
    case Kind::kDeclBuffer:
      return VisitDeclBuffer(cast<DeclBufferNode>(s));
    case Kind::kBlockRealize:
      return VisitBlockRealize(cast<BlockRealizeNode>(s));
    case Kind::kSync:
      return VisitSync(cast<SyncNode>(s));
    default:
      TW_UNREACHABLE();
  }
}

void Visitor::VisitAll(const std::vector<Expr>& exprs) {
  for (const Expr& e : exprs) Visit(e);
}
void Visitor::VisitRegion(const std::vector<Range>& region) {
  for (const Range& range : region) {
    Visit(range.min);
    Visit(range.extent);
  }
}
void Visitor::VisitBinary(const BinaryNode* op) {
  Visit(op->a);
  Visit(op->b);
}
void Visitor::VisitNot(const NotNode* op) { Visit(op->a); }
void Visitor::VisitSelect(const SelectNode* op) {
  Visit(op->condition);
  Visit(op->true_value);
  Visit(op->false_value);
}
void Visitor::VisitCast(const CastNode* op) { Visit(op->value); }
void Visitor::VisitLoad(const LoadNode* op) {
  VisitAll(op->indices);
  Visit(op->predicate);
}
void Visitor::VisitRamp(const RampNode* op) {
  Visit(op->base);
  Visit(op->stride);
}
void Visitor::VisitBroadcast(const BroadcastNode* op) { Visit(op->value); }
void Visitor::VisitShuffle(const ShuffleNode* op) { VisitAll(op->vectors); }
void Visitor::VisitLet(const LetNode* op) {
  Visit(op->value);
  Visit(op->body);
}
void Visitor::VisitCall(const CallNode* op) { VisitAll(op->args); }
void Visitor::VisitFor(const ForNode* op) {
  Visit(op->min);
  Visit(op->extent);
  Visit(op->body);
}
void Visitor::VisitWhile(const WhileNode* op) {
  Visit(op->condition);
  Visit(op->body);
}
void Visitor::VisitIf(const IfNode* op) {
  Visit(op->condition);
  Visit(op->then_case);
  Visit(op->else_case);
}
void Visitor::VisitSeq(const SeqNode* op) {
  for (const Stmt& s : op->stmts) Visit(s);
}
void Visitor::VisitStore(const StoreNode* op) {
  VisitAll(op->indices);
  Visit(op->value);
  Visit(op->predicate);
}
void Visitor::VisitEvaluate(const EvaluateNode* op) { Visit(op->value); }
void Visitor::VisitLetStmt(const LetStmtNode* op) {
  Visit(op->value);
  Visit(op->body);
}
void Visitor::VisitAttrStmt(const AttrStmtNode* op) {
  Visit(op->node);
  Visit(op->value);
  Visit(op->body);
}
void Visitor::VisitAssert(const AssertNode* op) { Visit(op->condition); }
void Visitor::VisitAllocate(const AllocateNode* op) { Visit(op->body); }
void Visitor::VisitDeclBuffer(const DeclBufferNode* op) { Visit(op->body); }
void Visitor::VisitBlockRealize(const BlockRealizeNode* op) {
  VisitAll(op->bindings);
  Visit(op->predicate);
  VisitBlock(op->block.get());
}
void Visitor::VisitSync(const SyncNode* op) {
  Visit(op->operand);
  Visit(op->object);
}
void Visitor::VisitBlock(const BlockNode* op) {
  for (const IterVar& iter : op->iter_vars) {
    Visit(iter.domain.min);
    Visit(iter.domain.extent);
  }
  for (const BufferRegion& region : op->reads) VisitRegion(region.region);
  for (const BufferRegion& region : op->writes) VisitRegion(region.region);
  for (const MatchBuffer& match : op->match_buffers) VisitRegion(match.source.region);
  Visit(op->init);
  Visit(op->body);
}

// ---- Mutator

Expr Mutator::Mutate(const Expr& e) {
  if (!e) return e;
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

bool Same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].same_as(b[i])) return false;
  }
  return true;
}
bool Same(const Range& a, const Range& b) { return a.min.same_as(b.min) && a.extent.same_as(b.extent); }
bool Same(const BufferRegion& a, const BufferRegion& b) {
  if (!a.buffer.same_as(b.buffer)) return false;
  for (size_t i = 0; i < a.region.size(); ++i) {
    if (!Same(a.region[i], b.region[i])) return false;
  }
  return true;
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
  std::vector<Expr> indices = MutateAll(op->indices);
  Expr predicate = Mutate(op->predicate);
  if (buffer.same_as(op->buffer) && Same(indices, op->indices) && predicate.same_as(op->predicate)) return self;
  return buffer.Load(std::move(indices), std::move(predicate));
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
  std::vector<Expr> vectors = MutateAll(op->vectors);
  if (Same(vectors, op->vectors)) return self;
  return Expr(new ShuffleNode(std::move(vectors), op->indices));
}
Expr Mutator::MutateLet(const LetNode* op, const Expr& self) {
  Expr value = Mutate(op->value), body = Mutate(op->body);
  if (value.same_as(op->value) && body.same_as(op->body)) return self;
  return Expr(new LetNode(op->var, std::move(value), std::move(body)));
}
Expr Mutator::MutateCall(const CallNode* op, const Expr& self) {
  std::vector<Expr> args = MutateAll(op->args);
  return Same(args, op->args) ? self : Call(op->dtype(), op->op, std::move(args));
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
  std::vector<Stmt> stmts;
  stmts.reserve(op->stmts.size());
  bool changed = false;
  for (const Stmt& s : op->stmts) {
    stmts.push_back(Mutate(s));
    changed |= !stmts.back().same_as(s);
  }
  return changed ? Sequence(std::move(stmts)) : self;
}
Stmt Mutator::MutateStore(const StoreNode* op, const Stmt& self) {
  Buffer buffer = MutateBuffer(op->buffer);
  std::vector<Expr> indices = MutateAll(op->indices);
  Expr value = Mutate(op->value), predicate = Mutate(op->predicate);
  if (buffer.same_as(op->buffer) && Same(indices, op->indices) && value.same_as(op->value) &&
      predicate.same_as(op->predicate)) {
    return self;
  }
  return Store(std::move(buffer), std::move(value), std::move(indices), std::move(predicate));
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
  std::vector<Expr> bindings = MutateAll(op->bindings);
  Expr predicate = Mutate(op->predicate);
  Block block = MutateBlock(op->block);
  if (Same(bindings, op->bindings) && predicate.same_as(op->predicate) && block.same_as(op->block)) return self;
  return Realize(std::move(bindings), std::move(predicate), std::move(block));
}
Stmt Mutator::MutateSync(const SyncNode* op, const Stmt& self) {
  Expr operand = Mutate(op->operand), object = Mutate(op->object);
  if (operand.same_as(op->operand) && object.same_as(op->object)) return self;
  return Stmt(new SyncNode(op->sync, op->memory, op->participants, std::move(operand), std::move(object)));
}

Block Mutator::MutateBlock(const Block& block) {
  BlockNode::Fields fields = block->fields();
  bool changed = false;
  for (IterVar& iter : fields.iter_vars) {
    Range domain = MutateRange(iter.domain);
    changed |= !Same(domain, iter.domain);
    iter.domain = std::move(domain);
  }
  auto mutate_region = [&](BufferRegion& region) {
    BufferRegion mutated = MutateRegion(region);
    changed |= !Same(mutated, region);
    region = std::move(mutated);
  };
  for (BufferRegion& region : fields.reads) mutate_region(region);
  for (BufferRegion& region : fields.writes) mutate_region(region);
  auto mutate_buffer = [&](Buffer& buffer) {
    Buffer mutated = MutateBuffer(buffer);
    changed |= !mutated.same_as(buffer);
    buffer = std::move(mutated);
  };
  for (Buffer& buffer : fields.alloc_buffers) mutate_buffer(buffer);
  for (MatchBuffer& match : fields.match_buffers) {
    mutate_buffer(match.buffer);
    mutate_region(match.source);
  }
  Stmt init = Mutate(fields.init), body = Mutate(fields.body);
  changed |= !init.same_as(fields.init) || !body.same_as(fields.body);
  if (!changed) return block;
  fields.init = std::move(init);
  fields.body = std::move(body);
  return Block(std::move(fields));
}

// ---- Lambdas

namespace {

class ExprPreOrder : public Visitor {
 public:
  explicit ExprPreOrder(const std::function<bool(const Expr&)>& visit) : visit_(visit) {}
  using Visitor::Visit;
  void Visit(const Expr& e) override {
    if (e && visit_(e)) Visitor::Visit(e);
  }

 private:
  const std::function<bool(const Expr&)>& visit_;
};

class StmtPreOrder : public Visitor {
 public:
  explicit StmtPreOrder(const std::function<bool(const Stmt&)>& visit) : visit_(visit) {}
  void Visit(const Expr&) override {}
  void Visit(const Stmt& s) override {
    if (s && visit_(s)) Visitor::Visit(s);
  }

 private:
  const std::function<bool(const Stmt&)>& visit_;
};

class ExprRewriter : public Mutator {
 public:
  explicit ExprRewriter(const std::function<Expr(const Expr&)>& rewrite) : rewrite_(rewrite) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e ? rewrite_(Mutator::Mutate(e)) : e; }

 private:
  const std::function<Expr(const Expr&)>& rewrite_;
};

class StmtRewriter : public Mutator {
 public:
  explicit StmtRewriter(const std::function<Stmt(const Stmt&)>& rewrite) : rewrite_(rewrite) {}
  Expr Mutate(const Expr& e) override { return e; }
  Stmt Mutate(const Stmt& s) override { return s ? rewrite_(Mutator::Mutate(s)) : s; }

 private:
  const std::function<Stmt(const Stmt&)>& rewrite_;
};

}  // namespace

void PreOrder(const Expr& e, const std::function<bool(const Expr&)>& visit) { ExprPreOrder(visit).Visit(e); }
void PreOrderExprs(const Stmt& s, const std::function<bool(const Expr&)>& visit) { ExprPreOrder(visit).Visit(s); }
void PreOrder(const Stmt& s, const std::function<bool(const Stmt&)>& visit) { StmtPreOrder(visit).Visit(s); }
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

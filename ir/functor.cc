#include "ir/functor.h"

#include <cstdint>

#include "base/check.h"

namespace tilewright {
namespace internal {
constinit thread_local int64_t visited_nodes = 0;  // NodesVisited of iterations.h gives it
}  // namespace internal

void Visitor::Visit(const Expr& e) {
  if (!e) return;
  ++internal::visited_nodes;
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
  ++internal::visited_nodes;
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

void StmtVisitor::VisitFor(const ForNode* op) { Visit(op->body); }
void StmtVisitor::VisitBlockRealize(const BlockRealizeNode* op) { VisitBlock(op->block.get()); }
void StmtVisitor::VisitBlock(const BlockNode* op) {
  Visit(op->init);
  Visit(op->body);
}

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

class StmtPreOrder : public StmtVisitor {
 public:
  explicit StmtPreOrder(const std::function<bool(const Stmt&)>& visit) : visit_(visit) {}
  using StmtVisitor::Visit;
  void Visit(const Stmt& s) override {
    if (s && visit_(s)) StmtVisitor::Visit(s);
  }

 private:
  const std::function<bool(const Stmt&)>& visit_;
};

}  // namespace

void PreOrder(const Expr& e, const std::function<bool(const Expr&)>& visit) { ExprPreOrder(visit).Visit(e); }
void PreOrderExprs(const Stmt& s, const std::function<bool(const Expr&)>& visit) { ExprPreOrder(visit).Visit(s); }
void PreOrder(const Stmt& s, const std::function<bool(const Stmt&)>& visit) { StmtPreOrder(visit).Visit(s); }

}  // namespace tilewright

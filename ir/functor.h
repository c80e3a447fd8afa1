// Traversal: Visitor looks at every node below a statement or expression, Mutator rewrites and shares what it does not
// change. Derive and override the kinds you care about; call the base's method to go on into the operands.
//
//   class CountLoads : public Visitor {
//     void VisitLoad(const LoadNode* op) override { ++count; Visitor::VisitLoad(op); }
//     ...
//   };
//
// StmtVisitor and StmtMutator are for what concerns statements alone: they enter no expressions and no regions.
//
// For one-off needs there are PreOrder and the two Rewrite functions, which take a lambda.
//
// Both walk a block's bindings and predicate, its iterator domains, regions, match_buffer sources, init and body, in
// that order. Buffers' own shapes and strides are not entered.
#pragma once

#include <functional>

#include "ir/function.h"
#include "ir/stmt.h"

namespace tilewright {

class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void Visit(const Expr& e);  // null is ignored
  virtual void Visit(const Stmt& s);

 protected:
  virtual void VisitIntImm(const IntImmNode*) {}
  virtual void VisitFloatImm(const FloatImmNode*) {}
  virtual void VisitStringImm(const StringImmNode*) {}
  virtual void VisitVar(const VarNode*) {}
  virtual void VisitBinary(const BinaryNode* op);
  virtual void VisitNot(const NotNode* op);
  virtual void VisitSelect(const SelectNode* op);
  virtual void VisitCast(const CastNode* op);
  virtual void VisitLoad(const LoadNode* op);
  virtual void VisitRamp(const RampNode* op);
  virtual void VisitBroadcast(const BroadcastNode* op);
  virtual void VisitShuffle(const ShuffleNode* op);
  virtual void VisitLet(const LetNode* op);
  virtual void VisitCall(const CallNode* op);
  virtual void VisitFor(const ForNode* op);
  virtual void VisitWhile(const WhileNode* op);
  virtual void VisitIf(const IfNode* op);
  virtual void VisitSeq(const SeqNode* op);
  virtual void VisitStore(const StoreNode* op);
  virtual void VisitEvaluate(const EvaluateNode* op);
  virtual void VisitLetStmt(const LetStmtNode* op);
  virtual void VisitAttrStmt(const AttrStmtNode* op);
  virtual void VisitAssert(const AssertNode* op);
  virtual void VisitAllocate(const AllocateNode* op);
  virtual void VisitDeclBuffer(const DeclBufferNode* op);
  virtual void VisitBlockRealize(const BlockRealizeNode* op);
  virtual void VisitSync(const SyncNode* op);
  virtual void VisitBlock(const BlockNode* op);
  void VisitAll(const std::vector<Expr>& exprs);
  void VisitRegion(const std::vector<Range>& region);
};

class StmtVisitor : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}

 protected:
  void VisitFor(const ForNode* op) override;
  void VisitStore(const StoreNode*) override {}
  void VisitBlockRealize(const BlockRealizeNode* op) override;
  void VisitBlock(const BlockNode* op) override;
};

class Mutator {
 public:
  virtual ~Mutator() = default;
  virtual Expr Mutate(const Expr& e);  // null stays null
  virtual Stmt Mutate(const Stmt& s);
  // Called for every buffer that is used (loads, stores, regions, declarations); the default keeps it.
  virtual Buffer MutateBuffer(const Buffer& buffer) { return buffer; }
  virtual Block MutateBlock(const Block& block);
  std::vector<Expr> MutateAll(const std::vector<Expr>& exprs);
  Range MutateRange(const Range& range);
  BufferRegion MutateRegion(const BufferRegion& region);

 protected:
  // `self` is the same node as `op`: return it when nothing changed.
  virtual Expr MutateVar(const VarNode* op, const Expr& self);
  virtual Expr MutateBinary(const BinaryNode* op, const Expr& self);
  virtual Expr MutateNot(const NotNode* op, const Expr& self);
  virtual Expr MutateSelect(const SelectNode* op, const Expr& self);
  virtual Expr MutateCast(const CastNode* op, const Expr& self);
  virtual Expr MutateLoad(const LoadNode* op, const Expr& self);
  virtual Expr MutateRamp(const RampNode* op, const Expr& self);
  virtual Expr MutateBroadcast(const BroadcastNode* op, const Expr& self);
  virtual Expr MutateShuffle(const ShuffleNode* op, const Expr& self);
  virtual Expr MutateLet(const LetNode* op, const Expr& self);
  virtual Expr MutateCall(const CallNode* op, const Expr& self);
  virtual Stmt MutateFor(const ForNode* op, const Stmt& self);
  virtual Stmt MutateWhile(const WhileNode* op, const Stmt& self);
  virtual Stmt MutateIf(const IfNode* op, const Stmt& self);
  virtual Stmt MutateSeq(const SeqNode* op, const Stmt& self);
  virtual Stmt MutateStore(const StoreNode* op, const Stmt& self);
  virtual Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self);
  virtual Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self);
  virtual Stmt MutateAttrStmt(const AttrStmtNode* op, const Stmt& self);
  virtual Stmt MutateAssert(const AssertNode* op, const Stmt& self);
  virtual Stmt MutateAllocate(const AllocateNode* op, const Stmt& self);
  virtual Stmt MutateDeclBuffer(const DeclBufferNode* op, const Stmt& self);
  virtual Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self);
  virtual Stmt MutateSync(const SyncNode* op, const Stmt& self);
};

class StmtMutator : public Mutator {
 public:
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  Block MutateBlock(const Block& block) override;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override;
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return self; }
  Stmt MutateEvaluate(const EvaluateNode*, const Stmt& self) override { return self; }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override;
};

// Calls `visit` on every expression below `e` (or `s`), parents first; `visit` returns whether to enter the operands.
void PreOrder(const Expr& e, const std::function<bool(const Expr&)>& visit);
void PreOrderExprs(const Stmt& s, const std::function<bool(const Expr&)>& visit);
// The same over statements.
void PreOrder(const Stmt& s, const std::function<bool(const Stmt&)>& visit);

// Rewrites bottom-up: `rewrite` sees each expression with its operands already rewritten and returns it or another.
Expr RewriteExpr(const Expr& e, const std::function<Expr(const Expr&)>& rewrite);
Stmt RewriteExprs(const Stmt& s, const std::function<Expr(const Expr&)>& rewrite);
// The same over statements (expressions untouched).
Stmt RewriteStmt(const Stmt& s, const std::function<Stmt(const Stmt&)>& rewrite);

}  // namespace tilewright

#include "ir/stmt.h"

#include "base/check.h"

namespace tilewright {

ForNode::ForNode(Fields f)
    : StmtNode(kKind),
      id(f.id),
      var(std::move(f.var)),
      min(f.min ? std::move(f.min) : Const(var.dtype(), 0)),
      extent(std::move(f.extent)),
      kind(f.kind),
      thread_tag(std::move(f.thread_tag)),
      annotations(std::move(f.annotations)),
      body(std::move(f.body)) {
  TW_CHECK(var && extent && body);
}
ForNode::Fields ForNode::fields() const { return {id, var, min, extent, kind, thread_tag, annotations, body}; }

BlockNode::BlockNode(Fields f)
    : Node(kKind),
      id(f.id),
      name(std::move(f.name)),
      iter_vars(std::move(f.iter_vars)),
      reads(std::move(f.reads)),
      writes(std::move(f.writes)),
      init(std::move(f.init)),
      alloc_buffers(std::move(f.alloc_buffers)),
      match_buffers(std::move(f.match_buffers)),
      annotations(std::move(f.annotations)),
      body(std::move(f.body)) {
  TW_CHECK(body) << "block " << name << " has no body";
}
BlockNode::Fields BlockNode::fields() const {
  return {id, name, iter_vars, reads, writes, init, alloc_buffers, match_buffers, annotations, body};
}

Stmt For(ForNode::Fields fields) { return Stmt(new ForNode(std::move(fields))); }
Stmt While(Expr condition, Stmt body) { return Stmt(new WhileNode(std::move(condition), std::move(body))); }
Stmt If(Expr condition, Stmt then_case, Stmt else_case) {
  return Stmt(new IfNode(std::move(condition), std::move(then_case), std::move(else_case)));
}

Stmt Sequence(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  flat.reserve(stmts.size());
  for (Stmt& stmt : stmts) {
    if (!stmt || IsNoOp(stmt)) continue;
    if (const auto* seq = dyn_cast<SeqNode>(stmt)) {
      flat.insert(flat.end(), seq->stmts.begin(), seq->stmts.end());
    } else {
      flat.push_back(std::move(stmt));
    }
  }
  if (flat.empty()) return Evaluate(Expr(0));
  if (flat.size() == 1) return flat[0];
  return Stmt(new SeqNode(std::move(flat)));
}

Stmt Store(Buffer buffer, Expr value, std::vector<Expr> indices, Expr predicate) {
  TW_CHECK(indices.size() == buffer->ndim()) << "store to buffer " << buffer->name;
  int lanes = 1;
  for (const Expr& index : indices) lanes = std::max(lanes, index.dtype().lanes());
  const DataType type = buffer->dtype.with_lanes(buffer->dtype.lanes() * lanes);
  if (value.dtype().lanes() == 1 && lanes > 1) value = Broadcast(value, lanes);
  if (isa<IntImmNode>(value) || isa<FloatImmNode>(value)) value = CastTo(type, value);
  TW_CHECK(value.dtype() == type) << "store of " << value.dtype().ToString() << " to buffer " << buffer->name << " of "
                                  << type.ToString();
  return Stmt(new StoreNode(std::move(buffer), std::move(value), std::move(indices), std::move(predicate)));
}
Stmt Evaluate(Expr value) { return Stmt(new EvaluateNode(std::move(value))); }
Stmt LetStmt(Var var, Expr value, Stmt body) {
  return Stmt(new LetStmtNode(std::move(var), std::move(value), std::move(body)));
}
Stmt Realize(std::vector<Expr> bindings, Expr predicate, Block block) {
  TW_CHECK(bindings.size() == block->iter_vars.size()) << "block " << block->name;
  if (!predicate) predicate = True();
  return Stmt(new BlockRealizeNode(std::move(bindings), std::move(predicate), std::move(block)));
}
bool IsNoOp(const Stmt& stmt) {
  const auto* evaluate = dyn_cast<EvaluateNode>(stmt);
  return evaluate != nullptr && isa<IntImmNode>(evaluate->value);
}

Annotation MakeAnnotation(Expr value) { return {std::move(value)}; }
Annotation MakeAnnotation(std::string value) { return {String(std::move(value))}; }

const char* ForKindName(ForKind kind) {
  switch (kind) {
    case ForKind::kSerial:
      return "serial";
    case ForKind::kParallel:
      return "parallel";
    case ForKind::kVectorized:
      return "vectorized";
    case ForKind::kUnrolled:
      return "unroll";
    case ForKind::kThreadBound:
      return "thread_binding";
  }
  TW_UNREACHABLE();
}
const char* IterKindName(IterKind kind) {
  switch (kind) {
    case IterKind::kSpatial:
      return "spatial";
    case IterKind::kReduce:
      return "reduce";
    case IterKind::kScan:
      return "scan";
    case IterKind::kOpaque:
      return "opaque";
  }
  TW_UNREACHABLE();
}

}  // namespace tilewright

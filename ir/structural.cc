#include "ir/structural.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "ir/annotations.h"

namespace tilewright {
namespace {

class Comparator {
 public:
  explicit Comparator(bool map_free) : map_free_(map_free) {}

  bool Equal(const Expr& a, const Expr& b);
  bool Equal(const Stmt& a, const Stmt& b);
  bool Equal(const Function& a, const Function& b);
  bool Equal(const IndexMap& a, const IndexMap& b);

  Mismatch mismatch;

 private:
  // Records the innermost difference only; callers prepend where they were.
  bool Differ(std::string reason) {
    if (mismatch.reason.empty()) mismatch.reason = std::move(reason);
    return false;
  }
  bool In(const std::string& place, bool equal) {
    if (!equal) mismatch.path = place + (mismatch.path.empty() ? "" : ".") + mismatch.path;
    return equal;
  }
  bool At(const Stmt& a, const Stmt& b, bool equal) {
    if (!equal && !mismatch.a) {
      mismatch.a = a;
      mismatch.b = b;
    }
    return equal;
  }

  bool EqualVars(const Var& a, const Var& b);
  bool Bind(const Var& a, const Var& b) {
    if (a.dtype() != b.dtype()) {
      return Differ("variables " + a.name() + " of " + a.dtype().ToString() + " and " + b.name() + " of " +
                    b.dtype().ToString());
    }
    // What an attribute named before it was defined stays that.
    if (announced_.contains(a.get()) || announced_.contains(b.get())) return EqualVars(a, b);
    left_[a.get()] = b.get();
    right_[b.get()] = a.get();
    return true;
  }
  // A buffer is bound where it is defined; after that only the same pair is equal.
  bool BindBuffer(const Buffer& a, const Buffer& b);
  bool EqualBuffers(const Buffer& a, const Buffer& b);
  // Compares, and binds variables of sub-buffers (offset, strides) that are met for the first time.
  bool EqualOrBind(const Expr& a, const Expr& b);
  // For what an attribute or annotation mentions: it may be a variable that is defined below, or gone.
  bool EqualOrAnnounce(const Expr& a, const Expr& b);

  bool EqualLists(const std::vector<Expr>& a, const std::vector<Expr>& b, const char* what) {
    if (a.size() != b.size()) {
      return Differ(std::to_string(a.size()) + " and " + std::to_string(b.size()) + " " + what);
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!In(std::string(what) + "[" + std::to_string(i) + "]", Equal(a[i], b[i]))) return false;
    }
    return true;
  }
  bool Equal(const Range& a, const Range& b) { return Equal(a.min, b.min) && Equal(a.extent, b.extent); }
  bool Equal(const BufferRegion& a, const BufferRegion& b);
  bool Equal(const std::vector<BufferRegion>& a, const std::vector<BufferRegion>& b, const char* what);
  bool Equal(const Annotation& a, const Annotation& b);
  bool Equal(const Annotations& a, const Annotations& b);
  bool EqualBlocks(const BlockNode* a, const BlockNode* b);
  bool EqualLoops(const ForNode* a, const ForNode* b);
  bool EqualSequences(const SeqNode* a, const SeqNode* b);
  bool EqualAttributes(const AttrStmtNode* a, const AttrStmtNode* b);
  bool EqualSyncs(const SyncNode* a, const SyncNode* b);
  bool EqualStmts(const Stmt& a, const Stmt& b);
  bool EqualConstants(const Expr& a, const Expr& b);

  const bool map_free_;
  std::unordered_map<const Node*, const Node*> left_, right_;
  std::unordered_set<const Node*> announced_;  // variables that attributes name before the body defines them
};

bool Comparator::EqualVars(const Var& a, const Var& b) {
  auto l = left_.find(a.get());
  auto r = right_.find(b.get());
  if (l == left_.end() && r == right_.end()) {
    if (map_free_ ? Bind(a, b) : a.same_as(b)) return true;
  } else if (l != left_.end() && l->second == b.get() && r != right_.end()) {
    return true;
  }
  return Differ("variables " + a.name() + " and " + b.name());
}

bool Comparator::EqualOrBind(const Expr& a, const Expr& b) {
  const auto* va = dyn_cast<VarNode>(a);
  const auto* vb = dyn_cast<VarNode>(b);
  if (va != nullptr && vb != nullptr && !left_.contains(va) && !right_.contains(vb)) return Bind(Var(va), Var(vb));
  const auto* xa = dyn_cast<BinaryNode>(a);
  const auto* xb = dyn_cast<BinaryNode>(b);
  if (xa != nullptr && xb != nullptr && xa->op == xb->op && a.dtype() == b.dtype()) {
    return EqualOrBind(xa->a, xb->a) && EqualOrBind(xa->b, xb->b);
  }
  return Equal(a, b);
}

bool Comparator::EqualOrAnnounce(const Expr& a, const Expr& b) {
  const auto* va = dyn_cast<VarNode>(a);
  const auto* vb = dyn_cast<VarNode>(b);
  const bool fresh = va != nullptr && vb != nullptr && !left_.contains(va) && !right_.contains(vb);
  if (!EqualOrBind(a, b)) return false;
  if (fresh) announced_.insert({va, vb});
  return true;
}

bool Comparator::BindBuffer(const Buffer& a, const Buffer& b) {
  auto differ = [&](const std::string& what) { return Differ("buffers " + a->name + " and " + b->name + ": " + what); };
  if (a->dtype != b->dtype) return differ(a->dtype.ToString() + " and " + b->dtype.ToString());
  if (!(a->scope == b->scope)) return differ("scopes \"" + a->scope.text() + "\" and \"" + b->scope.text() + "\"");
  if (a->shape.size() != b->shape.size()) return differ("different numbers of dimensions");
  if (a->strides.size() != b->strides.size()) return differ("strides on one side only");
  for (size_t i = 0; i < a->shape.size(); ++i) {
    if (!EqualOrBind(a->shape[i], b->shape[i])) return differ("extents of dimension " + std::to_string(i));
  }
  for (size_t i = 0; i < a->strides.size(); ++i) {
    if (!EqualOrBind(a->strides[i], b->strides[i])) return differ("strides of dimension " + std::to_string(i));
  }
  // An absent offset is 0.
  const auto starts_at_zero = [](const BufferNode& buffer) {
    return !buffer.elem_offset || IsInt(buffer.elem_offset, 0);
  };
  if (!starts_at_zero(*a) || !starts_at_zero(*b)) {
    Expr zero(0);
    if (!EqualOrBind(a->elem_offset ? a->elem_offset : zero, b->elem_offset ? b->elem_offset : zero)) {
      return differ("element offsets");
    }
  }
  if (a->alignment != b->alignment) return differ("alignments");
  if (!Equal(a->layout.map, b->layout.map)) return differ("layouts");
  left_[a.get()] = b.get();
  right_[b.get()] = a.get();
  // Views of the same memory: the pointer is bound already.
  if (left_.contains(a->data.get()) || right_.contains(b->data.get())) return EqualVars(a->data, b->data);
  return Bind(a->data, b->data);
}

bool Comparator::EqualBuffers(const Buffer& a, const Buffer& b) {
  auto l = left_.find(a.get());
  auto r = right_.find(b.get());
  if (l == left_.end() && r == right_.end()) {
    if (map_free_ ? BindBuffer(a, b) : a.same_as(b)) return true;
  } else if (l != left_.end() && l->second == b.get() && r != right_.end()) {
    return true;
  }
  return Differ("buffers " + a->name + " and " + b->name);
}

bool Comparator::Equal(const IndexMap& a, const IndexMap& b) {
  if (!a || !b) return !a == !b;
  if (a->inputs.size() != b->inputs.size()) return false;
  for (size_t i = 0; i < a->inputs.size(); ++i) {
    if (!Bind(a->inputs[i], b->inputs[i])) return false;
  }
  return EqualLists(a->outputs, b->outputs, "outputs");
}

const char* OpName(BinaryOp op) {
  static constexpr const char* kNames[] = {"+",  "-",  "*", "/",  "truncmod", "//", "%",   "min", "max",
                                           "==", "!=", "<", "<=", ">",        ">=", "and", "or"};
  return kNames[static_cast<int>(op)];
}

bool Comparator::EqualConstants(const Expr& a, const Expr& b) {
  if (const auto* integer = dyn_cast<IntImmNode>(a)) {
    const int64_t va = integer->value, vb = cast<IntImmNode>(b)->value;
    return va == vb ? true : Differ(std::to_string(va) + " and " + std::to_string(vb));
  }
  if (const auto* number = dyn_cast<FloatImmNode>(a)) {
    const double va = number->value, vb = cast<FloatImmNode>(b)->value;
    return std::bit_cast<uint64_t>(va) == std::bit_cast<uint64_t>(vb)
               ? true
               : Differ(std::to_string(va) + " and " + std::to_string(vb));
  }
  const std::string &va = cast<StringImmNode>(a)->value, &vb = cast<StringImmNode>(b)->value;
  return va == vb ? true : Differ("\"" + va + "\" and \"" + vb + "\"");
}

bool Comparator::Equal(const Expr& a, const Expr& b) {
  if (!a || !b) return !a == !b ? true : Differ("an expression on one side only");
  if (a.same_as(b) && a->kind() != Kind::kVar && left_.empty()) return true;
  if (a->kind() != b->kind()) return Differ("different kinds of expression");
  if (a.dtype() != b.dtype()) return Differ("types " + a.dtype().ToString() + " and " + b.dtype().ToString());
  switch (a->kind()) {
    case Kind::kIntImm:
    case Kind::kFloatImm:
    case Kind::kStringImm:
      return EqualConstants(a, b);
    case Kind::kVar:
      return EqualVars(Var(cast<VarNode>(a)), Var(cast<VarNode>(b)));
    case Kind::kBinary: {
      const auto *x = cast<BinaryNode>(a), *y = cast<BinaryNode>(b);
      if (x->op != y->op) return Differ(std::string("operators ") + OpName(x->op) + " and " + OpName(y->op));
      return Equal(x->a, y->a) && Equal(x->b, y->b);
    }
    case Kind::kNot:
      return Equal(cast<NotNode>(a)->a, cast<NotNode>(b)->a);
    case Kind::kSelect: {
      const auto *x = cast<SelectNode>(a), *y = cast<SelectNode>(b);
      return Equal(x->condition, y->condition) && Equal(x->true_value, y->true_value) &&
             Equal(x->false_value, y->false_value);
    }
    case Kind::kCast:
      return Equal(cast<CastNode>(a)->value, cast<CastNode>(b)->value);
    case Kind::kLoad: {
      const auto *x = cast<LoadNode>(a), *y = cast<LoadNode>(b);
      return EqualBuffers(x->buffer, y->buffer) && EqualLists(x->indices, y->indices, "indices") &&
             Equal(x->predicate, y->predicate);
    }
    case Kind::kRamp: {
      const auto *x = cast<RampNode>(a), *y = cast<RampNode>(b);
      return Equal(x->base, y->base) && Equal(x->stride, y->stride);
    }
    case Kind::kBroadcast:
      return Equal(cast<BroadcastNode>(a)->value, cast<BroadcastNode>(b)->value);
    case Kind::kShuffle: {
      const auto *x = cast<ShuffleNode>(a), *y = cast<ShuffleNode>(b);
      return x->indices == y->indices ? EqualLists(x->vectors, y->vectors, "vectors") : Differ("shuffle indices");
    }
    case Kind::kLet: {
      const auto *x = cast<LetNode>(a), *y = cast<LetNode>(b);
      return Equal(x->value, y->value) && Bind(x->var, y->var) && Equal(x->body, y->body);
    }
    case Kind::kCall: {
      const auto *x = cast<CallNode>(a), *y = cast<CallNode>(b);
      if (x->op != y->op) return Differ("calls of " + x->op + " and " + y->op);
      return EqualLists(x->args, y->args, "args");
    }
    default:
      TW_UNREACHABLE();
  }
}

bool Comparator::Equal(const BufferRegion& a, const BufferRegion& b) {
  if (!EqualBuffers(a.buffer, b.buffer)) return false;
  if (a.region.size() != b.region.size()) return Differ("different numbers of dimensions");
  for (size_t i = 0; i < a.region.size(); ++i) {
    if (!In("dim[" + std::to_string(i) + "]", Equal(a.region[i], b.region[i]))) return false;
  }
  return true;
}
bool Comparator::Equal(const std::vector<BufferRegion>& a, const std::vector<BufferRegion>& b, const char* what) {
  if (a.size() != b.size()) {
    return Differ(std::to_string(a.size()) + " and " + std::to_string(b.size()) + " " + what);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (!In(std::string(what) + "[" + std::to_string(i) + "]", Equal(a[i], b[i]))) return false;
  }
  return true;
}

bool Comparator::Equal(const Annotation& a, const Annotation& b) {
  if (a.value.index() != b.value.index()) return Differ("annotation values of different kinds");
  if (const auto* e = std::get_if<Expr>(&a.value)) return EqualOrAnnounce(*e, std::get<Expr>(b.value));
  if (const auto* list = std::get_if<Annotation::List>(&a.value)) {
    const auto& other = std::get<Annotation::List>(b.value);
    if (list->size() != other.size()) return Differ("annotation lists of different lengths");
    for (size_t i = 0; i < list->size(); ++i) {
      if (!Equal((*list)[i], other[i])) return false;
    }
    return true;
  }
  return Equal(std::get<Annotation::Dict>(a.value), std::get<Annotation::Dict>(b.value));
}
bool Comparator::Equal(const Annotations& a, const Annotations& b) {
  for (const auto& [key, value] : a) {
    auto other = b.find(key);
    if (other == b.end()) return Differ("annotation \"" + key + "\" on the left only");
    if (!In("annotations[" + key + "]", Equal(value, other->second))) return false;
  }
  for (const auto& [key, value] : b) {
    if (!a.contains(key)) return Differ("annotation \"" + key + "\" on the right only");
  }
  return true;
}

bool Comparator::EqualBlocks(const BlockNode* a, const BlockNode* b) {
  if (a->name != b->name) return Differ("block names \"" + a->name + "\" and \"" + b->name + "\"");
  if (a->iter_vars.size() != b->iter_vars.size()) {
    return Differ(std::to_string(a->iter_vars.size()) + " and " + std::to_string(b->iter_vars.size()) + " iterators");
  }
  for (size_t i = 0; i < a->iter_vars.size(); ++i) {
    const IterVar &x = a->iter_vars[i], &y = b->iter_vars[i];
    const std::string place = "iter[" + x.var.name() + "]";
    if (x.kind != y.kind) return In(place, Differ(std::string(IterKindName(x.kind)) + " and " + IterKindName(y.kind)));
    if (!In(place, Equal(x.domain, y.domain) && Bind(x.var, y.var))) return false;
  }
  if (a->alloc_buffers.size() != b->alloc_buffers.size()) return Differ("different numbers of allocated buffers");
  for (size_t i = 0; i < a->alloc_buffers.size(); ++i) {
    if (!BindBuffer(a->alloc_buffers[i], b->alloc_buffers[i])) return false;
  }
  if (a->match_buffers.size() != b->match_buffers.size()) return Differ("different numbers of matched buffers");
  // Regions of the signature use buffers from outside of the block.
  if (!Equal(a->reads, b->reads, "reads") || !Equal(a->writes, b->writes, "writes")) return false;
  for (size_t i = 0; i < a->match_buffers.size(); ++i) {
    const MatchBuffer &x = a->match_buffers[i], &y = b->match_buffers[i];
    if (!In("match_buffer[" + x.buffer->name + "]", Equal(x.source, y.source) && BindBuffer(x.buffer, y.buffer))) {
      return false;
    }
  }
  if (!Equal(a->annotations, b->annotations)) return false;
  return In("init", Equal(a->init, b->init)) && Equal(a->body, b->body);
}

bool Comparator::Equal(const Stmt& a, const Stmt& b) { return At(a, b, EqualStmts(a, b)); }

bool Comparator::EqualLoops(const ForNode* a, const ForNode* b) {
  const std::string place = "for[" + a->var.name() + "]";
  if (a->kind != b->kind) {
    return In(place, Differ(std::string(ForKindName(a->kind)) + " and " + ForKindName(b->kind)));
  }
  if (a->thread_tag != b->thread_tag) return In(place, Differ("threads " + a->thread_tag + " and " + b->thread_tag));
  return In(place, In("min", Equal(a->min, b->min)) && In("extent", Equal(a->extent, b->extent)) &&
                       Equal(a->annotations, b->annotations) && Bind(a->var, b->var) && Equal(a->body, b->body));
}

bool Comparator::EqualSequences(const SeqNode* a, const SeqNode* b) {
  for (size_t i = 0; i < std::min(a->stmts.size(), b->stmts.size()); ++i) {
    if (!In("seq[" + std::to_string(i) + "]", Equal(a->stmts[i], b->stmts[i]))) return false;
  }
  return a->stmts.size() == b->stmts.size()
             ? true
             : Differ(std::to_string(a->stmts.size()) + " and " + std::to_string(b->stmts.size()) + " statements");
}

bool Comparator::EqualAttributes(const AttrStmtNode* a, const AttrStmtNode* b) {
  if (a->key != b->key) return Differ("attributes \"" + a->key + "\" and \"" + b->key + "\"");
  return In("attr[" + a->key + "]",
            EqualOrAnnounce(a->node, b->node) && Equal(a->value, b->value) && Equal(a->body, b->body));
}

bool Comparator::EqualSyncs(const SyncNode* a, const SyncNode* b) {
  if (a->sync != b->sync || !(a->memory == b->memory) || a->participants != b->participants) {
    return Differ("different synchronization");
  }
  return Equal(a->operand, b->operand) && Equal(a->object, b->object);
}

bool Comparator::EqualStmts(const Stmt& a, const Stmt& b) {
  if (!a || !b) return !a == !b ? true : Differ("a statement on one side only");
  if (a->kind() != b->kind()) return Differ("different kinds of statement");
  switch (a->kind()) {
    case Kind::kFor:
      return EqualLoops(cast<ForNode>(a), cast<ForNode>(b));
    case Kind::kWhile: {
      const auto *x = cast<WhileNode>(a), *y = cast<WhileNode>(b);
      return In("while", Equal(x->condition, y->condition) && Equal(x->body, y->body));
    }
    case Kind::kIf: {
      const auto *x = cast<IfNode>(a), *y = cast<IfNode>(b);
      return In("if", In("condition", Equal(x->condition, y->condition)) && Equal(x->then_case, y->then_case) &&
                          In("else", Equal(x->else_case, y->else_case)));
    }
    case Kind::kSeq:
      return EqualSequences(cast<SeqNode>(a), cast<SeqNode>(b));
    case Kind::kStore: {
      const auto *x = cast<StoreNode>(a), *y = cast<StoreNode>(b);
      return In("store[" + x->buffer->name + "]",
                EqualBuffers(x->buffer, y->buffer) && EqualLists(x->indices, y->indices, "indices") &&
                    In("value", Equal(x->value, y->value)) && Equal(x->predicate, y->predicate));
    }
    case Kind::kEvaluate:
      return In("evaluate", Equal(cast<EvaluateNode>(a)->value, cast<EvaluateNode>(b)->value));
    case Kind::kLetStmt: {
      const auto *x = cast<LetStmtNode>(a), *y = cast<LetStmtNode>(b);
      return In("let[" + x->var.name() + "]",
                Equal(x->value, y->value) && Bind(x->var, y->var) && Equal(x->body, y->body));
    }
    case Kind::kAttrStmt:
      return EqualAttributes(cast<AttrStmtNode>(a), cast<AttrStmtNode>(b));
    case Kind::kAssert: {
      const auto *x = cast<AssertNode>(a), *y = cast<AssertNode>(b);
      if (x->message != y->message) return Differ("messages \"" + x->message + "\" and \"" + y->message + "\"");
      return In("assert", Equal(x->condition, y->condition));
    }
    case Kind::kAllocate: {
      const auto *x = cast<AllocateNode>(a), *y = cast<AllocateNode>(b);
      return In("allocate[" + x->buffer->name + "]",
                BindBuffer(x->buffer, y->buffer) && Equal(x->annotations, y->annotations) && Equal(x->body, y->body));
    }
    case Kind::kDeclBuffer: {
      const auto *x = cast<DeclBufferNode>(a), *y = cast<DeclBufferNode>(b);
      return In("decl_buffer[" + x->buffer->name + "]", BindBuffer(x->buffer, y->buffer) && Equal(x->body, y->body));
    }
    case Kind::kBlockRealize: {
      const auto *x = cast<BlockRealizeNode>(a), *y = cast<BlockRealizeNode>(b);
      return In("block[" + x->block->name + "]", EqualLists(x->bindings, y->bindings, "bindings") &&
                                                     In("predicate", Equal(x->predicate, y->predicate)) &&
                                                     EqualBlocks(x->block.get(), y->block.get()));
    }
    case Kind::kSync:
      return EqualSyncs(cast<SyncNode>(a), cast<SyncNode>(b));
    default:
      TW_UNREACHABLE();
  }
}

bool Comparator::Equal(const Function& a, const Function& b) {
  if (a->params.size() != b->params.size()) {
    return Differ(std::to_string(a->params.size()) + " and " + std::to_string(b->params.size()) + " parameters");
  }
  for (size_t i = 0; i < a->params.size(); ++i) {
    const Param &x = a->params[i], &y = b->params[i];
    const std::string place = "params[" + std::to_string(i) + "]";
    if (!x.buffer != !y.buffer) return In(place, Differ("a buffer and a scalar"));
    if (!In(place, x.buffer ? BindBuffer(x.buffer, y.buffer) : Bind(x.var, y.var))) return false;
    // The handle of a buffer may be the buffer's own data pointer.
    if (x.buffer && !left_.contains(x.var.get()) && !Bind(x.var, y.var)) return false;
  }
  // The symbol a function is exported as is its name, which is not compared.
  Annotations attrs_a = a->attrs, attrs_b = b->attrs;
  for (Annotations* attrs : {&attrs_a, &attrs_b}) {
    attrs->erase(kGlobalSymbol);
    attrs->erase(kLikelySizes);
  }
  return In("attrs", Equal(attrs_a, attrs_b)) && In("body", Equal(a->body, b->body));
}

bool Report(bool equal, Comparator& comparator, Mismatch* mismatch) {
  if (!equal && mismatch != nullptr) *mismatch = std::move(comparator.mismatch);
  return equal;
}

}  // namespace

bool StructuralEqual(const Expr& a, const Expr& b, bool map_free) { return Comparator(map_free).Equal(a, b); }
bool StructuralEqual(const Stmt& a, const Stmt& b, bool map_free, Mismatch* mismatch) {
  Comparator comparator(map_free);
  return Report(comparator.Equal(a, b), comparator, mismatch);
}
bool StructuralEqual(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return StructuralEqual(x, y); });
}
bool StructuralEqual(const IndexMap& a, const IndexMap& b) { return Comparator(false).Equal(a, b); }
bool StructuralEqual(const Function& a, const Function& b, Mismatch* mismatch) {
  Comparator comparator(false);
  const bool equal = comparator.Equal(a, b);
  if (!equal) comparator.mismatch.path = a->name + "." + comparator.mismatch.path;
  return Report(equal, comparator, mismatch);
}
bool StructuralEqual(const Module& a, const Module& b, Mismatch* mismatch) {
  auto differ = [&](std::string reason) {
    if (mismatch != nullptr) *mismatch = {"module", std::move(reason), {}, {}};
    return false;
  };
  if (a.functions().size() != b.functions().size()) {
    return differ(std::to_string(a.functions().size()) + " and " + std::to_string(b.functions().size()) + " functions");
  }
  if (a.functions().size() == 1) return StructuralEqual(a.functions()[0], b.functions()[0], mismatch);
  for (const Function& function : a.functions()) {
    Function other = b.Find(function->name);
    if (!other) return differ("function " + function->name + " on the left only");
    if (!StructuralEqual(function, other, mismatch)) return false;
  }
  return true;
}

}  // namespace tilewright

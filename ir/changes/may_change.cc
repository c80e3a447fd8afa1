#include "ir/changes/may_change.h"

#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Calls `visit` on every pointer below `e`, those of the arrays it loads from too.
template <class F>
void ForEachPointer(const Expr& e, F visit) {
  PreOrder(e, [&](const Expr& part) {
    if (const auto* load = dyn_cast<LoadNode>(part)) visit(load->buffer->data.get());
    if (const auto* var = dyn_cast<VarNode>(part); var != nullptr && var->dtype().is_handle()) visit(var);
    return true;
  });
}

// Whether the call says of a pointer among its arguments that nothing is stored through it.
bool IsReadOnlyPointer(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->op != kAccessPtr) return false;
  const auto mask = AsInt(call->args.back());
  return mask && (*mask & kAccessWrite) == 0;
}

}  // namespace

Pointers::Pointers(const Stmt& s) {
  const auto join = [&](const VarNode* a, const VarNode* b) {
    a = Root(a);
    b = Root(b);
    if (a != b) same_[a] = b;
  };
  if (!s) return;
  PreOrder(s, [&](const Stmt& part) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(part)) {
      for (const MatchBuffer& match : realize->block->match_buffers) {
        join(match.buffer->data.get(), match.source.buffer->data.get());
      }
    }
    const auto* let = dyn_cast<LetStmtNode>(part);
    if (let != nullptr && let->var.dtype().is_handle()) {
      ForEachPointer(let->value, [&](const VarNode* pointer) { join(let->var.get(), pointer); });
    }
    return true;
  });
}

const VarNode* Pointers::Root(const VarNode* pointer) const {
  for (auto it = same_.find(pointer); it != same_.end(); it = same_.find(pointer)) pointer = it->second;
  return pointer;
}

StoredMemory::StoredMemory(const Stmt& s, const Pointers* pointers) : outside_(pointers), inside_(s) {
  if (!s) return;
  const auto add = [&](const VarNode* pointer) { stored_.insert(Root(pointer)); };
  PreOrder(s, [&](const Stmt& part) {
    if (const auto* store = dyn_cast<StoreNode>(part)) add(store->buffer->data.get());
    // What an array holds that begins here was not there before.
    if (const auto* allocate = dyn_cast<AllocateNode>(part)) add(allocate->buffer->data.get());
    if (const auto* realize = dyn_cast<BlockRealizeNode>(part)) {
      for (const Buffer& buffer : realize->block->alloc_buffers) add(buffer->data.get());
    }
    all_ |= isa<SyncNode>(part);
    return true;
  });
  PreOrderExprs(s, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr || EffectOf(call->op) != CallEffect::kOpaque) return true;
    for (const Expr& arg : call->args) {
      if (!IsReadOnlyPointer(arg)) ForEachPointer(arg, add);
    }
    return true;
  });
}

const VarNode* StoredMemory::Root(const VarNode* pointer) const {
  // Pointers named inside lead to those outside.
  pointer = inside_.Root(pointer);
  return outside_ == nullptr ? pointer : outside_->Root(pointer);
}

bool StoredMemory::MayChange(const Expr& e) const {
  if (!e || isa<VarNode>(e) || isa<IntImmNode>(e)) return false;
  bool changes = false;
  PreOrder(e, [&](const Expr& part) {
    if (const auto* call = dyn_cast<CallNode>(part)) changes |= EffectOf(call->op) == CallEffect::kOpaque;
    if (isa<LoadNode>(part)) changes |= all_;
    return !changes;
  });
  if (!changes && !stored_.empty()) {
    ForEachPointer(e, [&](const VarNode* pointer) { changes |= stored_.contains(Root(pointer)); });
  }
  return changes;
}

bool MayChange(const Expr& e, const Stmt& s, const Pointers* pointers) {
  if (!e || !s || isa<VarNode>(e) || isa<IntImmNode>(e)) return false;
  bool reads = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* call = dyn_cast<CallNode>(part);
    reads |=
        isa<LoadNode>(part) || part.dtype().is_handle() || (call != nullptr && EffectOf(call->op) != CallEffect::kPure);
    return !reads;
  });
  return reads && StoredMemory(s, pointers).MayChange(e);
}

}  // namespace tilewright

#include "codegen/lower/gpu/share_blocks.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

class Sharer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit Sharer(uint32_t next_id) : next_id_(next_id) {}
  uint32_t next_id() const { return next_id_; }
  bool changed() const { return changed_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const auto sharing = op->annotations.find(kSharingBlocks);
    if (op->kind != ForKind::kThreadBound || sharing == op->annotations.end()) return StmtMutator::MutateFor(op, self);
    changed_ = true;
    const int64_t blocks = *AsInt(std::get<Expr>(sharing->second.value));
    ForNode::Fields fields = op->fields();
    fields.annotations.erase(kSharingBlocks);
    fields.body = Mutate(op->body);
    const std::optional<int64_t> iterations = AsInt(op->extent);
    if (iterations && *iterations <= blocks) return For(std::move(fields));
    const DataType type = op->var.dtype();
    const Var block(op->var.name(), type), turn(absl::StrCat(op->var.name(), "_turn"), type);
    fields.body = Turns(fields.body, *op, block, turn, blocks);
    fields.var = block;
    // Symbolic extents may be less.
    fields.extent = iterations ? Const(type, blocks) : Min(CastTo(type, op->extent), Const(type, blocks));
    return For(std::move(fields));
  }

 private:
  // The loop over turns, below loops over threads and allocations of what they share.
  Stmt Turns(const Stmt& s, const ForNode& loop, const Var& block, const Var& turn, int64_t blocks) {
    if (const auto* threads = dyn_cast<ForNode>(s); threads != nullptr && threads->kind == ForKind::kThreadBound) {
      ForNode::Fields fields = threads->fields();
      fields.body = Turns(threads->body, loop, block, turn, blocks);
      return For(std::move(fields));
    }
    if (const auto* allocate = dyn_cast<AllocateNode>(s)) {
      return Stmt(
          new AllocateNode(allocate->buffer, allocate->annotations, Turns(allocate->body, loop, block, turn, blocks)));
    }
    if (const auto* view = dyn_cast<DeclBufferNode>(s)) {
      return Stmt(new DeclBufferNode(view->buffer, Turns(view->body, loop, block, turn, blocks)));
    }
    const DataType type = block.dtype();
    const Expr count = Const(type, blocks), last = CastTo(type, loop.extent) - Const(type, 1);
    ForNode::Fields fields;
    fields.id = next_id_++;
    fields.var = turn;
    fields.min = Const(type, 0);
    fields.extent = FloorDiv(last - block, count) + Const(type, 1);
    fields.body = Substitute(s, {{loop.var, turn * count + block}});
    return For(std::move(fields));
  }

  uint32_t next_id_;
  bool changed_ = false;
};

}  // namespace

Function ShareBlocks(const Function& function) {
  Sharer sharer(function->next_id);
  Stmt body = sharer.Mutate(function->body);
  return sharer.changed() ? function.WithBody(std::move(body), sharer.next_id()) : function;
}

}  // namespace tilewright

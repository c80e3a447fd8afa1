#include "ir/substitute.h"

#include "base/check.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// In expressions; the map stays the caller's.
class VarSubstituter : public Mutator {
 public:
  explicit VarSubstituter(const VarMap& values) : values_(values) {}

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    auto it = values_.find(op);
    return it == values_.end() ? self : it->second;
  }

 private:
  const VarMap& values_;
};

class Substituter : public Mutator {
 public:
  Substituter(VarMap values, BufferMap buffers) : values_(std::move(values)), buffers_(std::move(buffers)) {
    for (const auto& [from, to] : buffers_) MapVarsOf(from, to);
  }

  Buffer MutateBuffer(const Buffer& buffer) override {
    auto it = buffers_.find(buffer);
    return it == buffers_.end() ? buffer : it->second;
  }

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    auto it = values_.find(op);
    return it == values_.end() ? self : it->second;
  }
  // Buffers that are declared inside have extents, strides and offsets of the new values.
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    Declare(op->buffer);
    return Mutator::MutateAllocate(op, self);
  }
  Stmt MutateDeclBuffer(const DeclBufferNode* op, const Stmt& self) override {
    Declare(op->buffer);
    return Mutator::MutateDeclBuffer(op, self);
  }
  Block MutateBlock(const Block& block) override {
    for (const Buffer& buffer : block->alloc_buffers) Declare(buffer);
    for (const MatchBuffer& match : block->match_buffers) Declare(match.buffer);
    return Mutator::MutateBlock(block);
  }
  void Declare(const Buffer& buffer) {
    if (buffers_.contains(buffer)) return;
    BufferNode::Fields fields = buffer->fields();
    bool changed = false;
    const auto replace = [&](Expr& e) {
      Expr replaced = Mutate(e);
      changed |= !replaced.same_as(e);
      e = std::move(replaced);
    };
    if (fields.elem_offset) replace(fields.elem_offset);
    for (Expr& extent : fields.shape) replace(extent);
    for (Expr& stride : fields.strides) replace(stride);
    if (!changed) return;
    buffers_.emplace(buffer, Buffer(std::move(fields)));
  }
  // The variables that a match_buffer defines are mentioned in calls only.
  void MapVarsOf(const Buffer& from, const Buffer& to) {
    Map(from->data, to->data);
    if (from->elem_offset && to->elem_offset) Map(from->elem_offset, to->elem_offset);
    if (from->strides.size() == to->strides.size()) {
      for (size_t i = 0; i < from->strides.size(); ++i) Map(from->strides[i], to->strides[i]);
    }
  }
  void Map(const Expr& from, const Expr& to) {
    const auto* var = dyn_cast<VarNode>(from);
    if (var != nullptr && !from.same_as(to)) values_.emplace(Var(var), to);
  }

  VarMap values_;
  BufferMap buffers_;
};

class FreshCopier : public Substituter {
 public:
  explicit FreshCopier(uint32_t* next_id) : Substituter({}, {}), next_id_(next_id) {}

 protected:
  Expr MutateLet(const LetNode* op, const Expr&) override {
    Expr value = Mutate(op->value);
    Var var = Fresh(op->var);
    return Expr(new LetNode(var, std::move(value), Mutate(op->body)));
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt&) override {
    Expr value = Mutate(op->value);
    Var var = Fresh(op->var);
    return LetStmt(var, std::move(value), Mutate(op->body));
  }
  Stmt MutateFor(const ForNode* op, const Stmt&) override {
    ForNode::Fields fields = op->fields();
    fields.id = (*next_id_)++;
    fields.min = Mutate(op->min);
    fields.extent = Mutate(op->extent);
    fields.var = Fresh(op->var);
    fields.body = Mutate(op->body);
    return For(std::move(fields));
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt&) override {
    Buffer buffer = Fresh(op->buffer);
    return Stmt(new AllocateNode(buffer, op->annotations, Mutate(op->body)));
  }
  Stmt MutateDeclBuffer(const DeclBufferNode* op, const Stmt&) override {
    BufferNode::Fields fields = op->buffer->fields();
    auto data = values_.find(op->buffer->data);
    if (data != values_.end()) fields.data = Var(cast<VarNode>(data->second));
    Buffer buffer(std::move(fields));
    buffers_[op->buffer] = buffer;
    return Stmt(new DeclBufferNode(buffer, Mutate(op->body)));
  }
  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = block->fields();
    fields.id = (*next_id_)++;
    for (IterVar& iter : fields.iter_vars) {
      iter.domain = MutateRange(iter.domain);
      iter.var = Fresh(iter.var);
    }
    for (Buffer& buffer : fields.alloc_buffers) buffer = Fresh(buffer);
    for (MatchBuffer& match : fields.match_buffers) {
      match.source = MutateRegion(match.source);
      match.buffer = Fresh(match.buffer);
    }
    for (BufferRegion& region : fields.reads) region = MutateRegion(region);
    for (BufferRegion& region : fields.writes) region = MutateRegion(region);
    fields.init = Mutate(fields.init);
    fields.body = Mutate(fields.body);
    return Block(std::move(fields));
  }

 private:
  Var Fresh(const Var& var) {
    Var fresh(var.name(), var.dtype());
    values_[var] = fresh;
    return fresh;
  }
  Expr FreshIfVar(const Expr& e) {
    const auto* var = dyn_cast<VarNode>(e);
    if (var == nullptr) return Mutate(e);
    auto known = values_.find(Var(var));
    return known == values_.end() ? Expr(Fresh(Var(var))) : known->second;
  }
  Buffer Fresh(const Buffer& buffer) {
    BufferNode::Fields fields = buffer->fields();
    fields.data = Fresh(buffer->data);
    if (fields.elem_offset) fields.elem_offset = FreshIfVar(fields.elem_offset);
    for (Expr& stride : fields.strides) stride = FreshIfVar(stride);
    for (Expr& extent : fields.shape) extent = Mutate(extent);
    Buffer fresh(std::move(fields));
    buffers_[buffer] = fresh;
    return fresh;
  }
  uint32_t* next_id_;
};

}  // namespace

Expr Substitute(const Expr& e, const VarMap& values) { return VarSubstituter(values).Mutate(e); }
Stmt Substitute(const Stmt& s, const VarMap& values) { return Substituter(values, {}).Mutate(s); }
Range Substitute(const Range& range, const VarMap& values) { return VarSubstituter(values).MutateRange(range); }
BufferRegion Substitute(const BufferRegion& region, const VarMap& values) {
  return VarSubstituter(values).MutateRegion(region);
}
std::vector<Expr> Substitute(const std::vector<Expr>& exprs, const VarMap& values) {
  return VarSubstituter(values).MutateAll(exprs);
}
Stmt Substitute(const Stmt& s, const VarMap& values, const BufferMap& buffers) {
  return Substituter(values, buffers).Mutate(s);
}
Expr Substitute(const Expr& e, const VarMap& values, const BufferMap& buffers) {
  return Substituter(values, buffers).Mutate(e);
}
Stmt CopyWithFreshNames(const Stmt& s, uint32_t* next_id) { return FreshCopier(next_id).Mutate(s); }

}  // namespace tilewright

// The hash half of ir/structural.h.
#include <bit>

#include "absl/container/flat_hash_map.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

class Hasher : public Visitor {
 public:
  explicit Hasher(bool map_free) : map_free_(map_free) {}
  using Visitor::Visit;
  void Visit(const Expr& e) override {
    if (!e) return Mix(7);
    Mix(static_cast<uint64_t>(e->kind()) * 131 + static_cast<uint64_t>(e.dtype().code()) * 31 +
        static_cast<uint64_t>(e.dtype().bits()) * 17 + static_cast<uint64_t>(e.dtype().lanes()));
    Visitor::Visit(e);
  }
  void Visit(const Stmt& s) override {
    if (!s) return Mix(11);
    Mix(static_cast<uint64_t>(s->kind()) + 977);
    Visitor::Visit(s);
  }
  void VisitFunction(const Function& f) {
    Mix(f->params.size());
    for (const Param& param : f->params) {
      if (param.buffer) {
        Define(param.buffer);
        // A handle that is the buffer's data pointer and one beside it are the same to StructuralEqual.
        const uint64_t number = numbers_[param.buffer->data.get()];  // no reference: the map may grow
        numbers_.try_emplace(param.var.get(), number);
      } else {
        Mix(3);
        Define(param.var.get());
      }
    }
    Annotations attrs = f->attrs;
    attrs.erase(kGlobalSymbol);
    attrs.erase(kLikelySizes);
    Hash(attrs);
    Visit(f->body);
  }
  uint64_t value() const { return hash_; }

 protected:
  void VisitIntImm(const IntImmNode* op) override { Mix(static_cast<uint64_t>(op->value)); }
  void VisitFloatImm(const FloatImmNode* op) override { Mix(std::bit_cast<uint64_t>(op->value)); }
  void VisitStringImm(const StringImmNode* op) override { Hash(op->value); }
  void VisitVar(const VarNode* op) override { Use(op); }
  void VisitBinary(const BinaryNode* op) override {
    Mix(static_cast<uint64_t>(op->op));
    Visitor::VisitBinary(op);
  }
  void VisitLoad(const LoadNode* op) override {
    UseBuffer(op->buffer);
    Visitor::VisitLoad(op);
  }
  void VisitShuffle(const ShuffleNode* op) override {
    for (int index : op->indices) Mix(static_cast<uint64_t>(index));
    Visitor::VisitShuffle(op);
  }
  void VisitLet(const LetNode* op) override {
    Visit(op->value);
    Define(op->var.get());
    Visit(op->body);
  }
  void VisitCall(const CallNode* op) override {
    Hash(op->op);
    Mix(op->args.size());
    Visitor::VisitCall(op);
  }
  void VisitFor(const ForNode* op) override {
    Mix(static_cast<uint64_t>(op->kind));
    Hash(op->thread_tag);
    Visit(op->min);
    Visit(op->extent);
    Hash(op->annotations);
    Define(op->var.get());
    Visit(op->body);
  }
  void VisitSeq(const SeqNode* op) override {
    Mix(op->stmts.size());
    Visitor::VisitSeq(op);
  }
  void VisitStore(const StoreNode* op) override {
    UseBuffer(op->buffer);
    Visitor::VisitStore(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    Define(op->var.get());
    Visit(op->body);
  }
  void VisitAttrStmt(const AttrStmtNode* op) override {
    Hash(op->key);
    const auto* var = dyn_cast<VarNode>(op->node);  // may be a variable that the body defines
    if (var != nullptr && !numbers_.contains(var)) Define(var);
    Visitor::VisitAttrStmt(op);
  }
  void VisitAssert(const AssertNode* op) override {
    Hash(op->message);
    Visitor::VisitAssert(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    Define(op->buffer);
    Hash(op->annotations);
    Visit(op->body);
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    Define(op->buffer);
    Visit(op->body);
  }
  void VisitSync(const SyncNode* op) override {
    Mix(static_cast<uint64_t>(op->sync));
    Hash(op->memory.text());
    Mix(static_cast<uint64_t>(op->participants));
    Visitor::VisitSync(op);
  }
  void VisitBlock(const BlockNode* op) override {
    Hash(op->name);
    Mix(op->iter_vars.size());
    for (const IterVar& iter : op->iter_vars) {
      Mix(static_cast<uint64_t>(iter.kind));
      Visit(iter.domain.min);
      Visit(iter.domain.extent);
      Define(iter.var.get());
    }
    for (const Buffer& buffer : op->alloc_buffers) Define(buffer);
    Hash(op->reads);
    Hash(op->writes);
    for (const MatchBuffer& match : op->match_buffers) {
      Hash(match.source);
      Define(match.buffer);
    }
    Hash(op->annotations);
    Visit(op->init);
    Visit(op->body);
  }

 private:
  void Mix(uint64_t value) {
    hash_ ^= value + 0x9e3779b97f4a7c15 + (hash_ << 6) + (hash_ >> 2);
    hash_ *= 0xff51afd7ed558ccd;
    hash_ ^= hash_ >> 32;
  }
  void Hash(const std::string& text) { Mix(std::hash<std::string>()(text)); }
  void Define(const Node* node) { Mix(numbers_[node] = ++count_); }
  void Use(const Node* node) {
    auto it = numbers_.find(node);
    if (it != numbers_.end()) return Mix(it->second);
    if (map_free_) return Define(node);
    Mix(reinterpret_cast<uint64_t>(node));
  }
  void UseBuffer(const Buffer& buffer) {
    if (map_free_ && !numbers_.contains(buffer.get())) return Define(buffer);
    Use(buffer.get());
  }
  void DefineOrVisit(const Expr& e) {
    const auto* var = dyn_cast<VarNode>(e);
    if (var != nullptr && !numbers_.contains(var)) return Define(var);
    if (const auto* op = dyn_cast<BinaryNode>(e)) {  // n * 64 may be where n is met first
      Mix(static_cast<uint64_t>(op->op));
      DefineOrVisit(op->a);
      return DefineOrVisit(op->b);
    }
    Visit(e);
  }
  void Define(const Buffer& buffer) {
    Mix(static_cast<uint64_t>(buffer->dtype.code()) * 64 + static_cast<uint64_t>(buffer->dtype.bits()));
    Mix(buffer->shape.size());
    Hash(buffer->scope.text());
    for (const Expr& extent : buffer->shape) DefineOrVisit(extent);
    for (const Expr& stride : buffer->strides) DefineOrVisit(stride);
    if (buffer->elem_offset && !IsInt(buffer->elem_offset, 0)) DefineOrVisit(buffer->elem_offset);
    if (!numbers_.contains(buffer->data.get())) Define(buffer->data.get());
    Define(static_cast<const Node*>(buffer.get()));
  }
  void Hash(const BufferRegion& region) {
    UseBuffer(region.buffer);
    VisitRegion(region.region);
  }
  void Hash(const std::vector<BufferRegion>& regions) {
    Mix(regions.size());
    for (const BufferRegion& region : regions) Hash(region);
  }
  void Hash(const Annotation& annotation) {
    if (const auto* e = std::get_if<Expr>(&annotation.value)) {
      const auto* var = dyn_cast<VarNode>(*e);  // may be one that nothing defines
      if (var != nullptr && !numbers_.contains(var)) Define(var);
      return Visit(*e);
    }
    if (const auto* list = std::get_if<Annotation::List>(&annotation.value)) {
      Mix(list->size());
      for (const Annotation& entry : *list) Hash(entry);
      return;
    }
    Hash(std::get<Annotation::Dict>(annotation.value));
  }
  void Hash(const Annotations& annotations) {
    Mix(annotations.size());
    for (const auto& [key, value] : annotations) {
      Hash(key);
      Hash(value);
    }
  }

  const bool map_free_;
  uint64_t hash_ = 0;
  uint64_t count_ = 0;
  absl::flat_hash_map<const Node*, uint64_t> numbers_;
};

}  // namespace

uint64_t StructuralHash(const Expr& e, bool map_free) {
  Hasher hasher(map_free);
  hasher.Visit(e);
  return hasher.value();
}
uint64_t StructuralHash(const Stmt& s, bool map_free) {
  Hasher hasher(map_free);
  hasher.Visit(s);
  return hasher.value();
}
uint64_t StructuralHash(const Function& function) {
  Hasher hasher(false);
  hasher.VisitFunction(function);
  return hasher.value();
}
uint64_t StructuralHash(const Module& module) {
  std::vector<uint64_t> hashes;
  for (const Function& function : module.functions()) hashes.push_back(StructuralHash(function));
  return StructuralHash(module, hashes);
}
uint64_t StructuralHash(const Module& module, std::span<const uint64_t> of_functions) {
  uint64_t hash = of_functions.size();
  for (size_t i = 0; i < of_functions.size(); ++i) {
    hash += of_functions[i];  // the order of functions does not count
    if (of_functions.size() > 1) hash += std::hash<std::string>()(module.functions()[i]->name) * 31;
  }
  return hash;
}

}  // namespace tilewright

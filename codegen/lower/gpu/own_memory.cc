#include "codegen/lower/gpu/own_memory.h"

#include <unordered_map>
#include <utility>

#include "codegen/lower/gpu/kernel_accesses.h"
#include "ir/functor.h"
#include "ir/thread_tags.h"

namespace tilewright {
namespace {

bool IsOverThreads(const ForNode& loop) {
  return loop.kind == ForKind::kThreadBound && loop.thread_tag.starts_with("threadIdx");
}

bool HoldsThreads(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* loop = dyn_cast<ForNode>(part);
    found |= loop != nullptr && IsOverThreads(*loop);
    return !found;
  });
  return found;
}

// The scopes that memory gets, by data pointer.
class Finder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::unordered_map<const VarNode*, Scope> scopes;

 protected:
  void VisitFor(const ForNode* op) override {
    const bool threads = IsOverThreads(*op), blocks = op->kind == ForKind::kThreadBound && IsBlockTag(op->thread_tag);
    threads_ += threads;
    blocks_ += blocks;
    StmtVisitor::VisitFor(op);
    threads_ -= threads;
    blocks_ -= blocks;
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) Add(buffer, op->body);
    for (const MatchBuffer& match : op->match_buffers) {
      const auto whole = scopes.find(match.source.buffer->data.get());
      if (whole != scopes.end()) scopes.emplace(match.buffer->data.get(), Scope(whole->second));
    }
    StmtVisitor::VisitBlock(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    Add(op->buffer, op->body);
    StmtVisitor::VisitAllocate(op);
  }

 private:
  void Add(const Buffer& buffer, const Stmt& body) {
    if (MemoryOwner(buffer->scope) != OwnerLevel::kDevice) return;
    if (threads_ > 0) {
      scopes.emplace(buffer->data.get(), Scope::Parse("local"));
    } else if (blocks_ > 0 && HoldsThreads(body)) {
      scopes.emplace(buffer->data.get(), Scope::Parse("shared"));
    }
  }
  int threads_ = 0, blocks_ = 0;  // loops around
};

class Replacer : public Mutator {
 public:
  explicit Replacer(std::unordered_map<const VarNode*, Scope> scopes) : scopes_(std::move(scopes)) {}
  using Mutator::Mutate;

 protected:
  Buffer MutateBuffer(const Buffer& buffer) override {
    const auto scope = scopes_.find(buffer->data.get());
    if (scope == scopes_.end()) return buffer;
    Buffer& replaced = replaced_[buffer.get()];
    if (!replaced) {
      BufferNode::Fields fields = buffer->fields();
      fields.scope = scope->second;
      replaced = Buffer(std::move(fields));
    }
    return replaced;
  }

 private:
  const std::unordered_map<const VarNode*, Scope> scopes_;
  std::unordered_map<const BufferNode*, Buffer> replaced_;
};

}  // namespace

Function GiveOwnMemory(const Function& function) {
  Finder finder;
  finder.Visit(function->body);
  if (finder.scopes.empty()) return function;
  return function.WithBody(Replacer(std::move(finder.scopes)).Mutate(function->body), function->next_id);
}

}  // namespace tilewright

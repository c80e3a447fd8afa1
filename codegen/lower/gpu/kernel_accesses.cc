#include "codegen/lower/gpu/kernel_accesses.h"

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

class ScopeCollector : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  BufferScopes scopes;

 protected:
  void VisitAllocate(const AllocateNode* op) override {
    scopes.emplace(op->buffer->data.get(), op->buffer->scope);
    StmtVisitor::VisitAllocate(op);
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    scopes.emplace(op->buffer->data.get(), op->buffer->scope);
    StmtVisitor::VisitDeclBuffer(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) scopes.emplace(buffer->data.get(), buffer->scope);
    for (const MatchBuffer& match : op->match_buffers) {
      scopes.emplace(match.buffer->data.get(), match.source.buffer->scope);
    }
    StmtVisitor::VisitBlock(op);
  }
};

class AccessCollector : public Visitor {
 public:
  explicit AccessCollector(const BufferScopes& scopes) : scopes_(scopes) {}
  using Visitor::Visit;
  Accesses accesses;

 protected:
  void VisitLoad(const LoadNode* op) override {
    Add(op->buffer->data.get(), op->buffer->scope, addressed_write_);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Add(op->buffer->data.get(), op->buffer->scope, true);
    Visitor::VisitStore(op);
  }
  void VisitVar(const VarNode* op) override {
    if (!op->dtype().is_handle()) return;
    const auto scope = scopes_.find(op);
    if (scope != scopes_.end()) Add(op, scope->second, addressed_write_);
  }
  void VisitCall(const CallNode* op) override {
    const bool outer = addressed_write_;
    if (op->op == kAccessPtr) {
      const std::optional<int64_t> mask = op->args.size() == 5 ? AsInt(op->args[4]) : std::nullopt;
      addressed_write_ = outer && (!mask || (*mask & kAccessWrite) != 0);
    } else if (op->op != kAddressOf) {
      addressed_write_ = EffectOf(op->op) == CallEffect::kOpaque;
      accesses.unknown_writes |= addressed_write_ && FindBuiltin(op->op) == nullptr && !HasPointer(*op);
    }
    Visitor::VisitCall(op);
    addressed_write_ = outer;
  }
  // Sub-buffers stand for what they are parts of, and those are declared.
  void VisitBlock(const BlockNode* op) override {
    for (const BufferRegion& region : op->reads) Add(region.buffer->data.get(), region.buffer->scope, false);
    for (const BufferRegion& region : op->writes) Add(region.buffer->data.get(), region.buffer->scope, true);
    Visitor::VisitBlock(op);
  }

 private:
  static bool HasPointer(const CallNode& op) {
    for (const Expr& arg : op.args) {
      if (arg.dtype().is_handle() && !isa<StringImmNode>(arg)) return true;
    }
    return false;
  }
  void Add(const VarNode* data, const Scope& scope, bool write) {
    const auto known = scopes_.find(data);
    accesses.list.push_back({data, known == scopes_.end() ? scope : known->second, write});
  }

  const BufferScopes& scopes_;
  bool addressed_write_ = false;
};

}  // namespace

BufferScopes ScopesOf(const Function& function) {
  ScopeCollector collector;
  for (const Param& param : function->params) {
    if (param.buffer) collector.scopes.emplace(param.buffer->data.get(), param.buffer->scope);
  }
  collector.Visit(function->body);
  return std::move(collector.scopes);
}

OwnerLevel MemoryOwner(const Scope& scope) {
  switch (scope.owner()) {
    case OwnerLevel::kCore:
    case OwnerLevel::kThread:
      return OwnerLevel::kThread;
    case OwnerLevel::kWarp:
    case OwnerLevel::kWarpgroup:
      return OwnerLevel::kWarp;
    case OwnerLevel::kBlock:
    case OwnerLevel::kCluster:
      return OwnerLevel::kBlock;
    default:
      return OwnerLevel::kDevice;
  }
}

Accesses AccessesOf(const Stmt& s, const BufferScopes& scopes) {
  AccessCollector collector(scopes);
  collector.Visit(s);
  std::unordered_set<const VarNode*> own;
  PreOrder(s, [&](const Stmt& part) {
    if (const auto* allocate = dyn_cast<AllocateNode>(part)) own.insert(allocate->buffer->data.get());
    if (const auto* realize = dyn_cast<BlockRealizeNode>(part)) {
      for (const Buffer& buffer : realize->block->alloc_buffers) own.insert(buffer->data.get());
      for (const MatchBuffer& match : realize->block->match_buffers) own.insert(match.buffer->data.get());
    }
    return true;
  });
  std::erase_if(collector.accesses.list, [&](const KernelAccess& access) { return own.contains(access.data); });
  return std::move(collector.accesses);
}

}  // namespace tilewright

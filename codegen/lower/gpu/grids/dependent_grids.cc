#include "codegen/lower/gpu/grids/dependent_grids.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/bulk_stores.h"
#include "codegen/lower/gpu/grids/early_weights.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "intrin/cuda/call_roles.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "verify/structure/constant_params.h"

namespace tilewright {
namespace {

Stmt Invoke(std::string_view call) { return Evaluate(Call(DataType::Void(), std::string(call), {})); }

const CallNode* CallOf(const Stmt& s) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  return evaluate == nullptr ? nullptr : dyn_cast<CallNode>(evaluate->value);
}

bool Loads(const Expr& e) {
  bool loads = false;
  PreOrder(e, [&](const Expr& part) {
    loads |= isa<LoadNode>(part) || isa<CallNode>(part);
    return !loads;
  });
  return loads;
}

// A statement that holds another one, which runs once, and what it evaluates before.
struct Holder {
  Expr head;
  Stmt body;
};
std::optional<Holder> AsHolder(const Stmt& s) {
  switch (s->kind()) {
    case Kind::kLetStmt:
      return Holder{cast<LetStmtNode>(s)->value, cast<LetStmtNode>(s)->body};
    case Kind::kAttrStmt:
      return Holder{{}, cast<AttrStmtNode>(s)->body};
    case Kind::kAllocate:
      return Holder{{}, cast<AllocateNode>(s)->body};
    case Kind::kDeclBuffer:
      return Holder{{}, cast<DeclBufferNode>(s)->body};
    case Kind::kFor: {
      const auto* loop = cast<ForNode>(s);
      return loop->kind == ForKind::kThreadBound ? std::optional(Holder{loop->extent, loop->body}) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// The same statement around another body.
class BodyReplacer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  using Make = std::function<Stmt(const Stmt&)>;
  static Stmt Of(const Stmt& s, const Make& make) {
    BodyReplacer replacer(make);
    replacer.outer_ = s.get();
    return replacer.Mutate(s);
  }
  Stmt Mutate(const Stmt& s) override { return s.get() == outer_ ? StmtMutator::Mutate(s) : make_(s); }

 private:
  explicit BodyReplacer(const Make& make) : make_(make) {}
  const Make& make_;
  const Node* outer_ = nullptr;
};

// One kernel: loops over threads, innermost statements of which touch memory.
class KernelOrder {
 public:
  KernelOrder(const BufferScopes& scopes, const std::unordered_set<const VarNode*>& constants, const Stmt& kernel)
      : scopes_(scopes), constants_(constants) {
    PreOrder(kernel, [&](const Stmt& s) {
      const auto* loop = dyn_cast<ForNode>(s);
      if (loop != nullptr && loop->kind == ForKind::kThreadBound) threads_.insert(loop->var.get());
      const auto* allocate = dyn_cast<AllocateNode>(s);
      if (allocate != nullptr && allocate->buffer->shape.size() == 1) {
        extents_[allocate->buffer->data.get()] = AsInt(allocate->buffer->shape[0]).value_or(0);
      }
      return true;
    });
  }

  Stmt Ordered(const Stmt& kernel) const {
    bool waited = false;
    const Stmt waits = WithWaits(kernel, &waited);
    return WithLaunch(waits, /*waited=*/false);
  }

 private:
  // Whether the statement accesses memory that other kernels may access too.
  bool Touches(const Stmt& s) const {
    return std::ranges::any_of(AccessesOf(s, scopes_).list, [&](const KernelAccess& access) {
      return MemoryOwner(access.scope) == OwnerLevel::kDevice && !constants_.contains(access.data);
    });
  }
  bool Touches(const Expr& e) const { return Touches(Evaluate(e)); }

  // Whether it stores results: maps of the engine are read, except for its stores.
  bool Stores(const Stmt& s) const {
    bool stores = false;
    PreOrder(s, [&](const Stmt& part) {
      const CallNode* call = CallOf(part);
      const bool copies = call != nullptr && call->op != kBulkStore &&
                          (cuda::RoleOfCall(call->op) == cuda::CallRole::kAsyncCopy ||
                           std::ranges::any_of(call->args, [](const Expr& arg) {
                             const auto* map = dyn_cast<CallNode>(arg);
                             return map != nullptr && IsTensorMap(*map);
                           }));
      if (!copies && (isa<StoreNode>(part) || call != nullptr)) {
        stores |= std::ranges::any_of(AccessesOf(part, scopes_).list, [&](const KernelAccess& access) {
          return access.write && MemoryOwner(access.scope) == OwnerLevel::kDevice;
        });
      }
      return !stores;
    });
    return stores;
  }

  // Whether a condition asks for nothing but threads and blocks.
  bool IsOfThreads(const Expr& condition) const {
    return !Loads(condition) && !UsesVar(condition, [&](const VarNode* var) { return !threads_.contains(var); });
  }

  // `waited`: whether all threads that come by have waited behind the statement.
  Stmt WithWaits(const Stmt& s, bool* waited) const {
    *waited = false;
    if (!Touches(s)) return s;
    if (const auto holder = AsHolder(s); holder && !(holder->head && Touches(holder->head))) {
      return BodyReplacer::Of(s, [&](const Stmt& body) { return WithWaits(body, waited); });
    }
    if (const auto* seq = dyn_cast<SeqNode>(s)) {
      std::vector<Stmt> stmts = seq->stmts;
      for (size_t i = 0; i < stmts.size() && !*waited; ++i) {
        if (const std::optional<Stmt> early =
                WithEarlyWeights({stmts.begin() + static_cast<int64_t>(i), stmts.end()})) {
          stmts.resize(i);
          stmts.push_back(*early);
          *waited = true;
          break;
        }
        stmts[i] = WithWaits(stmts[i], waited);
      }
      return Sequence(std::move(stmts));
    }
    if (const auto* branch = dyn_cast<IfNode>(s); branch != nullptr && IsOfThreads(branch->condition)) {
      bool then_waited = false, else_waited = false;
      Stmt then_case = WithWaits(branch->then_case, &then_waited);
      Stmt else_case = branch->else_case ? WithWaits(branch->else_case, &else_waited) : Stmt();
      *waited = then_waited && else_waited;
      return If(branch->condition, std::move(then_case), std::move(else_case));
    }
    *waited = true;
    return Sequence({Invoke(kGridWait), s});
  }

  // Statements that begin with a ring's first copies, of which those of constants come before the wait.
  std::optional<Stmt> WithEarlyWeights(const std::vector<Stmt>& stmts) const {
    const auto is_constant = [&](const VarNode* data) { return constants_.contains(data); };
    const auto stages = [&](const VarNode* data) {
      const auto extent = extents_.find(data);
      return extent == extents_.end() ? 0 : extent->second;
    };
    EarlyWeights early = SplitEarlyWeights(stmts, is_constant, stages);
    if (early.count == 0) return std::nullopt;
    std::vector<Stmt> result = {early.before, Invoke(kGridWait), early.after};
    result.insert(result.end(), stmts.begin() + static_cast<int64_t>(early.count), stmts.end());
    return Sequence(std::move(result));
  }

  static bool HasWaited(const Stmt& s) {
    if (const CallNode* call = CallOf(s)) return call->op == kGridWait;
    if (const auto* seq = dyn_cast<SeqNode>(s)) return std::ranges::any_of(seq->stmts, HasWaited);
    if (const auto holder = AsHolder(s)) return HasWaited(holder->body);
    const auto* branch = dyn_cast<IfNode>(s);
    return branch != nullptr && branch->else_case && HasWaited(branch->then_case) && HasWaited(branch->else_case);
  }

  // In front of the last statement that stores, where those in front of it have not come by yet.
  Stmt WithLaunch(const Stmt& s, bool waited) const {
    if (!Stores(s)) return s;
    if (AsHolder(s)) {
      return BodyReplacer::Of(s, [&](const Stmt& body) { return WithLaunch(body, waited); });
    }
    if (const auto* seq = dyn_cast<SeqNode>(s)) {
      std::vector<Stmt> stmts = seq->stmts;
      size_t last = stmts.size() - 1;
      while (!Stores(stmts[last])) --last;
      for (size_t i = 0; i < last; ++i) waited = waited || HasWaited(stmts[i]);
      stmts[last] = WithLaunch(stmts[last], waited);
      return Sequence(std::move(stmts));
    }
    if (const auto* branch = dyn_cast<IfNode>(s); branch != nullptr && IsOfThreads(branch->condition)) {
      return If(branch->condition, WithLaunch(branch->then_case, waited),
                branch->else_case ? WithLaunch(branch->else_case, waited) : Stmt());
    }
    if (waited) return Sequence({Invoke(kGridLaunch), s});
    return Sequence({Invoke(kGridWait), Invoke(kGridLaunch), s});
  }

  const BufferScopes& scopes_;
  const std::unordered_set<const VarNode*>& constants_;
  std::unordered_set<const VarNode*> threads_;
  std::unordered_map<const VarNode*, int64_t> extents_;  // of what the kernel allocates, of one dimension
};

// What the host runs around kernels stays as it is; where it asks for memory, it is part of a kernel.
class KernelFinder : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  KernelFinder(const BufferScopes& scopes, const std::unordered_set<const VarNode*>& constants)
      : scopes_(scopes), constants_(constants) {}

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind == ForKind::kThreadBound) return KernelOrder(scopes_, constants_, self).Ordered(self);
    return Loads(op->min) || Loads(op->extent) ? self : StmtMutator::MutateFor(op, self);
  }
  Stmt MutateWhile(const WhileNode*, const Stmt& self) override { return self; }
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    return Loads(op->condition) ? self : StmtMutator::MutateIf(op, self);
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override {
    return Loads(op->value) ? self : StmtMutator::MutateLetStmt(op, self);
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    return MemoryOwner(op->buffer->scope) != OwnerLevel::kDevice ? self : StmtMutator::MutateAllocate(op, self);
  }

 private:
  const BufferScopes& scopes_;
  const std::unordered_set<const VarNode*>& constants_;
};

}  // namespace

Function OrderDependentGrids(const Function& function) {
  const BufferScopes scopes = ScopesOf(function);
  std::unordered_set<const VarNode*> constants;
  for (const Buffer& buffer : ConstantParams(function)) constants.insert(buffer->data.get());
  return function.WithBody(KernelFinder(scopes, constants).Mutate(function->body), function->next_id);
}

}  // namespace tilewright

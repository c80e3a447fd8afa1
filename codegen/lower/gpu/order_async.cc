#include "codegen/lower/gpu/order_async.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/wgmma_call.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

Stmt Invoke(const char* function, std::vector<Expr> args = {}) {
  return Evaluate(Call(DataType::Void(), function, std::move(args)));
}

// Whether `s` does nothing but multiply by wgmma.
bool OnlyMultiplies(const Stmt& s) {
  switch (s->kind()) {
    case Kind::kEvaluate:
      return AsWgmma(s).has_value();
    case Kind::kFor:
      return OnlyMultiplies(cast<ForNode>(s)->body);
    case Kind::kAttrStmt:
      return OnlyMultiplies(cast<AttrStmtNode>(s)->body);
    case Kind::kSeq:
      for (const Stmt& each : cast<SeqNode>(s)->stmts) {
        if (!OnlyMultiplies(each)) return false;
      }
      return !cast<SeqNode>(s)->stmts.empty();
    default:
      return false;
  }
}

class Orderer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit Orderer(bool fences_proxy) : fences_proxy_(fences_proxy) {}
  Stmt Mutate(const Stmt& s) override { return s && OnlyMultiplies(s) ? Group(s) : StmtMutator::Mutate(s); }

 protected:
  Stmt MutateSeq(const SeqNode* op, const Stmt&) override {
    std::vector<Stmt> result, products;
    const auto flush = [&] {
      if (!products.empty()) result.push_back(Group(Sequence(std::exchange(products, {}))));
    };
    for (const Stmt& each : op->stmts) {
      if (OnlyMultiplies(each)) {
        products.push_back(each);
        continue;
      }
      flush();
      result.push_back(Mutate(each));
    }
    flush();
    return Sequence(std::move(result));
  }
  Stmt MutateSync(const SyncNode* op, const Stmt& self) override {
    return op->sync == SyncKind::kBarrier && op->participants == OwnerLevel::kBlock ? Fenced(self) : self;
  }
  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self) override {
    const auto* call = dyn_cast<CallNode>(op->value);
    return call != nullptr && call->op == "cuda.named_barrier" ? Fenced(self) : self;
  }

 private:
  Stmt Fenced(const Stmt& barrier) const {
    return fences_proxy_ ? Sequence({Invoke("cuda.fence_proxy_async_shared"), barrier}) : barrier;
  }
  // The fence names the sums, so that the compiler has them in their registers before it.
  static Stmt Group(const Stmt& products) {
    std::vector<Expr> sums;
    PreOrder(products, [&](const Stmt& part) {
      if (!AsWgmma(part)) return true;
      const auto& call = *cast<CallNode>(cast<EvaluateNode>(part)->value);
      const Expr data = cast<CallNode>(call.args[WgmmaCall::kSums])->args[1];
      if (std::ranges::none_of(sums, [&](const Expr& sum) { return sum.same_as(data); })) sums.push_back(data);
      return true;
    });
    return Sequence({Invoke("cuda.wgmma_fence", std::move(sums)), products, Invoke("cuda.wgmma_commit"),
                     Invoke("cuda.wgmma_wait", {String("0")})});
  }
  const bool fences_proxy_;
};

bool Multiplies(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    found |= AsWgmma(part).has_value();
    return !found;
  });
  return found;
}

// Whether threads write shared memory, by stores or by copies of their own.
bool ThreadsWriteShared(const Stmt& s, const BufferScopes& scopes) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* evaluate = dyn_cast<EvaluateNode>(part);
    const auto* call = evaluate == nullptr ? nullptr : dyn_cast<CallNode>(evaluate->value);
    if (isa<StoreNode>(part) || (call != nullptr && call->op == "cuda.cp_async")) {
      for (const KernelAccess& access : AccessesOf(part, scopes).list) {
        found |= access.write && MemoryOwner(access.scope) == OwnerLevel::kBlock;
      }
    }
    return !found;
  });
  return found;
}

class KernelFinder : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit KernelFinder(const BufferScopes& scopes) : scopes_(scopes) {}

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) return StmtMutator::MutateFor(op, self);
    return Multiplies(self) ? Orderer(ThreadsWriteShared(self, scopes_)).Mutate(self) : self;
  }

 private:
  const BufferScopes& scopes_;
};

}  // namespace

Function OrderAsync(const Function& function) {
  const BufferScopes scopes = ScopesOf(function);
  return function.WithBody(KernelFinder(scopes).Mutate(function->body), function->next_id);
}

}  // namespace tilewright

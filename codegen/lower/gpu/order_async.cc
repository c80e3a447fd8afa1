#include "codegen/lower/gpu/order_async.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/lower/gpu/bulk_barriers.h"
#include "codegen/lower/gpu/bulk_stores.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/wgmma_call.h"
#include "intrin/cuda/call_roles.h"
#include "ir/annotations.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

Stmt Invoke(const char* function, std::vector<Expr> args = {}) {
  return Evaluate(Call(DataType::Void(), function, std::move(args)));
}

// Counts groups of copies.
bool IsCounter(const Buffer& buffer) {
  return buffer->dtype == DataType::UInt(32) && MemoryOwner(buffer->scope) == OwnerLevel::kThread;
}

// Whether a value depends on no memory but such counters.
bool OnlyCounts(const Expr& e) {
  bool counts = true;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    counts &= load == nullptr || IsCounter(load->buffer);
    return counts;
  });
  return counts;
}

// Whether `s` does nothing but wait for copies and count their groups, which products under way do not mind.
bool OnlyWaitsForCopies(const Stmt& s) {
  switch (s->kind()) {
    case Kind::kEvaluate: {
      const auto* call = dyn_cast<CallNode>(cast<EvaluateNode>(s)->value);
      return IsNoOp(s) || (call != nullptr && cuda::RoleOfCall(call->op) == cuda::CallRole::kBarrierWait);
    }
    case Kind::kStore:
      return IsCounter(cast<StoreNode>(s)->buffer) && OnlyCounts(cast<StoreNode>(s)->value);
    case Kind::kWhile:
      return OnlyCounts(cast<WhileNode>(s)->condition) && OnlyWaitsForCopies(cast<WhileNode>(s)->body);
    case Kind::kSeq:
      return std::ranges::all_of(cast<SeqNode>(s)->stmts, OnlyWaitsForCopies);
    default:
      return false;
  }
}

bool IsEarlierRelease(const Stmt& s) {
  const auto* attr = dyn_cast<AttrStmtNode>(s);
  return attr != nullptr && attr->key == kEarlierRelease;
}

// Whether `s` is a loop over steps, of which each may begin while the products of the one before it are under way.
bool IsPartOfSteps(const Stmt& s) {
  if (OnlyMultiplies(s) || IsEarlierRelease(s) || OnlyWaitsForCopies(s)) return true;
  if (const auto* seq = dyn_cast<SeqNode>(s)) return std::ranges::all_of(seq->stmts, IsPartOfSteps);
  const auto* loop = dyn_cast<ForNode>(s);
  return loop != nullptr && loop->kind != ForKind::kThreadBound && OnlyCounts(loop->extent) &&
         IsPartOfSteps(loop->body);
}

class Orderer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit Orderer(bool fences_proxy) : fences_proxy_(fences_proxy) {}
  Stmt Mutate(const Stmt& s) override {
    if (!s) return s;
    if (OnlyMultiplies(s)) return Group(s);
    if (OnlyWaitsForCopies(s)) return s;
    if (IsEarlierRelease(s)) return Sequence({WaitFor(1), cast<AttrStmtNode>(s)->body});
    if (isa<SeqNode>(s)) return StmtMutator::Mutate(s);
    if (IsPartOfSteps(s)) {
      ForNode::Fields fields = cast<ForNode>(s)->fields();
      fields.body = Mutate(fields.body);
      return For(std::move(fields));
    }
    // Others may touch sums, or memory that products read.
    Stmt wait = WaitFor(0);
    return Sequence({std::move(wait), StmtMutator::Mutate(s)});
  }

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
  Stmt MutateFor(const ForNode* op, const Stmt&) override {
    ForNode::Fields fields = op->fields();
    fields.body = Whole(op->body);
    return For(std::move(fields));
  }
  Stmt MutateWhile(const WhileNode* op, const Stmt&) override { return While(op->condition, Whole(op->body)); }
  Stmt MutateIf(const IfNode* op, const Stmt&) override {
    Stmt then_case = Whole(op->then_case);
    return If(op->condition, std::move(then_case), op->else_case ? Whole(op->else_case) : Stmt());
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
  // What no products outlive.
  Stmt Whole(const Stmt& s) {
    Stmt result = Mutate(s);
    return Sequence({std::move(result), WaitFor(0)});
  }
  // Until at most so many of the latest groups are under way.
  Stmt WaitFor(int groups) {
    if (!under_way_) return Sequence({});
    under_way_ = groups > 0;
    return Invoke("cuda.wgmma_wait", {String(absl::StrCat(groups))});
  }
  // The fence names the sums and operands in registers, so that the compiler has them there before it.
  Stmt Group(const Stmt& products) {
    under_way_ = true;
    std::vector<Expr> registers;
    const auto add = [&](const Expr& pointer) {
      const Expr data = cast<CallNode>(pointer)->args[1];
      if (std::ranges::none_of(registers, [&](const Expr& e) { return e.same_as(data); })) registers.push_back(data);
    };
    PreOrder(products, [&](const Stmt& part) {
      const std::optional<WgmmaCall> wgmma = AsWgmma(part);
      if (!wgmma) return true;
      const auto& call = *cast<CallNode>(cast<EvaluateNode>(part)->value);
      add(call.args[wgmma->sums()]);
      if (wgmma->a_in_registers) add(call.args[wgmma->a()]);
      return true;
    });
    return Sequence({Invoke("cuda.wgmma_fence", std::move(registers)), products, Invoke("cuda.wgmma_commit")});
  }
  const bool fences_proxy_;
  bool under_way_ = false;  // products, in groups
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
    const cuda::CallRole role = call == nullptr ? cuda::CallRole::kOther : cuda::RoleOfCall(call->op);
    if (isa<StoreNode>(part) || role == cuda::CallRole::kAsyncCopy || role == cuda::CallRole::kSharedStore) {
      for (const KernelAccess& access : AccessesOf(part, scopes).list) {
        found |= access.write && MemoryOwner(access.scope) == OwnerLevel::kBlock;
      }
    }
    return !found;
  });
  return found;
}

// Whether `s` starts a bulk store.
const CallNode* AsBulkStore(const Stmt& s) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  const auto* call = evaluate == nullptr ? nullptr : dyn_cast<CallNode>(evaluate->value);
  return call != nullptr && call->op == kBulkStore ? call : nullptr;
}
bool StoresInBulk(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    found |= AsBulkStore(part) != nullptr;
    return !found;
  });
  return found;
}
// Whether the kernel reads an array that it stores in bulk.
bool ReadsWhatItStores(const Stmt& kernel) {
  std::vector<const Node*> arrays;
  PreOrder(kernel, [&](const Stmt& part) {
    if (const CallNode* store = AsBulkStore(part)) arrays.push_back(cast<CallNode>(store->args[0])->args[0].get());
    return true;
  });
  bool reads = false;
  PreOrderExprs(kernel, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    reads |= load != nullptr && std::ranges::find(arrays, load->buffer->data.get()) != arrays.end();
    return !reads;
  });
  return reads;
}

// Bulk stores that follow each other are a group, for which the thread waits: until shared memory is read, or, where
// the kernel reads the array too, until it is written.
class StoreEnder : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit StoreEnder(bool until_written) : until_written_(until_written) {}
  Stmt Mutate(const Stmt& s) override { return s && AsBulkStore(s) != nullptr ? Ended({s}) : StmtMutator::Mutate(s); }

 protected:
  Stmt MutateSeq(const SeqNode* op, const Stmt&) override {
    std::vector<Stmt> result;
    for (size_t i = 0; i < op->stmts.size();) {
      std::vector<Stmt> group;
      while (i < op->stmts.size() && AsBulkStore(op->stmts[i]) != nullptr) group.push_back(op->stmts[i++]);
      result.push_back(group.empty() ? Mutate(op->stmts[i++]) : Ended(std::move(group)));
    }
    return Sequence(std::move(result));
  }

 private:
  Stmt Ended(std::vector<Stmt> group) const {
    group.push_back(Invoke("cuda.bulk_commit"));
    group.push_back(Invoke(until_written_ ? "cuda.bulk_wait" : "cuda.bulk_wait_read", {String("0")}));
    return Sequence(std::move(group));
  }
  const bool until_written_;
};

// Whether threads write shared memory before products that may read it: in the program's order, over all iterations of
// serial loops. `follow`: products come behind `s`.
bool WritesBeforeProducts(const Stmt& s, bool follow, const BufferScopes& scopes) {
  const auto inside = [&](const Stmt& body, bool behind) { return body && WritesBeforeProducts(body, behind, scopes); };
  switch (s->kind()) {
    case Kind::kSeq: {
      const std::vector<Stmt>& parts = cast<SeqNode>(s)->stmts;
      bool writes = false;
      for (size_t i = parts.size(); i-- > 0 && !writes;) {
        writes = inside(parts[i], follow);
        follow = follow || Multiplies(parts[i]);
      }
      return writes;
    }
    case Kind::kFor:
      return inside(cast<ForNode>(s)->body,
                    follow || (cast<ForNode>(s)->kind != ForKind::kThreadBound && Multiplies(s)));
    case Kind::kWhile:
      return inside(cast<WhileNode>(s)->body, follow || Multiplies(s));
    case Kind::kIf:
      return inside(cast<IfNode>(s)->then_case, follow) || inside(cast<IfNode>(s)->else_case, follow);
    case Kind::kLetStmt:
      return inside(cast<LetStmtNode>(s)->body, follow);
    case Kind::kAttrStmt:
      return inside(cast<AttrStmtNode>(s)->body, follow);
    case Kind::kAllocate:
      return inside(cast<AllocateNode>(s)->body, follow);
    case Kind::kDeclBuffer:
      return inside(cast<DeclBufferNode>(s)->body, follow);
    default:
      return follow && ThreadsWriteShared(s, scopes);
  }
}

class KernelFinder : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit KernelFinder(const BufferScopes& scopes) : scopes_(scopes) {}

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) return StmtMutator::MutateFor(op, self);
    const bool stores = StoresInBulk(self);
    if (!Multiplies(self) && !stores) return self;
    const bool fences =
        stores ? ThreadsWriteShared(self, scopes_) : WritesBeforeProducts(self, /*follow=*/false, scopes_);
    const Stmt ordered = Orderer(fences).Mutate(self);
    return stores ? StoreEnder(ReadsWhatItStores(self)).Mutate(ordered) : ordered;
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

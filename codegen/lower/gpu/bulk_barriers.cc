#include "codegen/lower/gpu/bulk_barriers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/lower/gpu/bulk_copies.h"
#include "ir/builtin.h"
#include "ir/data_type.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

const DataType kCount = DataType::UInt(32);

Stmt Invoke(const char* function, std::vector<Expr> args) {
  return Evaluate(Call(DataType::Void(), function, std::move(args)));
}

const CallNode* AsCall(const Stmt& s) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  return evaluate == nullptr ? nullptr : dyn_cast<CallNode>(evaluate->value);
}

bool Calls(const Stmt& s, std::string_view name) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const CallNode* call = AsCall(part);
    found |= call != nullptr && call->op == name;
    return !found;
  });
  return found;
}

// Bytes of the box of a tensor map.
int64_t BoxBytes(const CallNode& map) {
  const auto type = DataType::Parse(cast<StringImmNode>(map.args[1])->value);
  int64_t bytes = type ? type->bytes() : 1;
  const auto rank = static_cast<size_t>(AsInt(map.args[3]).value_or(0));
  for (size_t d = map.args.size() - rank; d < map.args.size(); ++d) bytes *= AsInt(map.args[d]).value_or(1);
  return bytes;
}

class GroupBarriers : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  GroupBarriers(const std::vector<const ForNode*>& threads, const Stmt& body)
      : also_cp_async_(Calls(body, "cuda.cp_async")) {
    for (const ForNode* loop : threads) {
      if (IsInt(loop->extent, 1)) continue;
      const Expr first = loop->var == loop->min;
      first_thread_ = first_thread_ ? And(first_thread_, first) : first;
    }
    if (!first_thread_) first_thread_ = True();
    int64_t most = 0;
    PreOrder(body, [&](const Stmt& s) {
      const auto* sync = dyn_cast<SyncNode>(s);
      if (sync == nullptr || sync->sync != SyncKind::kAsyncWait) return true;
      const std::optional<int64_t> pending = AsInt(sync->operand);
      constant_ &= pending.has_value();
      most = std::max(most, pending.value_or(0));
      return true;
    });
    barriers_ = most + 1;
    full_ = Buffer("full", {Expr(barriers_)}, DataType::UInt(64), Scope::Parse("shared"));
    groups_ = Buffer("groups", {Expr(2)}, kCount, Scope::Parse("local"));
  }
  bool constant() const { return constant_; }

  // Behind the kernel's other shared memory.
  Stmt Run(const Stmt& body) {
    if (const auto* allocate = dyn_cast<AllocateNode>(body)) {
      return Stmt(new AllocateNode(allocate->buffer, allocate->annotations, Run(allocate->body)));
    }
    if (const auto* view = dyn_cast<DeclBufferNode>(body)) {
      return Stmt(new DeclBufferNode(view->buffer, Run(view->body)));
    }
    std::vector<Stmt> init;
    for (int64_t i = 0; i < barriers_; ++i) {
      init.push_back(Invoke("cuda.mbarrier_init", {Pointer(Const(kCount, i)), Expr(1)}));
    }
    init.push_back(Invoke("cuda.fence_mbarrier_init", {}));
    Stmt result =
        Sequence({Store(groups_, Const(kCount, 0), {Expr(0)}), Store(groups_, Const(kCount, 0), {Expr(1)}),
                  If(first_thread_, Sequence(std::move(init))),
                  Stmt(new SyncNode(SyncKind::kBarrier, Scope::Parse("shared"), OwnerLevel::kBlock)), Mutate(body)});
    result = Stmt(new AllocateNode(groups_, {}, std::move(result)));
    return Stmt(new AllocateNode(full_, {}, std::move(result)));
  }

 protected:
  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self) override {
    const auto* call = dyn_cast<CallNode>(op->value);
    if (call == nullptr || call->op != kBulkLoad) return self;
    std::vector<Expr> args = call->args;
    const auto bytes = static_cast<int>(BoxBytes(*cast<CallNode>(args[1])));
    args.insert(args.begin() + 2, Pointer(At(Closed())));
    return Sequence(
        {Invoke("cuda.mbarrier_expect_tx", {Pointer(At(Closed())), Expr(bytes)}), Invoke(kBulkLoad, std::move(args))});
  }
  Stmt MutateSync(const SyncNode* op, const Stmt& self) override {
    if (op->sync == SyncKind::kAsyncCommit) {
      return Sequence({also_cp_async_ ? self : Sequence({}),
                       If(first_thread_, Invoke("cuda.mbarrier_arrive", {Pointer(At(Closed()))})),
                       Store(groups_, Closed() + Const(kCount, 1), {Expr(0)})});
    }
    if (op->sync != SyncKind::kAsyncWait) return self;
    const Expr pending = Const(kCount, AsInt(op->operand).value_or(0)),
               parity = FloorMod(FloorDiv(Waited(), Const(kCount, barriers_)), Const(kCount, 2));
    Stmt wait =
        While(Waited() + pending < Closed(), Sequence({Invoke("cuda.mbarrier_wait", {Pointer(At(Waited())), parity}),
                                                       Store(groups_, Waited() + Const(kCount, 1), {Expr(1)})}));
    return Sequence({also_cp_async_ ? self : Sequence({}), std::move(wait)});
  }

 private:
  // How many groups this thread has closed, and waited for.
  Expr Closed() const { return groups_.Load({Expr(0)}); }
  Expr Waited() const { return groups_.Load({Expr(1)}); }
  Expr At(const Expr& group) const { return FloorMod(group, Const(kCount, barriers_)); }
  Expr Pointer(const Expr& barrier) const {
    const Expr type = Call(DataType::UInt(64), std::string(kTypeAnnotation), {});
    return Call(DataType::Handle(), std::string(kAccessPtr), {type, full_->data, barrier, Expr(1), Expr(kAccessWrite)});
  }

  Expr first_thread_;
  const bool also_cp_async_;
  bool constant_ = true;
  int64_t barriers_ = 1;
  Buffer full_, groups_;
};

class KernelMutator : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  absl::Status status;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) return StmtMutator::MutateFor(op, self);
    if (op->thread_tag.starts_with("threadIdx")) threads_.push_back(op);
    ForNode::Fields fields = op->fields();
    const auto* inner = dyn_cast<ForNode>(op->body);
    fields.body = inner != nullptr && inner->kind == ForKind::kThreadBound ? Mutate(op->body) : Kernel(op->body);
    if (op->thread_tag.starts_with("threadIdx")) threads_.pop_back();
    return fields.body.same_as(op->body) ? self : For(std::move(fields));
  }

 private:
  Stmt Kernel(const Stmt& body) {
    if (!Calls(body, kBulkLoad)) return body;
    GroupBarriers barriers(threads_, body);
    if (!barriers.constant()) {
      status = absl::InvalidArgumentError("a wait for bulk copies does not say for how many groups by a constant");
    }
    return barriers.Run(body);
  }
  std::vector<const ForNode*> threads_;
};

}  // namespace

absl::StatusOr<Function> MakeBulkBarriers(const Function& function) {
  KernelMutator mutator;
  Stmt body = mutator.Mutate(function->body);
  if (!mutator.status.ok()) return mutator.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright

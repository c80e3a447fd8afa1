#include "codegen/lower/gpu/bulk_barriers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/warp_roles.h"
#include "codegen/lower/gpu/wgmma_call.h"
#include "intrin/cuda/call_roles.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/data_type.h"
#include "ir/functor.h"
#include "ir/thread_tags.h"

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

template <class Predicate>
bool Calls(const Stmt& s, const Predicate& is_meant) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const CallNode* call = AsCall(part);
    found |= call != nullptr && is_meant(*call);
    return !found;
  });
  return found;
}
bool IsCpAsync(const CallNode& call) { return cuda::RoleOfCall(call.op) == cuda::CallRole::kAsyncCopy; }
bool IsMulticast(const CallNode& call) { return call.op == kBulkMulticast; }

bool IsSync(const Stmt& s, SyncKind kind) {
  const auto* sync = dyn_cast<SyncNode>(s);
  return sync != nullptr && sync->sync == kind;
}

// Whether a kernel's pipeline with roles, which has this many barriers, runs in a loop, and each wait in it is for one
// more group, whose products come next: what earlier products read is dead when they are done.
class RunsInLoop {
 public:
  bool operator()(const Stmt& body, int64_t barriers) {
    Find(body, /*in_loop=*/false);
    const auto left = static_cast<int64_t>(behind_.size());
    bool one_by_one = pipelines_ == 1 && in_loop_ && before_products_ && left < barriers + (inside_.empty() ? 1 : 0);
    for (const int64_t pending : inside_) one_by_one &= pending == barriers - 1 && left == barriers - 1;
    for (int64_t i = 0; i < left; ++i) one_by_one &= behind_[static_cast<size_t>(i)] == left - 1 - i;
    return one_by_one;
  }

 private:
  void Find(const Stmt& s, bool in_loop) {
    if (const auto* attr = dyn_cast<AttrStmtNode>(s)) {
      if (attr->key == kWarpRoles) {
        ++pipelines_;
        in_loop_ = in_loop;
        return Collect(attr->body, /*in_steps=*/false);
      }
      return Find(attr->body, in_loop);
    }
    if (const auto* loop = dyn_cast<ForNode>(s)) return Find(loop->body, true);
    if (const auto* allocate = dyn_cast<AllocateNode>(s)) return Find(allocate->body, in_loop);
    if (const auto* view = dyn_cast<DeclBufferNode>(s)) return Find(view->body, in_loop);
    if (const auto* let = dyn_cast<LetStmtNode>(s)) return Find(let->body, in_loop);
    if (const auto* branch = dyn_cast<IfNode>(s)) {
      Find(branch->then_case, in_loop);
      if (branch->else_case) Find(branch->else_case, in_loop);
    }
    if (const auto* seq = dyn_cast<SeqNode>(s)) {
      for (const Stmt& each : seq->stmts) Find(each, in_loop);
    }
  }
  // The groups that the waits of a pipeline leave in flight.
  void Collect(const Stmt& s, bool in_steps) {
    if (const auto* loop = dyn_cast<ForNode>(s)) return Collect(loop->body, true);
    if (const auto* attr = dyn_cast<AttrStmtNode>(s)) return Collect(attr->body, in_steps);
    if (const auto* branch = dyn_cast<IfNode>(s)) before_products_ &= !HasWaits(branch->then_case);
    const auto* seq = dyn_cast<SeqNode>(s);
    if (seq == nullptr) return;
    for (size_t i = 0; i < seq->stmts.size(); ++i) {
      if (!IsSync(seq->stmts[i], SyncKind::kAsyncWait)) {
        Collect(seq->stmts[i], in_steps);
        continue;
      }
      (in_steps ? inside_ : behind_).push_back(AsInt(cast<SyncNode>(seq->stmts[i])->operand).value_or(-1));
      before_products_ &= i + 1 < seq->stmts.size() && OnlyMultiplies(seq->stmts[i + 1]);
    }
  }
  static bool HasWaits(const Stmt& s) {
    bool found = false;
    PreOrder(s, [&](const Stmt& part) {
      found |= IsSync(part, SyncKind::kAsyncWait);
      return !found;
    });
    return found;
  }

  int pipelines_ = 0;
  bool in_loop_ = false, before_products_ = true;
  std::vector<int64_t> inside_, behind_;  // of waits in the loop over steps, and behind it
};

class GroupBarriers : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  // `cluster`: blocks of a cluster.
  GroupBarriers(const std::vector<const ForNode*>& threads, int64_t cluster, const Stmt& body, int64_t warp_size)
      : warp_size_(warp_size),
        also_cp_async_(Calls(body, IsCpAsync)),
        sharers_(Calls(body, IsMulticast) ? cluster : 1) {
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
    empty_ = Buffer("empty", {Expr(barriers_)}, DataType::UInt(64), Scope::Parse("shared"));
    releases_each_ = AsksForRoles(body) && RunsInLoop()(body, barriers_);
    groups_ = Buffer("groups", {Expr(releases_each_ ? 3 : 2)}, kCount, Scope::Parse("local"));
  }
  bool constant() const { return constant_; }

  // All threads do both.
  Stmt Run(const Stmt& body) {
    return Behind(body, [&](const Stmt& inner) { return WithObjects(Mutate(inner), 0); });
  }

  // `producer`: whether a thread is one of its warpgroups; `thread`: its number in its slice of the block.
  absl::StatusOr<Stmt> RunRoles(const Stmt& body, const std::vector<const ForNode*>& threads,
                                const ProducerThreads& plan, const Expr& producer, const Expr& thread) {
    absl::Status status;
    consumers_ = plan.consumers;
    // The slice of the consumers need not be among what tells the first thread.
    if (plan.first == 1) first_thread_ = And(first_thread_, Not(producer));
    lane_ = FloorMod(thread, Const(thread.dtype(), warp_size_));
    Stmt result = Behind(body, [&](const Stmt& inner) {
      absl::StatusOr<WarpRoles> roles = SplitRoles(inner, threads);
      if (!roles.ok()) {
        status = roles.status();
        return inner;
      }
      role_ = Role::kProducer;
      Stmt copies = If(thread == Const(thread.dtype(), 0), Mutate(roles->producer));
      role_ = Role::kConsumers;
      Stmt rest = Mutate(roles->consumers);
      Stmt parts = If(producer, Sequence({MoveRegisters("cuda.setmaxnreg_dec", plan.producer_registers), copies}),
                      Sequence({MoveRegisters("cuda.setmaxnreg_inc", plan.consumer_registers), rest}));
      if (releases_each_ && sharers_ > 1) parts = Sequence({std::move(parts), Barrier(OwnerLevel::kCluster)});
      return Stmt(new AllocateNode(empty_, {}, WithObjects(std::move(parts), plan.consumers / warp_size_ * sharers_)));
    });
    if (!status.ok()) return status;
    return result;
  }

 protected:
  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self) override {
    const auto* call = dyn_cast<CallNode>(op->value);
    if (call == nullptr || !IsBulkLoad(*call)) return self;
    std::vector<Expr> args = call->args;
    auto bytes = static_cast<int>(BytesOfBox(*cast<CallNode>(args[1])));
    if (call->op == kBulkMulticast) {
      bytes *= static_cast<int>(AsInt(args[3]).value_or(1));
      args.erase(args.begin() + 3);
    }
    args.insert(args.begin() + 2, Pointer(full_, At(Closed())));
    return Sequence({role_ == Role::kProducer ? WaitUntilEmpty() : Sequence({}),
                     Invoke("cuda.mbarrier_expect_tx", {Pointer(full_, At(Closed())), Expr(bytes)}),
                     Evaluate(Call(DataType::Void(), call->op, std::move(args)))});
  }
  Stmt MutateAttrStmt(const AttrStmtNode* op, const Stmt& self) override {
    Stmt result = StmtMutator::MutateAttrStmt(op, self);
    const bool ends = op->key == kWarpRoles && releases_each_ && role_ == Role::kConsumers;
    return ends ? Sequence({std::move(result), ReleaseAllBut(0)}) : result;
  }
  // Arrivals of consumers move behind products that need none of the copies which they let begin.
  Stmt MutateSeq(const SeqNode* op, const Stmt& self) override {
    if (role_ != Role::kConsumers) return StmtMutator::MutateSeq(op, self);
    std::vector<Stmt> result;
    bool moved = false;  // the arrival of the group that was closed last
    for (size_t i = 0; i < op->stmts.size(); ++i) {
      const Stmt& each = op->stmts[i];
      const bool last_product =
          OnlyMultiplies(each) && (i + 1 == op->stmts.size() || !OnlyMultiplies(op->stmts[i + 1]));
      if (releases_each_) {
        result.push_back(Mutate(each));
        if (last_product) result.push_back(Stmt(new AttrStmtNode(Expr(0), kEarlierRelease, Expr(1), ReleaseAllBut(1))));
        continue;
      }
      if (IsSync(each, SyncKind::kAsyncCommit) && !also_cp_async_ && ProductsFollow(op->stmts, i + 1)) {
        result.push_back(Store(groups_, Closed() + Const(kCount, 1), {Expr(0)}));
        moved = true;
        continue;
      }
      result.push_back(Mutate(each));
      if (!moved || !last_product) continue;
      const Stmt release = Release(Closed() - Const(kCount, 1));
      result.push_back(Stmt(new AttrStmtNode(Expr(0), kEarlierRelease, Expr(1), release)));
      moved = false;
    }
    return Sequence(std::move(result));
  }
  Stmt MutateSync(const SyncNode* op, const Stmt& self) override {
    if (op->sync == SyncKind::kAsyncCommit) {
      const Stmt arrive = Invoke("cuda.mbarrier_arrive", {Pointer(full_, At(Closed()))});
      const bool copies = also_cp_async_ && role_ != Role::kProducer;
      return Sequence({copies ? self : Sequence({}),
                       role_ == Role::kProducer && sharers_ > 1 ? WaitUntilEmpty() : Sequence({}),
                       role_ == Role::kConsumers  ? (releases_each_ ? Sequence({}) : Release(Closed()))
                       : role_ == Role::kProducer ? arrive
                                                  : If(first_thread_, arrive),
                       Store(groups_, Closed() + Const(kCount, 1), {Expr(0)})});
    }
    const bool of_block = op->sync == SyncKind::kBarrier && op->participants == OwnerLevel::kBlock;
    if (of_block && role_ == Role::kConsumers) {
      return Invoke("cuda.named_barrier", {Expr(1), Expr(static_cast<int>(consumers_))});
    }
    if (op->sync != SyncKind::kAsyncWait) return self;
    const Expr pending = Const(kCount, AsInt(op->operand).value_or(0)),
               parity = FloorMod(FloorDiv(Waited(), Const(kCount, barriers_)), Const(kCount, 2));
    Stmt wait = While(Waited() + pending < Closed(),
                      Sequence({Invoke("cuda.mbarrier_wait", {Pointer(full_, At(Waited())), parity}),
                                Store(groups_, Waited() + Const(kCount, 1), {Expr(1)})}));
    return Sequence({also_cp_async_ ? self : Sequence({}), std::move(wait)});
  }

 private:
  // How many groups this thread has closed, waited for, and released.
  Expr Closed() const { return groups_.Load({Expr(0)}); }
  Expr Waited() const { return groups_.Load({Expr(1)}); }
  Expr Released() const { return groups_.Load({Expr(2)}); }
  Expr At(const Expr& group) const { return FloorMod(group, Const(kCount, barriers_)); }
  static Expr Pointer(const Buffer& barriers, const Expr& barrier) {
    const Expr type = Call(DataType::UInt(64), std::string(kTypeAnnotation), {});
    return Call(DataType::Handle(), std::string(kAccessPtr),
                {type, barriers->data, barrier, Expr(1), Expr(kAccessWrite)});
  }
  static Stmt MoveRegisters(const char* function, int count) {
    return count == 0 ? Sequence({}) : Invoke(function, {String(absl::StrCat(count))});
  }

  // The kernel with `make` of what is below its allocations of shared memory and views of it.
  template <class Make>
  static Stmt Behind(const Stmt& body, const Make& make) {
    if (const auto* allocate = dyn_cast<AllocateNode>(body)) {
      return Stmt(new AllocateNode(allocate->buffer, allocate->annotations, Behind(allocate->body, make)));
    }
    if (const auto* view = dyn_cast<DeclBufferNode>(body)) {
      return Stmt(new DeclBufferNode(view->buffer, Behind(view->body, make)));
    }
    return make(body);
  }
  // `releases`: arrivals that make a stage empty; 0: there is no producer.
  Stmt WithObjects(Stmt body, int64_t releases) const {
    std::vector<Stmt> init;
    for (int64_t i = 0; i < barriers_; ++i) {
      init.push_back(Invoke("cuda.mbarrier_init", {Pointer(full_, Const(kCount, i)), Expr(1)}));
      if (releases == 0) continue;
      init.push_back(
          Invoke("cuda.mbarrier_init", {Pointer(empty_, Const(kCount, i)), Expr(static_cast<int>(releases))}));
    }
    init.push_back(Invoke("cuda.fence_mbarrier_init", {}));
    const OwnerLevel users = sharers_ > 1 ? OwnerLevel::kCluster : OwnerLevel::kBlock;
    Stmt result = Sequence({Store(groups_, Const(kCount, 0), {Expr(0)}), Store(groups_, Const(kCount, 0), {Expr(1)}),
                            releases_each_ ? Store(groups_, Const(kCount, 0), {Expr(2)}) : Sequence({}),
                            If(first_thread_, Sequence(std::move(init))), Barrier(users), std::move(body)});
    result = Stmt(new AllocateNode(groups_, {}, std::move(result)));
    return Stmt(new AllocateNode(full_, {}, std::move(result)));
  }

  static Stmt Barrier(OwnerLevel participants) {
    return Stmt(new SyncNode(SyncKind::kBarrier, Scope::Parse("shared"), participants));
  }
  // Whether products come next, behind waits for copies before the last group alone.
  static bool ProductsFollow(const std::vector<Stmt>& stmts, size_t i) {
    for (; i < stmts.size() && !OnlyMultiplies(stmts[i]); ++i) {
      const bool of_earlier =
          IsSync(stmts[i], SyncKind::kAsyncWait) && AsInt(cast<SyncNode>(stmts[i])->operand).value_or(0) >= 1;
      if (!of_earlier && !IsWarpBarrier(stmts[i])) return false;
    }
    return i < stmts.size() && OnlyMultiplies(stmts[i]);
  }

  // Whether a group uses a barrier, and memory, for a second time.
  Expr IsReuse(const Expr& group) const { return Const(kCount, barriers_) <= group; }
  Stmt WaitUntilEmpty() const {
    const Expr round = FloorDiv(Closed(), Const(kCount, barriers_)) + Const(kCount, 1);
    return If(IsReuse(Closed()),
              Invoke("cuda.mbarrier_wait", {Pointer(empty_, At(Closed())), FloorMod(round, Const(kCount, 2))}));
  }
  // Here the kernel would copy into memory whose readers lie before: all lanes of a warp are done with it.
  Stmt Release(const Expr& group) const { return If(IsReuse(group), Arrive(group)); }
  // Groups that were waited for, but for the latest.
  Stmt ReleaseAllBut(int latest) const {
    return While(Released() + Const(kCount, latest) < Waited(),
                 Sequence({Arrive(Released()), Store(groups_, Released() + Const(kCount, 1), {Expr(2)})}));
  }
  Stmt Arrive(const Expr& group) const {
    const Expr empty = Pointer(empty_, At(group));
    // A lane for each block.
    const Stmt arrive = sharers_ == 1 ? If(lane_ == Const(lane_.dtype(), 0), Invoke("cuda.mbarrier_arrive", {empty}))
                                      : If(lane_ < Const(lane_.dtype(), sharers_),
                                           Invoke("cuda.mbarrier_arrive_cluster", {empty, lane_}));
    return Sequence({Barrier(OwnerLevel::kWarp), arrive});
  }

  enum class Role : uint8_t { kAll, kProducer, kConsumers };
  Role role_ = Role::kAll;
  int64_t consumers_ = 0;
  Expr lane_;
  Expr first_thread_;
  const int64_t warp_size_;
  const bool also_cp_async_;
  const int64_t sharers_;       // blocks of a cluster that copy for each other; 1: there are none
  bool releases_each_ = false;  // consumers release each group as soon as they are done with it
  bool constant_ = true;
  int64_t barriers_ = 1;
  Buffer full_, empty_, groups_;
};

class KernelMutator : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  KernelMutator(uint32_t next_id, const GpuTarget& gpu) : gpu_(gpu), next_id_(next_id) {}
  absl::Status status;
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) return StmtMutator::MutateFor(op, self);
    if (op->thread_tag.starts_with("threadIdx")) threads_.push_back(op);
    const int64_t outer_cluster = cluster_;
    if (IsClusterTag(op->thread_tag)) cluster_ *= AsInt(op->extent).value_or(1);
    ForNode::Fields fields = op->fields();
    const auto* inner = dyn_cast<ForNode>(op->body);
    fields.body = inner != nullptr && inner->kind == ForKind::kThreadBound ? Mutate(op->body) : Kernel(op->body);
    if (op->thread_tag.starts_with("threadIdx")) threads_.pop_back();
    if (producer_ && producer_->tag == op->thread_tag) fields.extent = Const(op->var.dtype(), producer_->first + 1);
    if (threads_.empty()) producer_.reset();
    cluster_ = outer_cluster;
    return fields.body.same_as(op->body) ? self : For(std::move(fields));
  }

 private:
  Stmt Kernel(const Stmt& body) {
    if (!Calls(body, IsBulkLoad)) return body;
    GroupBarriers barriers(threads_, cluster_, body, gpu_.warp_size);
    if (!barriers.constant()) {
      status = absl::InvalidArgumentError("a wait for bulk copies does not say for how many groups by a constant");
    }
    return AsksForRoles(body) ? Roles(body, &barriers) : barriers.Run(body);
  }

  Stmt Roles(const Stmt& body, GroupBarriers* barriers) {
    const absl::StatusOr<ProducerThreads> plan = PlanProducer(threads_, gpu_);
    if (!plan.ok()) {
      status = plan.status();
      return body;
    }
    // The loop whose last iteration is the producer, and the number of a thread among those of an iteration.
    Expr slice, number = Expr(0);
    int64_t weight = 1;
    for (const char* tag : {"threadIdx.x", "threadIdx.y", "threadIdx.z"}) {
      for (const ForNode* loop : threads_) {
        if (loop->thread_tag != tag) continue;
        if (plan->tag == tag) slice = loop->var;
        if (plan->tag != tag) number = number + CastTo(DataType::Int(32), loop->var) * Expr(weight);
        weight *= AsInt(loop->extent).value_or(1);
      }
    }
    const Var added("producer");
    const bool adds = !slice;
    if (adds) slice = added;
    producer_ = *plan;
    absl::StatusOr<Stmt> result =
        barriers->RunRoles(body, threads_, *plan, Const(slice.dtype(), plan->first) <= slice, arith::Simplify(number));
    if (!result.ok()) {
      status = result.status();
      return body;
    }
    if (!adds) return *result;
    ForNode::Fields fields;
    fields.id = next_id_++;
    fields.var = added;
    fields.min = Expr(0);
    fields.extent = Expr(plan->first + 1);
    fields.kind = ForKind::kThreadBound;
    fields.thread_tag = plan->tag;
    fields.body = *std::move(result);
    return For(std::move(fields));
  }

  const GpuTarget& gpu_;
  std::vector<const ForNode*> threads_;
  int64_t cluster_ = 1;
  std::optional<ProducerThreads> producer_;  // of the kernel that is made
  uint32_t next_id_;
};

}  // namespace

absl::StatusOr<Function> MakeBulkBarriers(const Function& function, const GpuTarget& gpu) {
  KernelMutator mutator(function->next_id, gpu);
  Stmt body = mutator.Mutate(function->body);
  if (!mutator.status.ok()) return mutator.status;
  return function.WithBody(std::move(body), mutator.next_id());
}

}  // namespace tilewright

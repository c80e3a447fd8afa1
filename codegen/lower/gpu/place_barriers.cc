#include "codegen/lower/gpu/place_barriers.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/thread_accesses.h"
#include "intrin/cuda/call_roles.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/thread_tags.h"

namespace tilewright {
namespace {

// What was accessed since the last barrier.
struct Pending {
  std::vector<ThreadAccess> of_block;  // memory that the threads of a block share
  std::vector<ThreadAccess> of_warp;
  // Copies that were issued, and may write until a wait covers them.
  std::vector<ThreadAccess> in_flight;
  bool met_block = false, met_warp = false;  // at a barrier, since this began

  void Add(const Pending& other) {
    AddTo(&of_block, other.of_block);
    AddTo(&of_warp, other.of_warp);
    AddTo(&in_flight, other.in_flight);
  }
  // What follows this.
  void Follow(const Pending& later) {
    if (later.met_block) of_block.clear();
    if (later.met_warp) of_warp.clear();
    Add(later);
    met_block |= later.met_block;
    met_warp |= later.met_warp;
  }
  void Meet(OwnerLevel participants) {
    if (participants >= OwnerLevel::kBlock) {
      of_block.clear();
      met_block = true;
    }
    of_warp.clear();
    met_warp = true;
  }

 private:
  static void AddTo(std::vector<ThreadAccess>* list, const std::vector<ThreadAccess>& more) {
    for (const ThreadAccess& access : more) {
      if (access.bulk) continue;
      const bool known = std::any_of(list->begin(), list->end(), [&](const ThreadAccess& other) {
        return other.data == access.data && other.write == access.write && other.first.same_as(access.first) &&
               other.elements == access.elements && other.loops == access.loops && other.earlier == access.earlier &&
               std::ranges::equal(other.conditions, access.conditions,
                                  [](const Expr& a, const Expr& b) { return a.same_as(b); });
      });
      if (!known) list->push_back(access);
    }
  }
};

Stmt Barrier(OwnerLevel participants) {
  const Scope memory = Scope::Parse(participants == OwnerLevel::kWarp ? "warp" : "shared");
  return Stmt(new SyncNode(SyncKind::kBarrier, memory, participants));
}

const CallNode* InstructionOf(const Stmt& s) {
  const auto* attr = IsInstruction(s) ? cast<AttrStmtNode>(s) : nullptr;
  return attr == nullptr ? nullptr : dyn_cast<CallNode>(attr->value);
}

class Kernel {
 public:
  Kernel(const BufferScopes& scopes, std::vector<const ForNode*> threads, std::vector<const ForNode*> blocks)
      : scopes_(scopes), threads_(threads), blocks_(blocks), conflicts_(std::move(threads), std::move(blocks)) {
    for (const ForNode* loop : threads_) {
      if (!IsInt(loop->extent, 1)) varying_.insert(loop->var.get());
    }
  }
  absl::Status status;

  Stmt Run(const Stmt& body) {
    Pending pending;
    return Process(body, &pending);
  }

 private:
  // Whether threads of a block may disagree about the value.
  bool Differs(const Expr& e) const {
    if (walks_all_) return false;
    bool differs = false;
    PreOrder(e, [&](const Expr& part) {
      if (const auto* var = dyn_cast<VarNode>(part)) differs |= varying_.contains(var);
      if (const auto* load = dyn_cast<LoadNode>(part)) {
        const auto scope = scopes_.find(load->buffer->data.get());
        differs |= MemoryOwner(scope == scopes_.end() ? load->buffer->scope : scope->second) != OwnerLevel::kDevice;
      }
      return !differs;
    });
    return differs;
  }

  // What threads access in `s`, as one piece.
  void Collect(const Stmt& s, std::vector<ThreadAccess>* accesses) {
    switch (s->kind()) {
      case Kind::kFor: {
        const auto* op = cast<ForNode>(s);
        AddHere(ThreadAccessesOf(op->extent, scopes_), accesses);
        loops_.push_back(op);
        Collect(op->body, accesses);
        loops_.pop_back();
        return;
      }
      case Kind::kIf: {
        const auto* op = cast<IfNode>(s);
        AddHere(ThreadAccessesOf(op->condition, scopes_), accesses);
        conditions_.push_back(op->condition);
        Collect(op->then_case, accesses);
        conditions_.back() = Not(op->condition);
        if (op->else_case) Collect(op->else_case, accesses);
        conditions_.pop_back();
        return;
      }
      case Kind::kWhile:
        AddHere(ThreadAccessesOf(cast<WhileNode>(s)->condition, scopes_), accesses);
        return Collect(cast<WhileNode>(s)->body, accesses);
      case Kind::kSeq:
        for (const Stmt& each : cast<SeqNode>(s)->stmts) Collect(each, accesses);
        return;
      case Kind::kLetStmt:
        AddHere(ThreadAccessesOf(cast<LetStmtNode>(s)->value, scopes_), accesses);
        return Collect(cast<LetStmtNode>(s)->body, accesses);
      case Kind::kAttrStmt: {
        const size_t first = accesses->size();
        Collect(cast<AttrStmtNode>(s)->body, accesses);
        const CallNode* instruction = InstructionOf(s);
        const bool bulk = instruction != nullptr && IsBulkLoad(*instruction),
                   async = instruction != nullptr && cuda::RoleOfCall(instruction->op) == cuda::CallRole::kAsyncCopy;
        for (size_t i = first; i < accesses->size(); ++i) {
          (*accesses)[i].bulk |= bulk && (*accesses)[i].write;
          (*accesses)[i].async |= async && (*accesses)[i].write;
        }
        return;
      }
      case Kind::kAllocate:
        return Collect(cast<AllocateNode>(s)->body, accesses);
      case Kind::kDeclBuffer:
        return Collect(cast<DeclBufferNode>(s)->body, accesses);
      case Kind::kSync:
        return;
      default:
        return AddHere(ThreadAccessesOf(s, scopes_), accesses);
    }
  }
  void AddHere(std::vector<ThreadAccess> found, std::vector<ThreadAccess>* accesses) const {
    for (ThreadAccess& access : found) {
      access.loops = loops_;
      access.conditions = conditions_;
      accesses->push_back(std::move(access));
    }
  }

  const ThreadAccess* FirstMeeting(const std::vector<ThreadAccess>& before,
                                   const std::vector<ThreadAccess>& now) const {
    for (const ThreadAccess& a : now) {
      for (const ThreadAccess& b : before) {
        if (conflicts_.MayMeet(b, a)) return &a;
      }
    }
    return nullptr;
  }

  // Those of `accesses` that a barrier of the block or of the warp orders.
  static Pending Sorted(const std::vector<ThreadAccess>& accesses) {
    Pending sorted;
    for (const ThreadAccess& access : accesses) {
      (access.owner == OwnerLevel::kWarp ? sorted.of_warp : sorted.of_block).push_back(access);
      if (access.async) sorted.in_flight.push_back(access);
    }
    return sorted;
  }

  // Whether `s` is bulk copies of a pipeline with roles: barrier objects order them with what consumers do.
  bool IsOfProducer(const Stmt& s) const {
    if (!roles_) return false;
    if (const auto* branch = dyn_cast<IfNode>(s)) return !branch->else_case && IsOfProducer(branch->then_case);
    const auto* seq = dyn_cast<SeqNode>(s);
    const CallNode* instruction = InstructionOf(s);
    if (seq == nullptr) return instruction != nullptr && IsBulkLoad(*instruction);
    return std::ranges::all_of(seq->stmts, [&](const Stmt& each) { return IsOfProducer(each); });
  }

  // The barrier that has to stand before what does `now` first; nothing when none has to.
  Stmt BarrierBefore(const Pending& now, Pending* pending) {
    const ThreadAccess* block = FirstMeeting(pending->of_block, now.of_block);
    const ThreadAccess* warp = block != nullptr ? nullptr : FirstMeeting(pending->of_warp, now.of_warp);
    if (block == nullptr && warp == nullptr) return Sequence({});
    const OwnerLevel participants = block != nullptr ? OwnerLevel::kBlock : OwnerLevel::kWarp;
    placed_at_ = (block != nullptr ? block : warp)->data->name;
    pending->Meet(participants);
    return Barrier(participants);
  }

  // A statement that has no place for barriers inside of it.
  Stmt Whole(const Stmt& s, Pending* pending) {
    std::vector<ThreadAccess> accesses;
    Collect(s, &accesses);
    const Pending now = Sorted(accesses);
    Stmt barrier = BarrierBefore(now, pending);
    pending->Add(now);
    return Sequence({std::move(barrier), s});
  }

  // A loop or branch that not all threads take alike: what they do in it must not depend on other threads.
  Stmt Divided(const Stmt& s, Pending* pending) {
    Stmt result = Whole(s, pending);
    Kernel inside(scopes_, threads_, blocks_);
    inside.walks_all_ = true;
    inside.loops_ = loops_;
    inside.conditions_ = conditions_;
    Pending none;
    inside.Process(s, &none);
    if (!inside.placed_at_.empty() && status.ok()) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "threads depend on each other in memory ", inside.placed_at_,
          " inside of a loop or branch that not all threads of the block enter alike: no barrier can stand "
          "there"));
    }
    return result;
  }

  // What `s` accesses before the first barrier in it; whether all threads come to one.
  bool Head(const Stmt& s, std::vector<ThreadAccess>* accesses) {
    if (IsOfProducer(s)) return false;
    switch (s->kind()) {
      case Kind::kSeq:
        for (const Stmt& each : cast<SeqNode>(s)->stmts) {
          if (Head(each, accesses)) return true;
        }
        return false;
      case Kind::kFor: {
        const auto* op = cast<ForNode>(s);
        AddHere(ThreadAccessesOf(op->extent, scopes_), accesses);
        loops_.push_back(op);
        const bool stops = Head(op->body, accesses);
        loops_.pop_back();
        return stops && AtLeastOnce(op);
      }
      case Kind::kIf: {
        const auto* op = cast<IfNode>(s);
        AddHere(ThreadAccessesOf(op->condition, scopes_), accesses);
        conditions_.push_back(op->condition);
        const bool stops = Head(op->then_case, accesses);
        conditions_.pop_back();
        return op->else_case && Head(op->else_case, accesses) && stops;
      }
      case Kind::kLetStmt:
        AddHere(ThreadAccessesOf(cast<LetStmtNode>(s)->value, scopes_), accesses);
        return Head(cast<LetStmtNode>(s)->body, accesses);
      case Kind::kAttrStmt:
        return Head(cast<AttrStmtNode>(s)->body, accesses);
      case Kind::kAllocate:
        return Head(cast<AllocateNode>(s)->body, accesses);
      case Kind::kDeclBuffer:
        return Head(cast<DeclBufferNode>(s)->body, accesses);
      case Kind::kSync:
        return cast<SyncNode>(s)->sync == SyncKind::kBarrier && cast<SyncNode>(s)->participants >= OwnerLevel::kBlock;
      default:
        Collect(s, accesses);
        return false;
    }
  }

  // A piece that was processed by itself, behind what is pending.
  Stmt Join(const Stmt& processed, const Pending& inside, Pending* pending) {
    std::vector<ThreadAccess> head;
    Head(processed, &head);
    Stmt barrier = BarrierBefore(Sorted(head), pending);
    pending->Follow(inside);
    return Sequence({std::move(barrier), processed});
  }

  Stmt Process(const Stmt& s, Pending* pending) {
    if (IsOfProducer(s)) return s;
    switch (s->kind()) {
      case Kind::kSeq: {
        std::vector<Stmt> result;
        for (const Stmt& each : cast<SeqNode>(s)->stmts) result.push_back(Process(each, pending));
        return Sequence(std::move(result));
      }
      case Kind::kFor:
        return Loop(s, pending);
      case Kind::kIf:
        return Branch(s, pending);
      case Kind::kWhile:
        return walks_all_ ? WhileLoop(cast<WhileNode>(s), pending) : Divided(s, pending);
      case Kind::kLetStmt: {
        const auto* op = cast<LetStmtNode>(s);
        if (Differs(op->value)) varying_.insert(op->var.get());
        std::vector<ThreadAccess> accesses;
        AddHere(ThreadAccessesOf(op->value, scopes_), &accesses);
        const Pending now = Sorted(accesses);
        Stmt barrier = BarrierBefore(now, pending);
        pending->Add(now);
        return Sequence({std::move(barrier), LetStmt(op->var, op->value, Process(op->body, pending))});
      }
      case Kind::kAttrStmt: {
        const auto* op = cast<AttrStmtNode>(s);
        if (IsInstruction(s)) return Whole(s, pending);
        roles_ |= op->key == kWarpRoles;
        return Stmt(new AttrStmtNode(op->node, op->key, op->value, Process(op->body, pending)));
      }
      case Kind::kAllocate: {
        const auto* op = cast<AllocateNode>(s);
        return Stmt(new AllocateNode(op->buffer, op->annotations, Process(op->body, pending)));
      }
      case Kind::kDeclBuffer:
        return Stmt(
            new DeclBufferNode(cast<DeclBufferNode>(s)->buffer, Process(cast<DeclBufferNode>(s)->body, pending)));
      case Kind::kSync:
        return Sync(s, pending);
      default:
        return Whole(s, pending);
    }
  }

  Stmt Sync(const Stmt& s, Pending* pending) {
    const auto* op = cast<SyncNode>(s);
    if (op->sync == SyncKind::kBarrier) pending->Meet(op->participants);
    // The copies have written; other threads see it behind the next barrier.
    if (op->sync == SyncKind::kAsyncWait) {
      pending->of_block.insert(pending->of_block.end(), pending->in_flight.begin(), pending->in_flight.end());
    }
    return s;
  }

  Stmt Branch(const Stmt& s, Pending* pending) {
    const auto* op = cast<IfNode>(s);
    if (Differs(op->condition)) return Divided(s, pending);
    Pending inside, otherwise;
    conditions_.push_back(op->condition);
    Stmt then_case = Process(op->then_case, &inside);
    conditions_.pop_back();
    Stmt else_case = op->else_case ? Process(op->else_case, &otherwise) : Stmt();
    inside.Add(otherwise);
    inside.met_block &= otherwise.met_block;
    inside.met_warp &= otherwise.met_warp;
    return Join(If(op->condition, then_case, else_case), inside, pending);
  }

  Stmt Loop(const Stmt& s, Pending* pending) {
    const auto* op = cast<ForNode>(s);
    if (Differs(op->extent) || Differs(op->min)) return Divided(s, pending);
    // The first iteration, then one that follows another.
    Pending inside;
    inside.in_flight = pending->in_flight;
    Stmt body = Iteration(op, op->body, &inside);
    const bool met_block = inside.met_block, met_warp = inside.met_warp;
    for (const auto member : {&Pending::of_block, &Pending::of_warp, &Pending::in_flight}) {
      for (ThreadAccess& access : inside.*member) {
        if (IsInside(access, op)) access.earlier.push_back(op);
      }
    }
    body = Iteration(op, body, &inside);
    for (const auto member : {&Pending::of_block, &Pending::of_warp, &Pending::in_flight}) {
      for (ThreadAccess& access : inside.*member) std::erase(access.earlier, op);
    }
    inside.met_block = (met_block || inside.met_block) && AtLeastOnce(op);
    inside.met_warp = (met_warp || inside.met_warp) && AtLeastOnce(op);
    if (body.same_as(op->body)) return Join(s, inside, pending);
    ForNode::Fields fields = op->fields();
    fields.body = body;
    return Join(For(std::move(fields)), inside, pending);
  }
  static bool IsInside(const ThreadAccess& access, const ForNode* loop) {
    return std::find(access.loops.begin(), access.loops.end(), loop) != access.loops.end();
  }
  static bool AtLeastOnce(const ForNode* op) {
    const auto extent = AsInt(op->extent);
    return extent && *extent > 0;
  }
  Stmt Iteration(const ForNode* op, const Stmt& body, Pending* pending) {
    loops_.push_back(op);
    Stmt result = Process(body, pending);
    loops_.pop_back();
    return result;
  }
  // A loop about which nothing is known: all its paths are walked.
  Stmt WhileLoop(const WhileNode* op, Pending* pending) {
    Process(op->body, pending);
    return While(op->condition, Process(op->body, pending));
  }

  const BufferScopes& scopes_;
  const std::vector<const ForNode*> threads_, blocks_;
  const ConflictFinder conflicts_;
  std::unordered_set<const VarNode*> varying_;  // that threads of a block have different values of
  std::vector<const ForNode*> loops_;
  std::vector<Expr> conditions_;
  bool roles_ = false;      // in a pipeline whose copies are a producer's, or behind it
  bool walks_all_ = false;  // conditions are not asked whether threads agree about them
  std::string placed_at_;   // the memory that the last barrier was placed for
};

class Placer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit Placer(const BufferScopes& scopes) : scopes_(scopes) {}
  absl::Status status;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) return StmtMutator::MutateFor(op, self);
    (IsBlockTag(op->thread_tag) ? blocks_ : threads_).push_back(op);
    const auto* inner = dyn_cast<ForNode>(op->body);
    Stmt result;
    if (inner != nullptr && inner->kind == ForKind::kThreadBound) {
      result = StmtMutator::MutateFor(op, self);
    } else {
      Kernel kernel(scopes_, threads_, blocks_);
      ForNode::Fields fields = op->fields();
      fields.body = kernel.Run(op->body);
      if (status.ok()) status = kernel.status;
      result = For(std::move(fields));
    }
    (IsBlockTag(op->thread_tag) ? blocks_ : threads_).pop_back();
    return result;
  }

 private:
  const BufferScopes& scopes_;
  std::vector<const ForNode*> threads_, blocks_;
};

}  // namespace

absl::StatusOr<Function> PlaceBarriers(const Function& function) {
  const BufferScopes scopes = ScopesOf(function);
  Placer placer(scopes);
  Stmt body = placer.Mutate(function->body);
  if (!placer.status.ok()) return placer.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright

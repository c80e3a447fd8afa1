#include "codegen/lower/gpu/warp_roles.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

constexpr int kMostRegisters = 240, kProducerRegisters = 40, kFewRegisters = 24;

bool CopiesInBulk(const Stmt& s) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  const auto* call = evaluate == nullptr ? nullptr : dyn_cast<CallNode>(evaluate->value);
  return call != nullptr && IsBulkLoad(*call);
}

// What the producer does: null where it has nothing to do.
class ProducerPart {
 public:
  absl::Status status;

  Stmt Of(const Stmt& s) {
    switch (s->kind()) {
      case Kind::kSeq: {
        std::vector<Stmt> parts;
        for (const Stmt& each : cast<SeqNode>(s)->stmts) {
          if (Stmt part = Of(each)) parts.push_back(std::move(part));
        }
        return parts.empty() ? Stmt() : Sequence(std::move(parts));
      }
      case Kind::kFor: {
        const auto* op = cast<ForNode>(s);
        ForNode::Fields fields = op->fields();
        fields.body = Of(op->body);
        if (!fields.body) return Stmt();
        Check(op->extent, op->var.name());
        return For(std::move(fields));
      }
      case Kind::kIf: {
        const auto* op = cast<IfNode>(s);
        Stmt then_case = Of(op->then_case), else_case = op->else_case ? Of(op->else_case) : Stmt();
        if (!then_case && !else_case) return Stmt();
        Check(op->condition, "a branch");
        return If(op->condition, then_case ? then_case : Sequence({}), else_case);
      }
      case Kind::kLetStmt: {
        const auto* op = cast<LetStmtNode>(s);
        Stmt body = Of(op->body);
        if (!body || !UsesVar(body, op->var)) return body;
        Check(op->value, op->var.name());
        return LetStmt(op->var, op->value, std::move(body));
      }
      case Kind::kAttrStmt:
        return Of(cast<AttrStmtNode>(s)->body);
      case Kind::kDeclBuffer: {
        Stmt body = Of(cast<DeclBufferNode>(s)->body);
        return body ? Stmt(new DeclBufferNode(cast<DeclBufferNode>(s)->buffer, std::move(body))) : Stmt();
      }
      case Kind::kAllocate:
        return Of(cast<AllocateNode>(s)->body);
      case Kind::kSync:
        return cast<SyncNode>(s)->sync == SyncKind::kAsyncCommit ? s : Stmt();
      case Kind::kWhile:
        if (Of(cast<WhileNode>(s)->body)) Refuse("a loop without a number of iterations");
        return Stmt();
      default:
        return CopiesInBulk(s) ? s : Stmt();
    }
  }

 private:
  void Check(const Expr& e, const std::string& where) {
    PreOrder(e, [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      if (load != nullptr && MemoryOwner(load->buffer->scope) != OwnerLevel::kDevice) Refuse(where);
      return true;
    });
  }
  void Refuse(const std::string& where) {
    if (!status.ok()) return;
    status = absl::InvalidArgumentError(
        absl::StrCat("bulk copies in ", where, " depend on what the threads compute: they cannot be given to others"));
  }
};

class ConsumerPart : public StmtMutator {
 public:
  using StmtMutator::Mutate;

 protected:
  Stmt MutateEvaluate(const EvaluateNode*, const Stmt& self) override {
    return CopiesInBulk(self) ? Sequence({}) : self;
  }
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    Stmt result = StmtMutator::MutateIf(op, self);
    const auto* branch = dyn_cast<IfNode>(result);
    const bool empty = branch != nullptr && IsNoOp(branch->then_case) && !branch->else_case;
    return empty ? Sequence({}) : result;
  }
};

}  // namespace

bool AsksForRoles(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* attr = dyn_cast<AttrStmtNode>(part);
    found |= attr != nullptr && attr->key == kWarpRoles;
    return !found;
  });
  return found;
}

absl::StatusOr<WarpRoles> SplitRoles(const Stmt& body, const std::vector<const ForNode*>& threads) {
  ProducerPart producer;
  Stmt copies = producer.Of(body);
  if (!producer.status.ok()) return producer.status;
  // Copies are those of the first thread of the block.
  VarMap first;
  for (const ForNode* loop : threads) first[loop->var] = loop->min;
  copies = Substitute(copies, first);
  copies = RewriteStmt(copies, [](const Stmt& part) {
    const auto* branch = dyn_cast<IfNode>(part);
    if (branch == nullptr || branch->else_case || !IsTrue(arith::Simplify(branch->condition))) return part;
    return branch->then_case;
  });
  return WarpRoles{std::move(copies), ConsumerPart().Mutate(body)};
}

absl::StatusOr<ProducerThreads> PlanProducer(const std::vector<const ForNode*>& threads, const GpuTarget& gpu) {
  ProducerThreads plan{.tag = "threadIdx.y", .first = 1};
  int64_t all = 1, outermost = 1;
  for (const char* tag : {"threadIdx.x", "threadIdx.y", "threadIdx.z"}) {
    for (const ForNode* loop : threads) {
      const int64_t extent = AsInt(loop->extent).value_or(1);
      if (loop->thread_tag != tag) continue;
      all *= extent;
      if (extent == 1 || loop->thread_tag == "threadIdx.x") continue;
      plan.tag = loop->thread_tag;
      plan.first = outermost = extent;
    }
  }
  plan.consumers = all;
  const int64_t slice = all / outermost, warpgroup = gpu.warpgroup_size;
  if (slice % warpgroup != 0 || all + slice > gpu.max_threads_per_block) {
    return absl::InvalidArgumentError(absl::StrCat("a kernel of ", all, " threads cannot get a producer: ", slice,
                                                   " threads, as many as a step of ", plan.tag,
                                                   " has, would not be whole warpgroups, or too many"));
  }
  const int64_t consumers = all / warpgroup, producers = slice / warpgroup;
  // A lane of each warpgroup has as many together.
  const int64_t registers = gpu.registers_per_core / warpgroup;
  plan.producer_registers = consumers > 2 ? kFewRegisters : kProducerRegisters;
  const auto rest = static_cast<int>((registers - producers * plan.producer_registers) / consumers);
  plan.consumer_registers = std::min(kMostRegisters, rest / 8 * 8);
  // What all have at the beginning.
  if (registers / (consumers + producers) >= plan.consumer_registers) {
    plan.producer_registers = plan.consumer_registers = 0;
  }
  return plan;
}

}  // namespace tilewright

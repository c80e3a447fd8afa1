#include "codegen/lower/cpu/run_beside.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/iterations.h"
#include "ir/regions.h"

namespace tilewright {
namespace {

// Least length of a loop, in starts of threads.
constexpr double kForks = 8;

// Whether nothing in the statement runs in parallel, or has an effect besides its stores.
bool OnlyStores(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& sub) {
    const auto* loop = dyn_cast<ForNode>(sub);
    found |= loop != nullptr && (loop->kind == ForKind::kParallel || loop->kind == ForKind::kThreadBound);
    found |= isa<SyncNode>(sub) || isa<AssertNode>(sub) || isa<WhileNode>(sub);
    return !found;
  });
  PreOrderExprs(s, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    found |= call != nullptr && EffectOf(call->op) == CallEffect::kOpaque;
    return !found;
  });
  return !found;
}

// Whether a statement is one serial loop, perhaps inside allocations that only it uses.
bool IsSerialLoop(const Stmt& s) {
  if (const auto* allocate = dyn_cast<AllocateNode>(s)) return IsSerialLoop(allocate->body);
  const auto* loop = dyn_cast<ForNode>(s);
  return loop != nullptr && loop->kind == ForKind::kSerial && OnlyStores(s);
}

bool IsApart(const Range& a, const Range& b) {
  arith::Analyzer analyzer;
  return analyzer.CanProve(a.min + a.extent <= b.min) || analyzer.CanProve(b.min + b.extent <= a.min);
}

bool MayMeet(const BufferRegion& a, const BufferRegion& b) {
  if (!a.buffer->data.same_as(b.buffer->data)) return false;
  if (!a.buffer.same_as(b.buffer)) return true;
  for (size_t d = 0; d < a.region.size(); ++d) {
    if (IsApart(a.region[d], b.region[d])) return false;
  }
  return true;
}

bool Interfere(const AccessRegions& a, const AccessRegions& b) {
  const auto meet = [](const std::vector<BufferRegion>& some, const std::vector<BufferRegion>& others) {
    return std::ranges::any_of(some, [&](const BufferRegion& region) {
      return std::ranges::any_of(others, [&](const BufferRegion& other) { return MayMeet(region, other); });
    });
  };
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

class Besides : public StmtMutator {
 public:
  Besides(const Target& target, uint32_t next_id) : target_(target), next_id_(next_id) {
    // A vector takes a cycle at least.
    const double cycles = kForks * target.cpu_part().fork_join_seconds * target.clock_ghz * 1e9;
    least_ = static_cast<int64_t>(cycles) * target.lanes(32);
  }
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode*, const Stmt& self) override { return self; }

  Stmt MutateSeq(const SeqNode* op, const Stmt& self) override {
    std::vector<Stmt> done, run;
    std::vector<AccessRegions> regions;
    bool changed = false;
    const auto end_run = [&] {
      changed |= run.size() > 1;
      if (!run.empty()) done.push_back(run.size() > 1 ? Together(run) : run[0]);
      run.clear();
      regions.clear();
    };
    for (const Stmt& s : op->stmts) {
      if (!IsSerialLoop(s) || IsShort(s)) {
        end_run();
        done.push_back(Mutate(s));
        changed |= !done.back().same_as(s);
        continue;
      }
      AccessRegions here = DetectRegions(s);
      const bool apart = std::ranges::none_of(regions, [&](const AccessRegions& r) { return Interfere(r, here); });
      if (!apart || std::ssize(run) == target_.cores) end_run();
      run.push_back(s);
      regions.push_back(std::move(here));
    }
    end_run();
    return changed ? Sequence(std::move(done)) : self;
  }

 private:
  // Whether the loop is known to be too short.
  bool IsShort(const Stmt& s) const {
    const auto count = AsInt(arith::Simplify(StatementIterations(s)));
    return count && *count < least_;
  }

  Stmt Together(const std::vector<Stmt>& loops) {
    const Var part("part", DataType::Int(32));
    Stmt body = loops.back();
    Expr least = StatementIterations(loops.back());
    for (size_t i = loops.size() - 1; i-- > 0;) {
      body = If(part < Expr(static_cast<int>(i) + 1), loops[i], body);
      least = Min(least, StatementIterations(loops[i]));
    }
    ForNode::Fields fields;
    fields.id = next_id_++;
    fields.var = part;
    fields.extent = Expr(static_cast<int>(loops.size()));
    fields.kind = ForKind::kParallel;
    fields.body = body;
    Stmt parallel = For(std::move(fields));
    const Expr enough = arith::Simplify(Const(DataType::Int(64), least_) <= least);
    if (IsTrue(enough)) return parallel;
    return Stmt(new AttrStmtNode(Const(DataType::Int(32), 0), kThreadsFrom, enough, std::move(parallel)));
  }

  const Target& target_;
  uint32_t next_id_;
  int64_t least_ = 0;
};

}  // namespace

Function RunBeside(const Function& function, const Target& target) {
  if (target.cores < 2) return function;
  Besides besides(target, function->next_id);
  Stmt body = besides.Mutate(function->body);
  return function.WithBody(std::move(body), besides.next_id());
}

}  // namespace tilewright

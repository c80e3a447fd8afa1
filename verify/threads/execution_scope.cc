#include "verify/threads/execution_scope.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/threads/kernels.h"

namespace tilewright {
namespace {

// Whether warps have lanes that the program tells apart. Where they have none, nothing depends on which lanes run.
bool HasLanes(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* loop = dyn_cast<ForNode>(part);
    found |= loop != nullptr && loop->thread_tag == "threadIdx.x";
    return !found;
  });
  return found;
}

class Checker : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  explicit Checker(int warp_size) : warp_size_(warp_size) {}
  Diagnostics diagnostics;

 protected:
  void VisitFor(const ForNode* op) override {
    const bool lanes = op->thread_tag == "threadIdx.x";
    if (lanes && warp_ != nullptr) CheckLoop(op, *warp_);
    if (lanes) lanes_.push_back(op);
    conditions_.push_back(Now(op->extent));
    const arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Bind(op->var, Range{op->min, op->extent});
    StmtVisitor::VisitFor(op);
    conditions_.pop_back();
    if (lanes) lanes_.pop_back();
  }
  void VisitIf(const IfNode* op) override {
    conditions_.push_back(Now(op->condition));
    StmtVisitor::VisitIf(op);
    conditions_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    conditions_.push_back(Now(op->predicate));
    for (size_t i = 0; i < op->bindings.size(); ++i) values_[op->block->iter_vars[i].var] = Now(op->bindings[i]);
    const BlockNode* outer = warp_;
    if (RunsAsWarp(*op->block)) {
      if (warp_ == nullptr) CheckBlock(*op->block);
      warp_ = op->block.get();
    }
    CheckFragments(*op->block);
    StmtVisitor::VisitBlockRealize(op);
    warp_ = outer;
    conditions_.pop_back();
  }

 private:
  Expr Now(const Expr& e) const { return values_.empty() ? e : Substitute(e, values_); }

  // Whether lanes of one warp may disagree about `e`.
  bool DiffersBetweenLanes(const Expr& e) {
    if (!e) return false;
    const Expr warps = RewriteExpr(e, [&](const Expr& part) -> Expr {
      const auto* division = dyn_cast<BinaryNode>(part);
      if (division == nullptr || division->op != BinaryOp::kFloorDiv) return part;
      const auto divisor = AsInt(division->b);
      const bool of_warp = isa<VarNode>(division->a) && divisor && *divisor % warp_size_ == 0;
      return of_warp ? Const(part.dtype(), 0) : part;
    });
    return std::any_of(lanes_.begin(), lanes_.end(), [&](const ForNode* loop) { return UsesVar(warps, loop->var); });
  }

  void CheckBlock(const BlockNode& block) {
    for (const Expr& condition : conditions_) {
      if (!DiffersBetweenLanes(condition)) continue;
      return Refuse(block.id, "block " + block.name +
                                  " is executed by whole warps, but which lanes come there depends " + "on " +
                                  Print(condition));
    }
    for (const ForNode* loop : lanes_) CheckLoop(loop, block);
  }
  void CheckLoop(const ForNode* loop, const BlockNode& block) {
    const auto extent = AsInt(loop->extent);
    if (extent && *extent % warp_size_ == 0) return;
    Refuse(loop->id, "block " + block.name + " is executed by warps of " + std::to_string(warp_size_) +
                         " lanes, but loop " + loop->var.name() + " gives threadIdx.x an extent of " +
                         Print(loop->extent));
  }
  // Whether each lane touches elements that it holds alone.
  bool IsOwn(const BufferRegion& region) {
    const Buffer& buffer = region.buffer;
    const bool sums = buffer->scope.text() == "wmma.accumulator",
               left = buffer->scope.text() == "wmma.matrix_a" && buffer->dtype.bits() == 16;
    const auto threads = lanes_.size() == 1 ? AsInt(lanes_.back()->extent) : std::nullopt;
    if (!(sums || left) || !threads || *threads % warp_size_ != 0 || region.region.size() < 2) return false;
    const size_t rank = region.region.size();
    for (size_t d = 0; d + 2 < rank; ++d) {
      if (DiffersBetweenLanes(Now(region.region[d].min))) return false;
    }
    if (AsInt(region.region[rank - 2].extent) != 1 || AsInt(region.region[rank - 1].extent) != 1) return false;
    const Var& thread = lanes_.back()->var;
    const DataType type = thread.dtype();
    const auto number = [&](int64_t value) { return Const(type, value); };
    const arith::Analyzer::Scope inside(&analyzer_);
    // The thread's number in digits.
    const Var others("others", type), group("group", type), pair("pair", type);
    for (const auto& [digit, count] :
         {std::pair(others, *threads / warp_size_), {group, int64_t{warp_size_} / 4}, {pair, 4}}) {
      analyzer_.Bind(digit, Range{number(0), number(count)});
    }
    const Expr lane = group * number(4) + pair;
    const auto at = [&](size_t d) {
      return Substitute(CastTo(type, Now(region.region[d].min)), {{thread, others * number(warp_size_) + lane}});
    };
    const Expr row = at(rank - 2), column = at(rank - 1);
    return analyzer_.CanProveEqual(
        FloorMod(row, number(8)) * number(4) + FloorDiv(FloorMod(column, number(8)), number(2)), lane);
  }
  void CheckFragments(const BlockNode& block) {
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        const Scope& scope = region.buffer->scope;
        if (scope.kind() != MemoryKind::kFragment || scope.owner() != OwnerLevel::kWarp) continue;
        for (const Range& range : region.region) {
          if (!DiffersBetweenLanes(Now(range.min)) || IsOwn(region)) continue;
          return Refuse(block.id, "block " + block.name + " touches " + Print(region) +
                                      ", a fragment of a whole warp, at a place that differs between lanes");
        }
      }
    }
  }
  void Refuse(uint32_t object, std::string reason) {
    diagnostics.push_back({Verdict::kRefuted, "execution scope", object, std::move(reason)});
  }

  const int warp_size_;
  arith::Analyzer analyzer_;  // knows the ranges of loops around here
  VarMap values_;
  std::vector<const ForNode*> lanes_;  // loops over threadIdx.x around here
  std::vector<Expr> conditions_;
  const BlockNode* warp_ = nullptr;
};

}  // namespace

Diagnostics CheckExecutionScope(const Function& function, const Target* target) {
  if (!HasLanes(function->body)) return {};
  Checker checker((target == nullptr ? GpuTarget() : target->gpu_part()).warp_size);
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

#include "codegen/lower/gpu/multicast.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/thread_tags.h"

namespace tilewright {
namespace {

constexpr const char* kTags[] = {"clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z"};

bool Loads(const Expr& e) {
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    found |= isa<LoadNode>(part);
    return !found;
  });
  return found;
}

class AlikeChecker : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  bool alike = true;

 protected:
  void VisitFor(const ForNode* op) override {
    if (IsClusterTag(op->thread_tag)) blocks_.insert(op->var.get());
    Below(Differs(op->min) || Differs(op->extent), [&] { StmtVisitor::VisitFor(op); });
  }
  void VisitIf(const IfNode* op) override {
    Below(Differs(op->condition), [&] { StmtVisitor::VisitIf(op); });
  }
  void VisitWhile(const WhileNode* op) override {
    Below(true, [&] { StmtVisitor::VisitWhile(op); });
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    if (Differs(op->value)) blocks_.insert(op->var.get());
    StmtVisitor::VisitLetStmt(op);
  }
  void VisitAttrStmt(const AttrStmtNode* op) override {
    if (op->key != kAsyncCopy) return StmtVisitor::VisitAttrStmt(op);
    alike &= !differs_;
    const bool outer = std::exchange(copies_, true);
    StmtVisitor::VisitAttrStmt(op);
    copies_ = outer;
  }
  void VisitSync(const SyncNode* op) override { alike &= !differs_ || op->sync != SyncKind::kAsyncCommit; }

 private:
  bool Differs(const Expr& e) const {
    return Loads(e) || UsesVar(e, [&](const VarNode* var) { return blocks_.contains(var); });
  }
  template <class Visit>
  void Below(bool differs, const Visit& visit) {
    const bool outer = std::exchange(differs_, differs_ || differs);
    alike &= !differs_ || !copies_;
    visit();
    differs_ = outer;
  }

  std::unordered_set<const VarNode*> blocks_;  // values that differ between blocks of a cluster
  bool differs_ = false, copies_ = false;
};

}  // namespace

std::optional<Multicast> PlanMulticast(const std::vector<const ForNode*>& cluster, const std::vector<Expr>& place) {
  if (std::ranges::any_of(place, Loads)) return std::nullopt;
  const DataType type = DataType::Int(32);
  // By rank: blocks along x come first.
  int64_t stride = 1;
  std::vector<int64_t> ranks = {0};
  Multicast result{.share = Const(type, 0)};
  Expr first = Const(type, 0);
  for (const char* tag : kTags) {
    for (const ForNode* loop : cluster) {
      if (loop->thread_tag != tag) continue;
      const int64_t extent = AsInt(loop->extent).value_or(1);
      const Expr index = CastTo(type, loop->var);
      if (std::ranges::any_of(place, [&](const Expr& e) { return UsesVar(e, loop->var); })) {
        first = first + index * Const(type, stride);
      } else {
        result.share = result.share + index * Const(type, result.blocks);
        result.blocks *= extent;
        const std::vector<int64_t> others = ranks;
        for (int64_t i = 1; i < extent; ++i) {
          for (const int64_t rank : others) ranks.push_back(rank + i * stride);
        }
      }
      stride *= extent;
    }
  }
  if (result.blocks == 1) return std::nullopt;
  int64_t bits = 0;
  for (const int64_t rank : ranks) bits |= int64_t{1} << rank;
  result.share = arith::Simplify(result.share);
  result.mask = Const(type, bits);
  first = arith::Simplify(first);
  if (!IsInt(first, 0)) result.mask = Call(type, "shift_left", {result.mask, first});
  return result;
}

bool BlocksCopyAlike(const Stmt& kernel) {
  AlikeChecker checker;
  checker.Visit(kernel);
  return checker.alike;
}

}  // namespace tilewright

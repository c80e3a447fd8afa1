#include "verify/structure/spatial_iterators.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/math.h"
#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/structure/block_checker.h"
#include "verify/structure/equal_values.h"
#include "verify/structure/instance_order.h"
#include "verify/structure/instances.h"
#include "verify/structure/join_digits.h"
#include "verify/structure/loop_kinds.h"

namespace tilewright {
namespace {

class Checker : public BlockChecker {
 public:
  using BlockChecker::BlockChecker;
  bool repeats = false;

 protected:
  void VisitFor(const ForNode* op) override {
    const bool threads = op->kind == ForKind::kThreadBound;
    if (threads) threads_.push_back(op);
    Visitor::VisitFor(op);
    if (threads) threads_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    const BlockRealizeNode* outer = std::exchange(realize_, op);
    Visitor::VisitBlockRealize(op);
    realize_ = outer;
  }
  void VisitBlock(const BlockNode* block) override {
    InsideOf(block, [&] { CheckWrites(block); });
  }

 private:
  void CheckWrites(const BlockNode* block) {
    const bool together = HoldsBarrier(threads_, block->body);
    for (size_t w = 0; w < block->writes.size() && !together; ++w) {
      const BufferRegion& write = block->writes[w];
      if (!Check(block, write)) continue;
      const auto meets = [&](const BufferRegion& other) {
        return other.buffer.same_as(write.buffer) && !DifferingInSharedElements(*block, write, other).empty();
      };
      const auto other =
          std::find_if(block->writes.begin() + static_cast<ptrdiff_t>(w) + 1, block->writes.end(), meets);
      if (other != block->writes.end()) Refuse(block, Print(write) + " and " + Print(*other));
    }
  }

  // Iterators that count down, 5 - v, count up from the other end.
  bool IsInjectiveReversed(std::vector<Expr> elements, const arith::Domain& domain) {
    VarMap reversed;
    for (const auto& [var, range] : domain) {
      for (const Expr& element : elements) {
        const auto form = arith::DetectLinear(element, {var}, &analyzer_);
        if (form && AsInt(form->coefficients[0]).value_or(0) < 0) {
          reversed[var] = range.min * 2 + range.extent - 1 - var;
        }
      }
    }
    if (reversed.empty()) return false;
    for (Expr& element : elements) element = analyzer_.Simplify(Substitute(element, reversed));
    const auto map = arith::DetectIterMap(elements, domain, Expr(), arith::IterMapLevel::kNone, &analyzer_);
    return map && map->injective;
  }

  // Digits of one number, which need not be below what the digits can say: m // (h * w), m // w % h, m % w.
  bool IsInjectiveJoined(const std::vector<Expr>& elements, const arith::Domain& domain) {
    const std::vector<Expr> joined = JoinDigits(elements, &analyzer_);
    if (joined.size() == elements.size()) return false;
    return DetermineIterators(joined, domain, &analyzer_);
  }

  // A constant that the expressions divide the iterator by; 0 for none, or several.
  static int64_t DivisorOf(const Var& iterator, const std::vector<Expr>& exprs) {
    int64_t divisor = 0;
    bool one = true;
    for (const Expr& e : exprs) {
      PreOrder(e, [&](const Expr& part) {
        const auto* op = dyn_cast<BinaryNode>(part);
        if (op == nullptr || (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod)) return true;
        const int64_t by = AsInt(op->b).value_or(0);
        if (op->a.get() != iterator.get() || by < 2) return true;
        one &= divisor == 0 || divisor == by;
        divisor = by;
        return true;
      });
    }
    return one ? divisor : 0;
  }
  Expr PredicateOf(const BlockNode* block) {
    if (realize_ == nullptr || realize_->block.get() != block) return {};
    return PredicateOfIterators(*realize_, &analyzer_);
  }
  // Iterators that stand for two, f // 3 and f % 3, of which the predicate may bound the second one: f // 3 * 2 + f % 3
  // where f % 3 < 2.
  bool IsInjectiveInDigits(const BlockNode* block, std::vector<Expr> elements, const arith::Domain& domain) {
    arith::Analyzer::Scope scope(&analyzer_);
    const Expr predicate = PredicateOf(block);
    arith::Domain digits;
    for (const auto& [var, range] : domain) {
      const int64_t divisor = DivisorOf(var, elements);
      const auto extent = AsInt(range.extent);
      if (divisor == 0 || !extent || !IsInt(range.min, 0)) {
        digits.push_back({var, range});
        continue;
      }
      const DataType type = var.dtype();
      Var quotient(var.name() + "_q", type), remainder(var.name() + "_r", type);
      const Expr zero = Const(type, 0);
      int64_t below = divisor;
      {
        arith::Analyzer::Scope bounded(&analyzer_);
        analyzer_.Bind(remainder, {zero, Const(type, divisor)});
        if (predicate) {
          analyzer_.Assume(RewriteExpr(predicate, [&](const Expr& part) {
            return arith::SameExpr(part, FloorMod(var, Const(type, divisor))) ? Expr(remainder) : part;
          }));
        }
        below = std::clamp<int64_t>(analyzer_.ConstBounds(remainder).max, 0, divisor - 1) + 1;
      }
      digits.push_back({quotient, {zero, Const(type, CeilDiv(*extent, divisor))}});
      digits.push_back({remainder, {zero, Const(type, below)}});
      for (const size_t added : {digits.size() - 2, digits.size() - 1}) {
        analyzer_.Bind(digits[added].first, digits[added].second);
      }
      const VarMap number = {{var, quotient * divisor + remainder}};
      for (Expr& element : elements) element = analyzer_.Simplify(Substitute(element, number));
    }
    return digits.size() > domain.size() && DetermineIterators(elements, digits, &analyzer_);
  }

  // By counting the elements of those instances for which the predicate holds; of all where it cannot be told.
  // Instances that differ in another iterator come one after the other.
  bool IsInjectiveByCount(const BlockNode* block, std::vector<Expr> elements, const arith::Domain& own) {
    arith::Domain domain;
    for (const IterVar& iter : block->iter_vars) {
      const bool used = std::ranges::any_of(elements, [&](const Expr& e) { return UsesVar(e, iter.var); });
      if (iter.kind == IterKind::kSpatial || !used) continue;
      domain.push_back({iter.var, iter.domain});
    }
    for (const auto& [var, range] : domain) elements.push_back(var);
    domain.insert(domain.end(), own.begin(), own.end());
    const size_t indices = elements.size();
    for (const IterVar& iter : block->iter_vars) {
      if (iter.kind == IterKind::kSpatial && !IsInt(iter.domain.extent, 1)) elements.push_back(iter.var);
    }
    const Expr predicate = PredicateOf(block);
    auto touches = InstancesInOrder(domain, predicate, elements);
    if (!touches && predicate) touches = InstancesInOrder(domain, {}, elements);
    if (!touches) return false;
    std::map<InstanceValues, InstanceValues> instance_of;
    return std::ranges::all_of(*touches, [&](const InstanceValues& values) {
      const auto end = values.begin() + static_cast<ptrdiff_t>(indices);
      const InstanceValues instance(end, values.end());
      return instance_of.try_emplace({values.begin(), end}, instance).first->second == instance;
    });
  }

  // Whether they write elements of their own.
  bool Check(const BlockNode* block, const BufferRegion& write) {
    arith::Domain domain;
    for (const IterVar& iter : block->iter_vars) {
      if (iter.kind == IterKind::kSpatial && !IsInt(iter.domain.extent, 1)) domain.push_back({iter.var, iter.domain});
    }
    if (domain.empty()) return true;
    // An element of the region is its start plus a position; positions are further iterators.
    std::vector<Expr> elements;
    arith::Analyzer::Scope scope(&analyzer_);
    for (const Range& range : write.region) {
      if (IsInt(range.extent, 1)) {
        elements.push_back(range.min);
        continue;
      }
      Var position("p" + std::to_string(elements.size()), range.min.dtype());
      const Range positions{Const(range.min.dtype(), 0), range.extent};
      analyzer_.Bind(position, positions);
      domain.push_back({position, positions});
      elements.push_back(range.min + position);
    }
    arith::IterMapError error;
    auto map = arith::DetectIterMap(elements, domain, Expr(), arith::IterMapLevel::kNone, &analyzer_, &error);
    const bool tell_apart = map && map->injective;
    if (tell_apart || DetermineIterators(elements, domain, &analyzer_) || IsInjectiveReversed(elements, domain) ||
        IsInjectiveJoined(elements, domain) || IsInjectiveInDigits(block, elements, domain) ||
        IsInjectiveByCount(block, elements, domain)) {
      return true;
    }
    if (WritesValuesOfElements(*block)) {
      repeats = true;
      return true;
    }
    if (std::ranges::any_of(write.region, [](const Range& range) { return arith::ReadsMemory(range.min); })) {
      diagnostics.push_back({Verdict::kAssumed, kSpatialIterators, block->id,
                             "block " + block->name + " writes " + Print(write) +
                                 ", whose places are taken to differ between instances"});
      return false;
    }
    Refuse(block, Print(write) + (map ? "" : ": " + std::string(error.Reason())));
    return false;
  }
  void Refuse(const BlockNode* block, const std::string& what) {
    diagnostics.push_back({Verdict::kRefuted, kSpatialIterators, block->id,
                           "block " + block->name +
                               ": instances that differ in a spatial iterator may write the same " + "element of " +
                               what});
  }
  std::vector<const ForNode*> threads_;  // loops around that are bound to threads
  const BlockRealizeNode* realize_ = nullptr;
};

}  // namespace

Diagnostics CheckSpatialIterators(const Function& function, bool* repeats_writes) {
  Checker checker(function);
  checker.Visit(function->body);
  if (repeats_writes != nullptr) *repeats_writes = checker.repeats;
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

#include "verify/structure/spatial_iterators.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/arith/iter_map.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/structure/equal_values.h"
#include "verify/structure/given_values.h"
#include "verify/structure/instance_order.h"
#include "verify/structure/join_digits.h"
#include "verify/structure/loop_kinds.h"

namespace tilewright {
namespace {

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  explicit Checker(const Function& function) { GivenValues(function).AssumeSizes(&analyzer_); }
  void Visit(const Expr&) override {}
  Diagnostics diagnostics;
  bool repeats = false;

 protected:
  void VisitFor(const ForNode* op) override {
    const bool threads = op->kind == ForKind::kThreadBound;
    if (threads) threads_.push_back(op);
    Visitor::VisitFor(op);
    if (threads) threads_.pop_back();
  }
  void VisitBlock(const BlockNode* block) override {
    arith::Analyzer::Scope scope(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    const bool together = HoldsBarrier(threads_, block->body);
    for (size_t w = 0; w < block->writes.size() && !together; ++w) {
      const BufferRegion& write = block->writes[w];
      if (!Check(block, write)) continue;
      const auto meets = [&](const BufferRegion& other) {
        return other.buffer.same_as(write.buffer) && DifferentInstancesMeet(*block, write, other);
      };
      const auto other =
          std::find_if(block->writes.begin() + static_cast<ptrdiff_t>(w) + 1, block->writes.end(), meets);
      if (other != block->writes.end()) Refuse(block, Print(write) + " and " + Print(*other));
    }
    Visit(block->init);
    Visit(block->body);
  }

 private:
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
    const auto map = arith::DetectIterMap(joined, domain, Expr(), arith::IterMapLevel::kNone, &analyzer_);
    return map ? map->injective : DetermineIterators(joined, domain, &analyzer_);
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
    const bool tell_apart = map ? map->injective : DetermineIterators(elements, domain, &analyzer_);
    if (tell_apart || IsInjectiveReversed(elements, domain) || IsInjectiveJoined(elements, domain)) return true;
    if (WritesValuesOfElements(*block)) {
      repeats = true;
      return true;
    }
    if (std::ranges::any_of(write.region, [](const Range& range) { return arith::ReadsMemory(range.min); })) {
      diagnostics.push_back({Verdict::kAssumed, "spatial iterators", block->id,
                             "block " + block->name + " writes " + Print(write) +
                                 ", whose places are taken to differ between instances"});
      return false;
    }
    Refuse(block, Print(write) + (map ? "" : ": " + std::string(error.Reason())));
    return false;
  }
  void Refuse(const BlockNode* block, const std::string& what) {
    diagnostics.push_back({Verdict::kRefuted, "spatial iterators", block->id,
                           "block " + block->name +
                               ": instances that differ in a spatial iterator may write the same " + "element of " +
                               what});
  }
  arith::Analyzer analyzer_;
  std::vector<const ForNode*> threads_;  // loops around that are bound to threads
};

}  // namespace

Diagnostics CheckSpatialIterators(const Function& function, bool* repeats_writes) {
  Checker checker(function);
  checker.Visit(function->body);
  if (repeats_writes != nullptr) *repeats_writes = checker.repeats;
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

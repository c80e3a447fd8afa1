#include "verify/structure/spatial_iterators.h"

#include <algorithm>

#include "ir/arith/iter_map.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/structure/equal_values.h"
#include "verify/structure/given_values.h"

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
  void VisitBlock(const BlockNode* block) override {
    arith::Analyzer::Scope scope(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    for (const BufferRegion& write : block->writes) Check(block, write);
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

  void Check(const BlockNode* block, const BufferRegion& write) {
    arith::Domain domain;
    for (const IterVar& iter : block->iter_vars) {
      if (iter.kind == IterKind::kSpatial && !IsInt(iter.domain.extent, 1)) domain.push_back({iter.var, iter.domain});
    }
    if (domain.empty()) return;
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
    if (map && map->injective) return;
    if (IsInjectiveReversed(elements, domain)) return;
    if (WritesValuesOfElements(*block)) {
      repeats = true;
      return;
    }
    if (std::ranges::any_of(write.region, [](const Range& range) { return arith::ReadsMemory(range.min); })) {
      diagnostics.push_back({Verdict::kAssumed, "spatial iterators", block->id,
                             "block " + block->name + " writes " + Print(write) +
                                 ", whose places are taken to differ between instances"});
      return;
    }
    std::string reason = "block " + block->name + ": instances that differ in a spatial iterator may write the same " +
                         "element of " + Print(write);
    if (!map) reason += ": " + std::string(error.Reason());
    diagnostics.push_back({Verdict::kRefuted, "spatial iterators", block->id, std::move(reason)});
  }
  arith::Analyzer analyzer_;
};

}  // namespace

Diagnostics CheckSpatialIterators(const Function& function, bool* repeats_writes) {
  Checker checker(function);
  checker.Visit(function->body);
  if (repeats_writes != nullptr) *repeats_writes = checker.repeats;
  return std::move(checker.diagnostics);
}

}  // namespace tilewright

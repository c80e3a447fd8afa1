#include "codegen/lower/cpu/hoist_conditions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// A sequence becomes at most 2^kMostCuts sequences. A condition of all its values does not count as a cut if the other
// side has no conditions.
constexpr int kMostCuts = 2;
constexpr int kLeastUses = 2;

// The terms that a condition is the conjunction of.
void CollectTerms(const Expr& condition, std::vector<Expr>& terms) {
  if (const auto* op = dyn_cast<BinaryNode>(condition); op != nullptr && op->op == BinaryOp::kAnd) {
    CollectTerms(op->a, terms);
    CollectTerms(op->b, terms);
  } else {
    terms.push_back(condition);
  }
}

const CallNode* AsIfThenElse(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  return call != nullptr && call->op == kIfThenElse ? call : nullptr;
}

// The condition without a term that holds; null when nothing is left.
Expr WithoutTerm(const Expr& condition, const Expr& term) {
  std::vector<Expr> terms;
  CollectTerms(condition, terms);
  Expr rest;
  for (const Expr& other : terms) {
    if (StructuralEqual(other, term)) continue;
    rest = rest ? And(rest, other) : other;
  }
  return rest;
}

bool HasTerm(const Expr& condition, const Expr& term) {
  std::vector<Expr> terms;
  CollectTerms(condition, terms);
  for (const Expr& other : terms) {
    if (StructuralEqual(other, term)) return true;
  }
  return false;
}

// Counts, for each term, the stores whose conditions contain it.
class TermCounter : public Visitor {
 public:
  // Whether all stores with conditions depend on what Most() gives.
  bool is_in_all() const {
    return std::ranges::any_of(uses_, [&](const auto& use) { return use.second.second == conditional_stores_; });
  }
  bool has_conditions() const { return conditional_stores_ > 0; }
  // The term that most stores depend on, if any is worth it.
  Expr Most() const {
    const std::pair<Expr, int>* best = nullptr;
    for (const uint64_t hash : order_) {
      const auto& entry = uses_.at(hash);
      if (best == nullptr || entry.second > best->second) best = &entry;
    }
    return best != nullptr && best->second >= kLeastUses ? best->first : Expr();
  }

 protected:
  void VisitStore(const StoreNode* op) override {
    seen_.clear();
    Visitor::VisitStore(op);
    conditional_stores_ += seen_.empty() ? 0 : 1;
  }
  void VisitCall(const CallNode* op) override {
    Visitor::VisitCall(op);
    if (op->op != kIfThenElse || !op->args[0].dtype().is_scalar()) return;
    std::vector<Expr> terms;
    CollectTerms(op->args[0], terms);
    for (const Expr& term : terms) {
      if (isa<IntImmNode>(term) || NeedsGuard(term)) continue;
      const uint64_t hash = StructuralHash(term);
      if (!seen_.insert(hash).second) continue;
      const auto [it, is_new] = uses_.try_emplace(hash, term, 0);
      if (is_new) order_.push_back(hash);
      ++it->second.second;
    }
  }

 private:
  // Whether evaluating a term may fail where the terms before it do not hold.
  static bool NeedsGuard(const Expr& e) {
    bool found = false;
    PreOrder(e, [&](const Expr& part) {
      const auto* op = dyn_cast<BinaryNode>(part);
      const bool divides = op != nullptr && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod;
      found |= isa<LoadNode>(part) || isa<CallNode>(part) || (divides && AsInt(op->b).value_or(0) == 0);
      return !found;
    });
    return found;
  }

  std::unordered_map<uint64_t, std::pair<Expr, int>> uses_;
  std::vector<uint64_t> order_;
  std::unordered_set<uint64_t> seen_;  // in the store at hand
  int conditional_stores_ = 0;
};

// Rewrites statements for the case that a term holds, or that it does not.
class TermDecider : public Mutator {
 public:
  TermDecider(Expr term, bool holds) : term_(std::move(term)), holds_(holds) {}

 protected:
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const Expr mutated = Mutator::MutateCall(op, self);
    const CallNode* choice = AsIfThenElse(mutated);
    if (choice == nullptr || !HasTerm(choice->args[0], term_)) return mutated;
    if (!holds_) return choice->args[2];
    const Expr rest = WithoutTerm(choice->args[0], term_);
    return rest ? Call(choice->dtype(), choice->op, {rest, choice->args[1], choice->args[2]}) : choice->args[1];
  }

 private:
  const Expr term_;
  const bool holds_;
};

class Hoister : public Mutator {
 public:
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

 protected:
  Stmt MutateSeq(const SeqNode* op, const Stmt& self) override {
    // Straight-line parts, and what stands between them.
    std::vector<Stmt> result, straight;
    bool changed = false;
    const auto finish = [&] {
      if (straight.empty()) return;
      const Stmt whole = Sequence(straight);
      result.push_back(Cut(whole, kMostCuts));
      changed |= !result.back().same_as(whole);
      straight.clear();
    };
    for (const Stmt& s : op->stmts) {
      if (isa<StoreNode>(s)) {
        straight.push_back(s);
        continue;
      }
      finish();
      result.push_back(Mutate(s));
      changed |= !result.back().same_as(s);
    }
    finish();
    return changed ? Sequence(std::move(result)) : self;
  }

 private:
  static Stmt Cut(const Stmt& straight, int cuts) {
    TermCounter counter;
    counter.Visit(straight);
    const Expr term = counter.Most();
    if (!term || (cuts == 0 && !counter.is_in_all())) return straight;
    const Stmt otherwise = TermDecider(term, false).Mutate(straight);
    const bool is_free = counter.is_in_all() && !HasConditions(otherwise);
    if (cuts == 0 && !is_free) return straight;
    const int cuts_left = is_free ? cuts : cuts - 1;
    return If(term, Cut(TermDecider(term, true).Mutate(straight), cuts_left),
              is_free ? otherwise : Cut(otherwise, cuts_left));
  }

  static bool HasConditions(const Stmt& straight) {
    TermCounter counter;
    counter.Visit(straight);
    return counter.has_conditions();
  }
};

}  // namespace

Function HoistConditions(const Function& function) {
  return function.WithBody(Hoister().Mutate(function->body), function->next_id);
}

}  // namespace tilewright

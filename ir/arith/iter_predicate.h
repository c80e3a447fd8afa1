// The iterators behind an iterator map: the domain's variables after predicates have bounded them. Internal.
//
//   domain i in [0, 86), j in [0, 12), predicate i * 12 + j < 1024
//   iterators: f in [0, 1024);  i stands for f // 12, j for f % 12
//
//   domain f in [0, 66), j in [0, 6), predicate f % 22 * 6 + j < 127: f is divided into f // 22 and f % 22 first
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/arith/monomial.h"
#include "ir/arith/sum.h"

namespace tilewright::arith {

class IterDomain {
 public:
  struct Iterator {
    Var var;
    Monomial extent;  // counts from 0
    Expr value;       // over the domain's variables
  };

  // Binds the domain's variables in the analyzer's current scope.
  IterDomain(const Domain& domain, Analyzer* analyzer);

  // Narrows and fuses iterators. False when a part of the predicate (`failed`) does not bound an iterator.
  bool Apply(const Expr& predicate, Expr* failed);

  // The predicate said something that does not depend on iterators and was not known to hold.
  bool conditional() const { return conditional_; }

  const std::vector<Iterator>& iterators() const { return iterators_; }
  // The domain's variables over the iterators' variables.
  std::vector<Expr> DomainValues() const;

 private:
  bool UsesIterators(const Expr& e) const;
  // Takes an iterator of which a condition uses a part, f // 22 or f % n, apart into two. False when there is none.
  bool DivideOne(const std::vector<Expr>& conditions);
  bool ApplyOne(const Expr& condition, bool* progress);
  // sum <= limit, all of whose terms are iterators with positive scales.
  bool BoundAbove(const Sum& sum, const Sum& limit);
  bool BoundBelow(const Sum& sum, const Sum& limit);
  Iterator* FindIterator(const Expr& var);
  // Replaces iterators (by position) by a new one; their values over it.
  void Replace(const std::vector<size_t>& replaced, Iterator by, const std::vector<Expr>& values);
  // The one iterator that `sum` is, fused first if need be. Null when its terms are not contiguous.
  Iterator* AsIterator(const Sum& sum);

  Analyzer& analyzer_;
  const Domain& domain_;
  std::vector<Iterator> iterators_;
  bool conditional_ = false;
};

}  // namespace tilewright::arith

// Simplification and proofs about index expressions under assumptions.
//
//   Analyzer analyzer;
//   analyzer.Bind(i, {0, 30});                      // loop ranges; symbolic extents too: {0, n}
//   analyzer.Bind(j, {0, 16});
//   analyzer.Assume(i * 16 + j < n);                // any condition that holds here
//   analyzer.Simplify(FloorDiv(i * 16 + j, 16));    // i
//   analyzer.CanProve(i * 16 + j < 480);            // true
//   analyzer.ConstBounds(i * 16 + j);               // {0, 479}
//
// Results never change the meaning of a program, given that
//   - signed integers do not overflow, in the expression as written or regrouped (indices stay far from the ends of
//     their type); unsigned arithmetic wraps and is never regrouped; floating-point expressions are only folded where
//     the result has the same bits;
//   - divisors are not zero;
//   - what was bound and assumed holds. Binding a variable to a range also says that the range is not empty.
//
// The form of results is what people and peers write: `i_0 * 16 + i_1 + 3`, largest coefficient first, constants last;
// `x % 64 // 16` for a split; `i < 30`, `1 <= i`; `//` and `%` round down.
//
// An Analyzer is cheap to make and to copy nothing into; it is not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "ir/arith/bounds.h"
#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright::arith {

class Context;

class Analyzer {
 public:
  Analyzer();
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // `var` takes the values of `range`. Binding a variable again narrows it.
  void Bind(const Var& var, const Range& range);
  // `var` stands for `value` and is replaced by it.
  void Bind(const Var& var, const Expr& value);
  // `condition` holds (null: nothing is learned). Conjunctions are taken apart; linear comparisons are used in bounds
  // and proofs, everything else is recognized when it occurs again.
  void Assume(const Expr& condition);

  // Forgets, at its destruction, what was bound and assumed since its construction.
  //
  //   { Analyzer::Scope inside(&analyzer); analyzer.Assume(predicate); ... }
  class Scope {
   public:
    explicit Scope(Analyzer* analyzer);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Analyzer* analyzer_;
    size_t mark_;
  };

  // The simplest equal expression found; the node itself when there is nothing to simplify. Null stays null.
  Expr Simplify(const Expr& e);
  Range Simplify(const Range& range);

  // True only when the condition holds for all values that the assumptions allow. Null counts as true.
  bool CanProve(const Expr& condition);
  bool CanProveEqual(const Expr& a, const Expr& b);
  bool CanProveLess(const Expr& a, const Expr& b);
  bool CanProveLessEqual(const Expr& a, const Expr& b);
  // Whether every value of the one range lies in the other.
  bool CanProveInside(const Range& inner, const Range& outer);
  // Whether `divisor` (a positive expression) divides `e`.
  bool CanProveDivisible(const Expr& e, const Expr& divisor);

  // The tightest constant interval found that contains all values of `e` (an integer expression).
  Bounds ConstBounds(const Expr& e);

  // The linear normal form's owner; for the other parts of ir/arith.
  Context& context() { return *context_; }

 private:
  std::unique_ptr<Context> context_;
};

// Simplify with nothing assumed.
Expr Simplify(const Expr& e);

}  // namespace tilewright::arith

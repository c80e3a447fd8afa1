// What an Analyzer knows and how it computes; internal to ir/arith.
//
// The parts: context.cc keeps bindings and facts, const_bounds.cc derives constant intervals, simplify_index.cc brings
// integers into linear normal form (sum.h) with symbolic_division.cc and min_max.cc, simplify_bool.cc handles
// comparisons, simplify_logic.cc logic, simplify_other.cc the rest, prove.cc shows that a sum is not negative.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/arith/bounds.h"
#include "ir/arith/monomial.h"
#include "ir/arith/sum.h"
#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright::arith {

class Context {
 public:
  // ---- Bindings and facts (context.cc)
  void BindRange(const Var& var, const Range& range, bool not_empty = true);
  void BindValue(const Var& var, const Expr& value);
  void BindName(const Var& var, const Expr& value);
  void Assume(const Expr& condition, bool holds = true);
  size_t mark() const { return undo_.size(); }
  void Undo(size_t mark);
  const std::vector<Sum>& facts() const { return facts_; }  // each is >= 0

  // ---- Simplification
  Expr Simplify(const Expr& e);
  Expr SimplifyBool(const Expr& e);   // scalar bool
  Expr SimplifyOther(const Expr& e);  // neither scalar bool nor index
  Expr SimplifyIndex(const Expr& e);  // dtype().is_index()
  std::vector<Expr> SimplifyAll(const std::vector<Expr>& list, bool* changed);

  // ---- Linear normal form (simplify_index.cc)
  Sum ToSum(const Expr& e);
  Expr FromSum(const Sum& sum) { return SumToExpr(sum); }
  void AddTerm(Sum* sum, Term term);
  void AddSum(Sum* sum, Sum other, int64_t scale);
  // sum += e * scale
  void AddExpr(Sum* sum, const Expr& e, int64_t scale);
  // div += a // c, mod += (a % c) * mod_scale; either may be null; c > 0.
  void DivMod(const Sum& a, int64_t c, Sum* div, Sum* mod, int64_t mod_scale = 1);
  Sum Multiply(const Sum& a, const Sum& b);

  // ---- Bounds (const_bounds.cc)
  Bounds BoundsOf(const Expr& e) const;
  Bounds BoundsOf(const Term& term) const;  // scale included
  Bounds BoundsOf(const Sum& sum) const;
  // What the type alone says. Wide integers count as unbounded: they do not overflow.
  Bounds TypeBounds(DataType dtype) const;

  // ---- Proofs (prove.cc)
  // Whether a <= b, or a < b, always.
  bool ProveInequality(const Expr& a, const Expr& b, bool strict);
  // Whether sum >= 0 always.
  bool ProveNonNegative(const Sum& sum);
  bool Prove(const Expr& condition);
  // True, false or unknown for sum == 0.
  std::optional<bool> DecideZero(const Sum& sum);

 private:
  struct SymbolicRange {
    Sum min, max;  // closed
  };
  struct Binding {
    Var var;
    Bounds bounds;
    std::shared_ptr<const SymbolicRange> symbolic;  // null when the ends are constants
    Expr value;                                     // null unless bound to a value
    bool is_number = false;                         // whether the value is made of numbers from memory
    int previous = -1;                              // the binding that this one hides
  };
  // Variables are nodes, which differ in the upper bits of their addresses too little for a hash that keeps those
  // alone.
  struct VarHash {
    size_t operator()(const VarNode* var) const {
      const size_t mixed = reinterpret_cast<size_t>(var) * 0x9e3779b97f4a7c15;
      return mixed ^ (mixed >> 32);
    }
  };
  // A known interval of a split or of a compound atom.
  struct AtomFact {
    Term term;  // scale 1
    Bounds bounds;
  };
  struct Known {
    Expr condition;
    uint64_t outline;  // of the condition
    bool holds;
  };
  enum class Undoable : uint8_t { kBinding, kFact, kAtomFact, kKnown };
  struct Change {
    Undoable kind;
    uint64_t version;  // before it
  };

  const Binding* Find(const VarNode* var) const;
  void Push(Binding&& binding);
  void PushFact(Sum fact);                                     // fact >= 0
  void PushFactsOf(const BinaryNode& comparison, bool holds);  // of two indices
  void PushAtomFact(const Term& term, Bounds bounds);
  void PushKnown(const Expr& condition, bool holds);
  // The truth of a condition that was assumed as it stands.
  std::optional<bool> Lookup(const Expr& condition) const;
  // Intersects with what is known about the split.
  // `atom` % modulus where it is known.
  std::optional<int64_t> KnownRemainder(const Expr& atom, int64_t modulus) const;
  Bounds WithAtomFacts(const Term& term, Bounds bounds) const;

  Bounds BoundsOfBinary(const Expr& e) const;
  // The greatest value of a // b for a below k * b with a constant k.
  int64_t SymbolicQuotientMax(const Expr& a, const Expr& b) const;
  void TakeKnownRemainders(int64_t c, Sum* rest, Sum* quotient);
  // DivMod of a sum that cannot be taken apart any further.
  void AddSplitOf(const Sum& rest, int64_t c, Sum* div, Sum* mod, int64_t mod_scale);
  void AddCompoundSplit(Sum* sum, const Term& split);
  void FoldCompounds(Sum* sum);
  Sum Opaque(const Expr& atom) const;
  Sum BinaryToSum(const BinaryNode* op, const Expr& self);
  Sum DivisionToSum(const BinaryNode* op, const Expr& self);
  // Division by something that is not a constant (symbolic_division.cc).
  Sum SymbolicDivision(const Sum& a, const Sum& b, bool modulo, const Expr& self);
  Sum DivideByProduct(const Sum& a, const Sum& b, bool modulo);
  // Steps of it; false where they do not apply. `divisor` is b. The first divides a quotient or a remainder again. In
  // the second a = radix * high + low with 0 <= low < radix: the division goes on with high.
  bool DivideDivision(const Sum& a, const Sum& b, const Monomial& divisor, bool modulo, Sum* result);
  bool DivideByRadix(const Sum& a, const Monomial& divisor, bool modulo, Sum* result);
  // (x // n) * n + x % n is x: adds `term` when it completes such a pair in `sum`.
  bool MergeSymbolicSplits(Sum* sum, const Term& term);
  bool ProveBelow(const Sum& sum, const Sum& limit);  // 0 <= sum < limit
  bool IsPositive(const Sum& sum);
  Sum MinMaxToSum(const BinaryNode* op, const Expr& self);  // min_max.cc
  Sum CombineMinMax(BinaryOp op, Sum a, Sum b);
  void FoldMinMax(Sum* sum);
  Sum CastToSum(const CastNode* op, const Expr& self);
  // Whether the sum and all that it is added up of surely fit `dtype`, which bounds its 32-bit atoms.
  bool PartsFit(const Sum& sum, DataType dtype);
  // Whether the expression is made of numbers that are read from memory, or of names of such numbers.
  bool IsNumber(const Expr& e) const;
  // Whether evaluating the sum may overflow: it adds or scales numbers from memory. Other variables are small enough.
  bool MayOverflow(const Sum& sum);
  Expr Rebuild(const BinaryNode* op, const Expr& self, const Expr& a, const Expr& b) const;

  // Something more is known; `kind` says what goes when it is forgotten.
  void Changed(Undoable kind) {
    undo_.push_back({kind, version_});
    version_ = ++last_version_;
  }
  Sum RememberedToSum(const BinaryNode* op, const Expr& self);
  Sum RememberedDivision(const BinaryNode* op, const Expr& self);

  Expr SimplifyChoice(const Expr& condition, const Expr& yes, const Expr& no, bool evaluates_both,
                      Expr* known_condition, Expr* a, Expr* b);
  Expr WithoutSpecialCase(const Expr& condition, const Expr& yes, const Expr& no, bool evaluates_both);
  Expr SimplifySelect(const SelectNode* op);
  Expr SimplifyLet(const LetNode* op);
  Expr SimplifyCall(const CallNode* op);
  Expr SimplifyComparison(const BinaryNode* op, const Expr& self);
  Expr SimplifyLogic(const BinaryNode* op, const Expr& self);
  Expr SimplifyNot(const Expr& a, const Expr& self);
  // The terms with positive scales on the left, the negative ones on the right, the constant where it is positive or
  // alone. False when a constant does not fit, or a side may overflow.
  bool Sides(const Sum& sum, Expr* left, Expr* right);
  // sum <= 0 in the form people write; `strict` chooses between `x < 4` and `x <= 3`. Null where Sides gives none.
  Expr InequalityToExpr(Sum sum, bool strict);
  Expr EqualityToExpr(Sum sum, bool negated);

  bool ProveStep(const Sum& sum);
  bool ProveByCommonFactor(const Sum& sum);
  // sum = coefficient * var + rest; false where it is not linear in the variable.
  bool TakeVariableOut(const Sum& sum, const VarNode* var, Sum* coefficient, Sum* rest);
  bool ProveByElimination(const Sum& sum);
  bool ProveByFacts(const Sum& sum);
  bool ProveByCases(const Sum& sum, bool* applies);
  bool ProveForEachValue(const Sum& sum, const Expr& condition);
  bool ProveInCase(const Sum& sum, size_t choice, const SelectNode& select, bool holds);
  bool ProveByAtoms(const Sum& sum);
  bool ProveWithAtom(const Sum& sum, size_t term, const Expr& atom);
  bool ProvePositive(const Expr& e);
  bool ProveWithQuotient(const Sum& rest, int64_t scale, const BinaryNode& quotient);

  std::vector<Binding> bindings_;
  absl::flat_hash_map<const VarNode*, int, VarHash> index_;  // the newest binding of each variable
  std::vector<Sum> facts_;                                   // each is >= 0; at least two terms
  std::vector<AtomFact> atom_facts_;
  std::vector<Known> known_;
  std::vector<Change> undo_;
  int symbolic_bindings_ = 0;
  // The last sums of compound expressions: an index is proven to lie in bounds from both sides, taken apart as an
  // iterator map, and so on, knowing the same.
  struct RememberedSum {
    Expr e;
    uint64_t version = 0;
    Sum sum;
  };
  static constexpr size_t kRememberedSums = 16;
  std::array<std::unique_ptr<RememberedSum>, kRememberedSums> remembered_;
  // Quotients and remainders by expressions, by their outlines: each takes several proofs, which ask for the same ones.
  struct DivisionSum {
    Expr e;
    uint64_t version = 0;
    bool has_type_limits = false, in_inner_proof = false;
    int proof_depth = 0;
    Sum sum;
  };
  absl::flat_hash_map<uint64_t, DivisionSum> divisions_;
  // A proof ends unproven after so many steps.
  static constexpr int kMaxSteps = 100;
  uint64_t version_ = 1, last_version_ = 1;  // of all that is known: the same again when the rest was forgotten
  bool has_type_limits_ = false;             // 32-bit integers are bounded by their type, for a question about casts
  int proof_depth_ = 0, proof_steps_ = 0;    // of the proof under way, to bound its cost
  bool leaves_out_implied_ = false;          // whether parts of a chain of logic are compared with those after them
  bool in_inner_proof_ = false;  // whether the proof under way is one that simplification asked for in another
};

}  // namespace tilewright::arith

// Whether an expression has the same value behind a statement as before it: nothing that it reads is stored to there.
//
//   if J[0] < 4:
//       S[J[0]] = 0             # J[0] < 4 holds here, and J[0] is what it was
//       J[0] = J[0] + 1         # MayChange(J[0] < 4, this statement)
//       S[J[0]] = 0             # J[0] < 4 need not hold here
//
// A pass or a primitive that evaluates an expression later, again or elsewhere, or that takes a condition as a fact,
// asks this about the statements in between. What may change is evaluated once instead (keep_values.h).
//
// The answer is about whole arrays: a store to one element changes all that is read of its memory. Arrays that share
// their memory are one: views (the same `data`), sub-buffers of blocks, and pointers that the program names.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/stmt.h"

namespace tilewright {

// Which pointers lead to the same memory.
class Pointers {
 public:
  Pointers() = default;
  // As everything below `s` says: sub-buffers and what they are parts of, named pointers and what they are made of.
  explicit Pointers(const Stmt& s);
  // One of the pointers to the same memory, the same for all of them.
  const VarNode* Root(const VarNode* pointer) const;

 private:
  std::unordered_map<const VarNode*, const VarNode*> same_;  // towards the root
};

// The memory that statements may store to.
class StoredMemory {
 public:
  // `pointers` says what is known about pointers outside of `s`; null: nothing is. It has to outlive this.
  explicit StoredMemory(const Stmt& s, const Pointers* pointers = nullptr);
  // Whether the value of `e` (null: none) may be another one behind the statement, or at any place in it. An expression
  // with effects always may.
  bool MayChange(const Expr& e) const;

 private:
  const VarNode* Root(const VarNode* pointer) const;

  const Pointers* const outside_;
  const Pointers inside_;
  std::unordered_set<const VarNode*> stored_;
  bool all_ = false;  // other threads may store to anything
};

bool MayChange(const Expr& e, const Stmt& s, const Pointers* pointers = nullptr);

}  // namespace tilewright

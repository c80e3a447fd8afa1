// Buffers that hold what the program's text says, whatever its inputs are.
//
//   row[v] = v // 3          known: tables of indices (cache_index) are filled so
//   fits[v] = row[v] < 4     known too
//   B[v] = A[v] + 1          not known where A is an input
//
// What such a buffer decides, the program decides: a condition fits[v], a place X[row[v]].
#pragma once

#include <unordered_set>

#include "ir/function.h"

namespace tilewright {

// Data of buffers that the function allocates and fills with integers, whatever type holds them. Every store to them,
// and whether it runs, depends on loops and on such buffers alone. No other buffer and no call touches their memory.
using KnownContents = std::unordered_set<const VarNode*>;
KnownContents FindKnownContents(const Function& function);

// Values that depend on what memory holds, known contents left out, or on the function's scalar parameters.
class FromMemory {
 public:
  FromMemory(const Function& function, const KnownContents* known);
  bool Is(const Expr& e) const;  // null: no
  bool Any(const std::vector<Expr>& list) const;
  void Add(const Var& var) { vars_.insert(var.get()); }  // that holds such a value

 private:
  const KnownContents* known_;
  std::unordered_set<const VarNode*> vars_;
};

}  // namespace tilewright

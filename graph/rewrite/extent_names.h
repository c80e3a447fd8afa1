// Names for extents that several values share, where what they are computed from is of no interest.
//
//   x: R.Tensor(((n + 1) // 2, 8)), y: R.Tensor((((n + 1) // 2 + 1) // 2, 8))
//
// as parameters of a program are (d0, 8) and ((d0 + 1) // 2, 8): the program needs no n, proofs about it are short, and
// it is the same program for every layer that halves its rows.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "graph/ir/value.h"

namespace tilewright::graph {

class ExtentNames {
 public:
  ExtentNames() = default;
  // For the parameters of a program: their extents, the shortest first, that no other one gives the symbols of.
  explicit ExtentNames(std::span<const Var> params);

  // The expression by these names.
  Expr Of(const Expr& e) const;
  std::vector<Expr> Of(const std::vector<Expr>& exprs) const;
  const std::vector<std::pair<Symbol, Expr>>& names() const { return names_; }
  // Whether one of the symbols is part of what has a name.
  bool Hide(std::span<const Expr> symbols) const;

 private:
  std::vector<std::pair<Symbol, Expr>> names_;  // each extent in terms of the graph's symbols
};

}  // namespace tilewright::graph

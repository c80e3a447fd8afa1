// Numbers that depend on the extents of a function's arguments, as a library computes them.
//
//   SizeProgram sizes;
//   sizes.AddInput(extents);                                     // n of (n, 64) is found there
//   TW_ASSIGN_OR_RETURN(Expr bytes, sizes.Number(n * 256));      // a constant, n's variable, or that of a size
//   TW_RETURN_IF_ERROR(sizes.Require(n >= 4));                   // checked when the library is called, unless proven
//   ... sizes.extents(), sizes.sizes(), sizes.checks() ...
//
// An expression is *written* when its variables are those of extents and sizes in place of the graph's symbols.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "codegen/sized_sequence.h"
#include "graph/ir/type.h"
#include "ir/arith/analyzer.h"
#include "ir/substitute.h"

namespace tilewright::graph {

class SizeProgram {
 public:
  // A symbol that stands alone as an extent is found there from now on.
  void AddInput(const std::vector<Expr>& extents);
  // `symbol` has this value, which is written.
  void Define(const Symbol& symbol, Expr value) { known_.insert_or_assign(symbol, std::move(value)); }
  bool Knows(const Symbol& symbol) const { return known_.contains(symbol); }

  // Errors name a symbol that is not known.
  absl::StatusOr<Expr> Written(const Expr& e) const;
  absl::StatusOr<std::vector<Expr>> Written(const std::vector<Expr>& all) const;
  absl::StatusOr<Expr> Number(const Expr& e);
  // The same for what is written: a constant, or the variable of an extent or a size.
  Expr NumberOf(const Expr& written);
  std::vector<Expr> NumbersOf(const std::vector<Expr>& written);

  // The condition is of symbols. It is an error where it never holds. `about`, "value y" for example, is what a refusal
  // names; empty: the model.
  absl::Status Require(const Expr& condition, std::string_view about = "");
  // The same of what is written.
  absl::Status RequireWritten(const Expr& condition, std::string_view about);

  const std::vector<Symbol>& extents() const { return extents_; }
  const std::vector<SizedSequence::Size>& sizes() const { return sizes_; }
  const std::vector<SizedSequence::Check>& checks() const { return checks_; }

 private:
  absl::Status AddCheck(const Expr& written, std::string sentence, const std::vector<Symbol>& named);

  VarMap known_;  // symbols, written
  std::vector<Symbol> extents_;
  std::vector<SizedSequence::Size> sizes_;
  std::vector<SizedSequence::Check> checks_;
  std::unordered_map<std::string, Symbol> by_text_;
  std::unordered_set<std::string> checked_, names_;
  arith::Analyzer analyzer_;
};

// What a piece of an arena takes (RoundedBytes of graph/memory/memory_plan.h), written.
Expr RoundedSize(SizeProgram& sizes, const Expr& bytes);

}  // namespace tilewright::graph

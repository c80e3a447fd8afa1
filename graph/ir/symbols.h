// Values of symbols at run time.
//
//   SymbolValues symbols;
//   TW_RETURN_IF_ERROR(symbols.Match(*type, array.shape(), "x"));    // binds n of (n, 64), checks the rest
//   TW_ASSIGN_OR_RETURN(int64_t bytes, symbols.Evaluate(n * 256));
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/ir/type.h"

namespace tilewright::graph {

class SymbolValues {
 public:
  // Extents that are a symbol without a value give it one; the others must have the value that the shape says. Extents
  // of which a symbol has no value yet are checked by the call that gives it one. Errors name `what`.
  absl::Status Match(const TensorTypeNode& type, const std::vector<int64_t>& shape, std::string_view what);
  void Set(const Symbol& symbol, int64_t value) { values_.insert_or_assign(symbol, value); }
  bool Has(const Symbol& symbol) const { return values_.contains(symbol); }

  // Errors: a symbol without a value, division by zero, overflow, an expression that is not integer arithmetic.
  absl::StatusOr<int64_t> Evaluate(const Expr& e) const;
  absl::StatusOr<std::vector<int64_t>> Evaluate(const std::vector<Expr>& exprs) const;
  // All symbols of the conditions must have values.
  absl::Status CheckGuards(const std::vector<Expr>& guards) const;
  // Checks those whose symbols have values, and takes them out of the list.
  absl::Status CheckReadyGuards(std::vector<Expr>* guards) const;

 private:
  bool Knows(const Expr& e) const;
  absl::Status CheckDeferred();

  struct Deferred {
    std::string what;
    Expr extent;
    int64_t actual;
  };
  std::unordered_map<Symbol, int64_t, IdentityHash, IdentityEqual> values_;
  std::vector<Deferred> deferred_;
};

}  // namespace tilewright::graph

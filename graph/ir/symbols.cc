#include "graph/ir/symbols.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/arith/exact.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

absl::Status Mismatch(std::string_view what, const Expr& extent, int64_t expected, int64_t actual) {
  const bool constant = AsInt(extent).has_value();
  return absl::InvalidArgumentError(absl::StrCat("an extent of ", std::string(what), " is ", actual, ", expected ",
                                                 expected,
                                                 constant ? "" : absl::StrCat(" (", PrintExtent(extent), ")")));
}

}  // namespace

absl::StatusOr<int64_t> SymbolValues::Evaluate(const Expr& e) const {
  if (const std::optional<int64_t> value = AsInt(e)) return *value;
  if (const auto* var = dyn_cast<SymbolNode>(e)) {
    const auto it = values_.find(var);
    if (it == values_.end()) return absl::FailedPreconditionError(absl::StrCat("symbol ", var->name, " has no value"));
    return it->second;
  }
  if (const auto* binary = dyn_cast<BinaryNode>(e)) {
    TW_ASSIGN_OR_RETURN(const int64_t a, Evaluate(binary->a));
    TW_ASSIGN_OR_RETURN(const int64_t b, Evaluate(binary->b));
    const std::optional<int64_t> result = arith::EvaluateExactly(binary->op, a, b);
    if (!result) return absl::InvalidArgumentError(absl::StrCat(PrintExtent(e), " divides by zero or overflows"));
    return *result;
  }
  if (const auto* cast_node = dyn_cast<CastNode>(e)) return Evaluate(cast_node->value);
  if (const auto* not_node = dyn_cast<NotNode>(e)) {
    TW_ASSIGN_OR_RETURN(const int64_t a, Evaluate(not_node->a));
    return a == 0;
  }
  if (const auto* select = dyn_cast<SelectNode>(e)) {
    TW_ASSIGN_OR_RETURN(const int64_t condition, Evaluate(select->condition));
    return Evaluate(condition != 0 ? select->true_value : select->false_value);
  }
  return absl::InvalidArgumentError(absl::StrCat(PrintExtent(e), " is not arithmetic of symbols"));
}

absl::StatusOr<std::vector<int64_t>> SymbolValues::Evaluate(const std::vector<Expr>& exprs) const {
  std::vector<int64_t> values;
  values.reserve(exprs.size());
  for (const Expr& e : exprs) {
    TW_ASSIGN_OR_RETURN(const int64_t value, Evaluate(e));
    values.push_back(value);
  }
  return values;
}

absl::Status SymbolValues::Match(const TensorTypeNode& type, const std::vector<int64_t>& shape, std::string_view what) {
  if (!type.shape) return absl::OkStatus();
  if (shape.size() != type.shape->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), " has ", shape.size(), " dimensions, expected ", type.shape->size()));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const Expr& extent = (*type.shape)[i];
    const auto* symbol = dyn_cast<SymbolNode>(extent);
    if (symbol != nullptr && values_.find(symbol) == values_.end()) {
      values_.emplace(Symbol(symbol), shape[i]);
      continue;
    }
    deferred_.push_back({std::string(what), extent, shape[i]});
  }
  return CheckDeferred();
}

bool SymbolValues::Knows(const Expr& e) const {
  const std::vector<Symbol> symbols = FreeSymbols(std::vector<Expr>{e});
  return std::all_of(symbols.begin(), symbols.end(), [&](const Symbol& s) { return Has(s); });
}

// Checks the extents whose symbols have values now, and forgets them.
absl::Status SymbolValues::CheckDeferred() {
  absl::Status status;
  std::erase_if(deferred_, [&](const Deferred& d) {
    if (!Knows(d.extent)) return false;
    const absl::StatusOr<int64_t> expected = Evaluate(d.extent);
    status.Update(expected.status());
    if (expected.ok() && *expected != d.actual) status.Update(Mismatch(d.what, d.extent, *expected, d.actual));
    return true;
  });
  return status;
}

absl::Status SymbolValues::CheckReadyGuards(std::vector<Expr>* guards) const {
  std::vector<Expr> ready;
  std::erase_if(*guards, [&](const Expr& guard) {
    const std::vector<Symbol> symbols = FreeSymbols(std::vector<Expr>{guard});
    const bool known = std::all_of(symbols.begin(), symbols.end(), [&](const Symbol& s) { return Has(s); });
    if (known) ready.push_back(guard);
    return known;
  });
  return CheckGuards(ready);
}

absl::Status SymbolValues::CheckGuards(const std::vector<Expr>& guards) const {
  for (const Expr& guard : guards) {
    TW_ASSIGN_OR_RETURN(const int64_t holds, Evaluate(guard));
    if (holds != 0) continue;
    std::string values;
    for (const Symbol& symbol : FreeSymbols(std::vector<Expr>{guard})) {
      absl::StrAppend(&values, values.empty() ? "" : ", ", symbol.name(), " = ", values_.at(symbol));
    }
    return absl::InvalidArgumentError(absl::StrCat("the model needs ", PrintExtent(guard), ", but ", values));
  }
  return absl::OkStatus();
}

}  // namespace tilewright::graph

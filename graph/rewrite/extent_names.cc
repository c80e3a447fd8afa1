#include "graph/rewrite/extent_names.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "graph/ir/call_types.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

int64_t CountNodes(const Expr& e) {
  int64_t count = 0;
  PreOrder(e, [&](const Expr&) { return ++count > 0; });
  return count;
}

}  // namespace

ExtentNames::ExtentNames(std::span<const Var> params) {
  std::vector<Expr> computed;
  std::unordered_set<const SymbolNode*> known;  // from arrays
  std::unordered_set<std::string> taken;
  for (const Var& param : params) {
    const TensorTypeNode* type = TensorTypeOf(param);
    if (type == nullptr || !type->shape) continue;
    for (const Expr& extent : *type->shape) {
      for (const Symbol& symbol : FreeSymbols(std::vector<Expr>{extent})) taken.insert(symbol->name);
      if (const auto* symbol = dyn_cast<SymbolNode>(extent)) {
        known.insert(symbol);
      } else if (!AsInt(extent)) {
        computed.push_back(extent);
      }
    }
  }
  std::ranges::sort(computed, {}, CountNodes);
  for (const Expr& extent : computed) {
    const std::vector<Symbol> symbols = FreeSymbols(std::vector<Expr>{Of(extent)});
    if (std::ranges::any_of(symbols, [&](const Symbol& symbol) { return known.contains(symbol.get()); })) continue;
    size_t number = names_.size();
    while (taken.contains(absl::StrCat("d", number))) ++number;
    names_.emplace_back(Symbol(absl::StrCat("d", number), extent.dtype()), extent);
    taken.insert(names_.back().first->name);
    known.insert(names_.back().first.get());
  }
}

Expr ExtentNames::Of(const Expr& e) const {
  if (names_.empty()) return e;
  return RewriteExpr(e, [&](const Expr& part) {
    for (const auto& [name, extent] : names_) {
      if (StructuralEqual(part, extent)) return Expr(name);
    }
    return part;
  });
}

std::vector<Expr> ExtentNames::Of(const std::vector<Expr>& exprs) const {
  std::vector<Expr> named;
  for (const Expr& e : exprs) named.push_back(Of(e));
  return named;
}

bool ExtentNames::Hide(std::span<const Expr> symbols) const {
  for (const auto& [name, extent] : names_) {
    for (const Symbol& part : FreeSymbols(std::vector<Expr>{extent})) {
      if (std::ranges::any_of(symbols, [&](const Expr& symbol) { return symbol.get() == part.get(); })) return true;
    }
  }
  return false;
}

}  // namespace tilewright::graph

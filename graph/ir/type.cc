#include "graph/ir/type.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

std::vector<Expr> AllAsExtents(std::vector<Expr> exprs) {
  for (Expr& e : exprs) e = AsExtent(std::move(e));
  return exprs;
}

std::optional<std::vector<Expr>> AllAsExtents(std::optional<std::vector<Expr>> exprs) {
  if (exprs) exprs = AllAsExtents(*std::move(exprs));
  return exprs;
}

std::string PrintAll(const std::vector<Expr>& exprs) {
  return absl::StrJoin(exprs, ", ", [](std::string* out, const Expr& e) { absl::StrAppend(out, PrintExtent(e)); });
}

void CollectSymbols(const std::vector<Expr>& exprs, std::unordered_set<const SymbolNode*>& seen,
                    std::vector<Symbol>& out) {
  for (const Expr& root : exprs) {
    PreOrder(root, [&](const Expr& e) {
      if (const auto* var = dyn_cast<SymbolNode>(e); var != nullptr && seen.insert(var).second) {
        out.push_back(Symbol(var));
      }
      return true;
    });
  }
}

void CollectSymbols(const Type& type, std::unordered_set<const SymbolNode*>& seen, std::vector<Symbol>& out) {
  if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
    if (tensor->shape) CollectSymbols(*tensor->shape, seen, out);
    if (tensor->values) CollectSymbols(*tensor->values, seen, out);
  } else if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
    for (const Type& field : tuple->fields) CollectSymbols(field, seen, out);
  } else if (const auto* shape = dyn_cast<ShapeTypeNode>(type)) {
    CollectSymbols(shape->values, seen, out);
  }
}

bool SameExprs(const std::optional<std::vector<Expr>>& a, const std::optional<std::vector<Expr>>& b) {
  return a.has_value() == b.has_value() && (!a || StructuralEqual(*a, *b));
}

}  // namespace

TensorTypeNode::TensorTypeNode(DataType dtype, std::optional<std::vector<Expr>> shape,
                               std::optional<std::vector<Expr>> values)
    : TypeNode(kKind), dtype(dtype), shape(AllAsExtents(std::move(shape))), values(AllAsExtents(std::move(values))) {
  TW_CHECK(dtype.is_scalar() && !dtype.is_void()) << "tensors of " << dtype.ToString();
  if (!this->values) return;
  TW_CHECK(this->shape) << "values of a tensor of unknown rank";
  TW_CHECK(IsInt(NumElements(*this->shape), static_cast<int64_t>(this->values->size())))
      << this->values->size() << " values in a tensor of another size";
  TW_CHECK(static_cast<int64_t>(this->values->size()) <= kMaxKnownValues) << this->values->size() << " known values";
}

TensorType TensorType::WithValues(DataType dtype, std::vector<Expr> shape, std::vector<Expr> values) {
  const int64_t count = static_cast<int64_t>(values.size());
  if (count > kMaxKnownValues || !IsInt(NumElements(shape), count)) return {dtype, std::move(shape)};
  return TensorType(new TensorTypeNode(dtype, std::move(shape), std::move(values)));
}

ShapeTypeNode::ShapeTypeNode(std::vector<Expr> values) : TypeNode(kKind), values(AllAsExtents(std::move(values))) {}

Expr Extent(int64_t value) { return Const(DataType::Int(64), value); }

Expr AsExtent(Expr e) { return CastTo(DataType::Int(64), std::move(e)); }

std::vector<Expr> Extents(const std::vector<int64_t>& values) {
  std::vector<Expr> extents;
  extents.reserve(values.size());
  for (int64_t value : values) extents.push_back(Extent(value));
  return extents;
}

std::optional<std::vector<int64_t>> ConstantExtents(const std::vector<Expr>& extents) {
  std::vector<int64_t> values;
  values.reserve(extents.size());
  for (const Expr& e : extents) {
    const std::optional<int64_t> value = AsInt(e);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Expr NumElements(const std::vector<Expr>& extents) {
  int64_t constant = 1;
  Expr symbolic;
  for (const Expr& e : extents) {
    const std::optional<int64_t> value = AsInt(e);
    if (!value) {
      symbolic = symbolic ? symbolic * AsExtent(e) : AsExtent(e);
    } else if (__builtin_mul_overflow(constant, *value, &constant)) {
      constant = std::numeric_limits<int64_t>::max();  // more than any memory holds
    }
  }
  return symbolic && constant != 0 ? arith::Simplify(symbolic * Extent(constant)) : Extent(constant);
}

std::string ToString(const Type& type) {
  if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
    const std::string dtype = absl::StrCat("dtype=\"", tensor->dtype.ToString(), "\"");
    if (!tensor->shape) return absl::StrCat("R.Tensor(", dtype, ")");
    const char* comma = tensor->shape->size() == 1 ? "," : "";
    return absl::StrCat("R.Tensor((", PrintAll(*tensor->shape), comma, "), ", dtype, ")");
  }
  if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
    return absl::StrCat(
        "R.Tuple(",
        absl::StrJoin(tuple->fields, ", ",
                      [](std::string* out, const Type& field) { absl::StrAppend(out, ToString(field)); }),
        ")");
  }
  if (const auto* shape = dyn_cast<ShapeTypeNode>(type))
    return absl::StrCat("R.Shape([", PrintAll(shape->values), "])");
  return "<no type>";
}

std::vector<Symbol> FreeSymbols(const Type& type) {
  std::unordered_set<const SymbolNode*> seen;
  std::vector<Symbol> out;
  CollectSymbols(type, seen, out);
  return out;
}

std::vector<Symbol> ExtentSymbols(const Type& type) {
  std::vector<Symbol> out;
  if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
    for (const Type& field : tuple->fields) {
      for (const Symbol& symbol : ExtentSymbols(field)) out.push_back(symbol);
    }
  }
  const auto* tensor = dyn_cast<TensorTypeNode>(type);
  if (tensor == nullptr || !tensor->shape) return out;
  for (const Expr& extent : *tensor->shape) {
    if (const auto* symbol = dyn_cast<SymbolNode>(extent)) out.push_back(Symbol(symbol));
  }
  return out;
}

std::vector<Symbol> FreeSymbols(const std::vector<Expr>& exprs) {
  std::unordered_set<const SymbolNode*> seen;
  std::vector<Symbol> out;
  CollectSymbols(exprs, seen, out);
  return out;
}

bool SameType(const Type& a, const Type& b, bool compare_values) {
  if (a.same_as(b)) return true;
  if (!a || !b || a->kind() != b->kind()) return false;
  if (const auto* x = dyn_cast<TensorTypeNode>(a)) {
    const auto* y = cast<TensorTypeNode>(b);
    return x->dtype == y->dtype && SameExprs(x->shape, y->shape) &&
           (!compare_values || SameExprs(x->values, y->values));
  }
  if (const auto* x = dyn_cast<TupleTypeNode>(a)) {
    const auto* y = cast<TupleTypeNode>(b);
    return std::equal(x->fields.begin(), x->fields.end(), y->fields.begin(), y->fields.end(),
                      [&](const Type& p, const Type& q) { return SameType(p, q, compare_values); });
  }
  return StructuralEqual(cast<ShapeTypeNode>(a)->values, cast<ShapeTypeNode>(b)->values);
}

}  // namespace tilewright::graph

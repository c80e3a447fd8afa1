// Operands of different types, and values of another type than the buffer that they are stored into: converted as TVM
// does it.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

bool IsImmediate(const Expr& e) { return isa<IntImmNode>(e) || isa<FloatImmNode>(e); }

bool IsNumber(DataType type) { return type.is_integer() || type.is_float() || type.is_bool(); }

bool Fits(int64_t value, DataType type) {
  return value >= MinValue(type.element()) && (value <= MaxValue(type.element()) || type.bits() == 64);
}

// The type that operands of the types `a` and `b` are widened to: floating-point numbers win over integers, more bits
// over fewer, unsigned over signed ones of as many bits, any number over a condition.
DataType WiderType(DataType a, DataType b) {
  if (a.is_bool()) return b;
  if (b.is_bool()) return a;
  if (a.is_float() != b.is_float()) return a.is_float() ? a : b;
  if (a.bits() != b.bits()) return a.bits() > b.bits() ? a : b;
  return !a.is_float() && b.is_uint() ? b : a;
}

// The value as a number of that type, which may have lanes; null where the type does not hold it.
Expr ImmediateAs(const Expr& e, DataType type) {
  const auto* integer = dyn_cast<IntImmNode>(e);
  if (type.is_float()) return CastTo(type, e);
  if (integer == nullptr || !type.is_integer()) return Expr();
  return Fits(integer->value, type) ? Const(type, integer->value) : Expr();
}

}  // namespace

bool FunctionReader::ConvertImmediate(Expr* e, DataType dtype, uint32_t offset) {
  if (e->dtype() == dtype) return true;
  const auto* integer = dyn_cast<IntImmNode>(*e);
  const auto* real = dyn_cast<FloatImmNode>(*e);
  const bool from_number = real != nullptr || (integer != nullptr && !integer->dtype().is_bool());
  if (Expr converted = from_number ? ImmediateAs(*e, dtype) : Expr()) {
    *e = std::move(converted);
    return true;
  }
  if (dtype.is_integer() && integer != nullptr && from_number) {
    return Fail(offset, absl::StrCat(integer->value, " does not fit into ", dtype.ToString()));
  }
  return Fail(offset, absl::StrCat("expected ", dtype.ToString(), ", found ", e->dtype().ToString()));
}

bool FunctionReader::ConvertStored(Expr* e, DataType dtype, uint32_t offset) {
  const DataType from = e->dtype();
  if (from.element() == dtype) return true;
  if (!IsNumber(from) || !IsNumber(dtype)) {
    return Fail(offset, absl::StrCat("expected ", dtype.ToString(), ", found ", from.ToString()));
  }
  const auto* integer = dyn_cast<IntImmNode>(*e);
  const auto* real = dyn_cast<FloatImmNode>(*e);
  if (real != nullptr && dtype.is_integer()) {  // towards zero
    const double whole = std::trunc(real->value), limit = std::ldexp(1.0, 63);
    if (!(whole >= -limit && whole < limit) || !Fits(static_cast<int64_t>(whole), dtype)) {
      return Fail(offset, absl::StrCat(real->value, " does not fit into ", dtype.ToString()));
    }
    *e = Const(dtype, static_cast<int64_t>(whole));
    return true;
  }
  if (integer != nullptr && dtype.is_integer()) return ConvertImmediate(e, dtype, offset);
  if (integer != nullptr && dtype.is_bool()) {
    *e = Const(dtype, integer->value != 0 ? 1 : 0);
    return true;
  }
  *e = CastTo(dtype.with_lanes(from.lanes()), std::move(*e));
  return true;
}

bool FunctionReader::Unify(Expr* a, Expr* b, uint32_t offset) {
  const DataType ea = a->dtype().element(), eb = b->dtype().element();
  if (ea != eb) {
    if (!IsNumber(ea) || !IsNumber(eb)) {
      return Fail(offset, absl::StrCat("operands have types ", a->dtype().ToString(), " and ", b->dtype().ToString()));
    }
    // A constant takes the type of the other operand where it holds it. Between two of them the floating-point one
    // wins.
    const bool convert_b = IsImmediate(*b) && !(IsImmediate(*a) && eb.is_float() && !ea.is_float());
    Expr* constant = convert_b ? b : IsImmediate(*a) ? a : nullptr;
    if (constant != nullptr && !constant->dtype().is_bool()) {
      if (Expr converted = ImmediateAs(*constant, convert_b ? ea : eb)) *constant = std::move(converted);
    }
    const DataType wide = WiderType(a->dtype().element(), b->dtype().element());
    for (Expr* operand : {a, b}) {
      if (operand->dtype().element() != wide) *operand = CastTo(wide.with_lanes(operand->dtype().lanes()), *operand);
    }
  }
  const int la = a->dtype().lanes(), lb = b->dtype().lanes();
  if (la == lb) return true;
  if (la != 1 && lb != 1) return Fail(offset, absl::StrCat("operands have ", la, " and ", lb, " lanes"));
  Expr* scalar = la == 1 ? a : b;
  *scalar = Broadcast(*scalar, la == 1 ? lb : la);
  return true;
}

}  // namespace tilewright::script

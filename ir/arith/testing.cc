#include "ir/arith/testing.h"

#include <cstdlib>

#include "base/check.h"
#include "ir/arith/exact.h"

namespace tilewright::arith {
namespace {

std::optional<int64_t> InType(DataType dtype, int64_t value) {
  if (dtype.is_uint() && dtype.bits() < 64) return value & MaxValue(dtype);
  if (dtype.is_int() && dtype.bits() < 64 && (value < MinValue(dtype) || value > MaxValue(dtype))) return std::nullopt;
  return value;
}

}  // namespace

std::optional<int64_t> Evaluate(const Expr& e, const Assignment& values) {
  switch (e->kind()) {
    case Kind::kIntImm:
      return cast<IntImmNode>(e)->value;
    case Kind::kVar:
      for (const auto& [var, value] : values) {
        if (var.get() == e.get()) return value;
      }
      TW_CHECK(false) << "no value for " << cast<VarNode>(e)->name;
      return std::nullopt;
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      auto a = Evaluate(op->a, values), b = Evaluate(op->b, values);
      if (!a || !b) return std::nullopt;
      auto result = EvaluateExactly(op->op, *a, *b);
      return result ? InType(e.dtype(), *result) : std::nullopt;
    }
    case Kind::kNot: {
      auto a = Evaluate(cast<NotNode>(e)->a, values);
      return a ? std::optional<int64_t>(*a == 0) : std::nullopt;
    }
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      auto c = Evaluate(op->condition, values);
      auto a = Evaluate(op->true_value, values), b = Evaluate(op->false_value, values);
      if (!c || !a || !b) return std::nullopt;
      return *c != 0 ? a : b;
    }
    case Kind::kCast: {
      auto a = Evaluate(cast<CastNode>(e)->value, values);
      return a ? InType(e.dtype(), *a) : std::nullopt;
    }
    default:
      TW_CHECK(false) << "kind " << static_cast<int>(e->kind());
      return std::nullopt;
  }
}

int64_t FromEnvironment(const char* name, int64_t value) {
  const char* text = std::getenv(name);
  return text == nullptr ? value : std::strtoll(text, nullptr, 10);
}

}  // namespace tilewright::arith

// Arithmetic of Python numbers.
#include <cmath>

#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

constexpr Integer kIntegerLimit = Integer{1} << 66;  // results of Python arithmetic stay below

}  // namespace

bool FunctionReader::FoldIntegers(const PyExpr& e, Integer x, Integer y, Value* out, bool* folded) {
  const std::string& op = e.text;
  if ((op == "//" || op == "%" || op == "/") && y == 0) return Fail(e.offset, "division by zero");
  const Integer quotient = y == 0 ? 0 : x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
  Integer result = 0;
  bool overflow = false;
  if (op == "+") {
    result = x + y;
  } else if (op == "-") {
    result = x - y;
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(x, y, &result);
  } else if (op == "//") {
    result = quotient;
  } else if (op == "%") {
    result = x - quotient * y;
  } else if (op == "/") {
    out->data = static_cast<double>(x) / static_cast<double>(y);
    return true;
  } else if (op == "&") {
    result = x & y;
  } else if (op == "|") {
    result = x | y;
  } else if (op == "^") {
    result = x ^ y;
  } else if (op == "<<" || op == ">>") {
    if (y < 0 || y > 64) return Fail(e.offset, "expected a shift by 0 to 64");
    if (op == "<<") {
      overflow = __builtin_mul_overflow(x, Integer{1} << y, &result);
    } else {
      result = x >> y;
    }
  } else if (op == "**") {
    if (y < 0 || y > 64) return Fail(e.offset, "expected an exponent from 0 to 64");
    result = 1;
    for (Integer i = 0; i < y && !overflow; ++i) overflow = __builtin_mul_overflow(result, x, &result);
  } else if (op == "==" || op == "!=") {
    out->data = (x == y) == (op == "==");
    return true;
  } else if (op == "<" || op == ">=") {
    out->data = (x < y) == (op == "<");
    return true;
  } else if (op == ">" || op == "<=") {
    out->data = (x > y) == (op == ">");
    return true;
  } else {
    *folded = false;
    return true;
  }
  if (overflow || result > kIntegerLimit || result < -kIntegerLimit) {
    return Fail(e.offset, "this integer does not fit into 64 bits");
  }
  out->data = result;
  return true;
}

// Arithmetic on Python numbers is done at once, as Python does it.
bool FunctionReader::FoldBinary(const PyExpr& e, const Value& a, const Value& b, Value* out, bool* folded) {
  const auto* ia = a.As<Integer>();
  const auto* ib = b.As<Integer>();
  const std::string& op = e.text;
  *folded = true;
  if (ia != nullptr && ib != nullptr) return FoldIntegers(e, *ia, *ib, out, folded);
  const auto* fa = a.As<double>();
  const auto* fb = b.As<double>();
  if ((fa != nullptr || ia != nullptr) && (fb != nullptr || ib != nullptr)) {
    const double x = fa != nullptr ? *fa : static_cast<double>(*ia);
    const double y = fb != nullptr ? *fb : static_cast<double>(*ib);
    if (op == "+" || op == "-" || op == "*" || op == "**") {
      out->data = op == "+" ? x + y : op == "-" ? x - y : op == "*" ? x * y : std::pow(x, y);
      return true;
    }
    if (op == "/") {
      if (y == 0) return Fail(e.offset, "division by zero");
      out->data = x / y;
      return true;
    }
  }
  const auto* ta = a.As<bool>();
  const auto* tb = b.As<bool>();
  if (ta != nullptr && tb != nullptr && (op == "and" || op == "or")) {
    out->data = op == "and" ? *ta && *tb : *ta || *tb;
    return true;
  }
  *folded = false;
  return true;
}

}  // namespace tilewright::script

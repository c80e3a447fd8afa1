#include "schedule/script/python_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace tilewright {
namespace {

constexpr size_t kMaxLength = 1 << 16;
constexpr int kMaxNesting = 50;

PythonResult Fail(std::string error, int operand = -1) { return {std::nullopt, std::move(error), operand}; }
PythonResult Wrong(std::string error, int operand = -1) { return {std::nullopt, std::move(error), operand, true}; }

// What arithmetic counts as a number; a bool is one too.
std::optional<int64_t> Integer(const Value& value) {
  if (const auto* integer = value.As<int64_t>()) return *integer;
  if (const auto* truth = value.As<bool>()) return *truth ? 1 : 0;
  return std::nullopt;
}
std::optional<double> Real(const Value& value) {
  if (const auto* real = value.As<double>()) return *real;
  if (const auto integer = Integer(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

// a ** b, a << b, a >> b
PythonResult OfPowers(std::string_view op, int64_t left, int64_t right) {
  if (op == "**" && right < 0) return {Value(std::pow(static_cast<double>(left), static_cast<double>(right)))};
  if (right < 0) return Wrong("this shift is negative", 1);
  if (op == ">>") return {Value(right > 63 ? (left < 0 ? int64_t{-1} : int64_t{0}) : left >> right)};
  __int128 result = op == "<<" ? left : 1;
  const __int128 factor = op == "<<" ? 2 : left;
  if (factor >= -1 && factor <= 1)
    return {Value(static_cast<int64_t>(right == 0 ? 1 : factor < 0 && right % 2 == 0 ? 1 : factor))};
  for (int64_t i = 0; i < right && result != 0; ++i) {
    result *= factor;
    if (result > INT64_MAX || result < INT64_MIN) return Wrong("the number is too large");
  }
  return {Value(static_cast<int64_t>(result))};
}

PythonResult OfReals(std::string_view op, double left, double right) {
  if ((op == "/" || op == "//" || op == "%") && right == 0) return Wrong("division by zero", 1);
  if (op == "+") return {Value(left + right)};
  if (op == "-") return {Value(left - right)};
  if (op == "*") return {Value(left * right)};
  if (op == "/") return {Value(left / right)};
  if (op == "//") return {Value(std::floor(left / right))};
  if (op == "%") return {Value(left - std::floor(left / right) * right)};
  if (op == "**") return {Value(std::pow(left, right))};
  return Fail("this operator is not part of a schedule");
}

PythonResult OfIntegers(std::string_view op, int64_t left, int64_t right) {
  const __int128 a = left, b = right;
  if ((op == "//" || op == "%") && b == 0) return Wrong("division by zero", 1);
  const __int128 floor = b == 0 ? 0 : a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  __int128 result = 0;
  if (op == "/")
    return b == 0 ? Wrong("division by zero", 1)
                  : PythonResult{Value(static_cast<double>(left) / static_cast<double>(right))};
  if (op == "**" || op == "<<" || op == ">>") return OfPowers(op, left, right);
  if (op == "&" || op == "|" || op == "^") {
    return {Value(op == "&" ? left & right : op == "|" ? left | right : left ^ right)};
  }
  if (op == "+") {
    result = a + b;
  } else if (op == "-") {
    result = a - b;
  } else if (op == "*") {
    result = a * b;
  } else if (op == "//") {
    result = floor;
  } else if (op == "%") {
    result = a - floor * b;
  } else {
    return Fail("this operator is not part of a schedule");
  }
  if (result > INT64_MAX || result < INT64_MIN) return Wrong("the number is too large");
  return {Value(static_cast<int64_t>(result))};
}

PythonResult Repeated(const Value::List& list, int64_t times) {
  const size_t count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (!list.empty() && count > kMaxLength / list.size()) return Wrong("the list is too long");
  Value::List repeated;
  for (size_t i = 0; i < count; ++i) repeated.insert(repeated.end(), list.begin(), list.end());
  return {Value(std::move(repeated))};
}

PythonResult Compare(std::string_view op, const Value& a, const Value& b);

bool IsComparison(std::string_view op) {
  return op == "in" || op == "not in" || op == "is" || op == "is not" || op == "==" || op == "!=" || op == "<" ||
         op == "<=" || op == ">" || op == ">=";
}

// a in b
PythonResult IsIn(const Value& a, const Value& b) {
  if (const auto* dict = b.As<Value::Dict>()) {
    const auto* key = a.As<std::string>();
    return {Value(key != nullptr && dict->contains(*key))};
  }
  const auto *text = b.As<std::string>(), *part = a.As<std::string>();
  if (text != nullptr)
    return part == nullptr ? Fail("expected a text", 0) : PythonResult{Value(text->find(*part) != text->npos)};
  const auto* list = b.As<Value::List>();
  if (list == nullptr) return Fail("expected a list", 1);
  return {
      Value(std::ranges::any_of(*list, [&](const Value& item) { return *Compare("==", a, item).value->As<bool>(); }))};
}

PythonResult Compare(std::string_view op, const Value& a, const Value& b) {
  if (op == "in") return IsIn(a, b);
  if (op == "is" || op == "is not") return {Value(SameValue(a, b) == (op == "is"))};
  if (op == "not in") {
    PythonResult in = IsIn(a, b);
    return in.value ? PythonResult{Value(!*in.value->As<bool>())} : in;
  }
  int order = 0;
  const auto *left = a.As<std::string>(), *right = b.As<std::string>();
  const std::optional<double> x = Real(a), y = Real(b);
  if (x && y) {
    order = *x < *y ? -1 : *x > *y ? 1 : 0;
  } else if (left != nullptr && right != nullptr) {
    order = left->compare(*right);
  } else if (op == "==" || op == "!=") {
    return {Value(SameValue(a, b) == (op == "=="))};
  } else {
    return Fail("these values have no order");
  }
  const bool result = op == "=="   ? order == 0
                      : op == "!=" ? order != 0
                      : op == "<"  ? order < 0
                      : op == "<=" ? order <= 0
                      : op == ">"  ? order > 0
                                   : order >= 0;
  return {Value(result)};
}

// A bound of a slice, kept in [least, most]; counted from the end where it is negative.
int64_t Bound(const Value& value, int64_t otherwise, int64_t size, int64_t least, int64_t most) {
  const auto* at = value.As<int64_t>();
  if (at == nullptr) return otherwise;
  return std::clamp(*at < 0 ? *at + size : *at, least, most);
}

PythonResult RangeOf(const std::vector<Value>& args) {
  std::vector<int64_t> numbers;
  for (const Value& arg : args) {
    const std::optional<int64_t> number = Integer(arg);
    if (!number) return Fail("range takes integers");
    numbers.push_back(*number);
  }
  if (numbers.empty() || numbers.size() > 3) return Fail("range takes one to three integers");
  const int64_t begin = numbers.size() > 1 ? numbers[0] : 0, end = numbers.size() > 1 ? numbers[1] : numbers[0];
  const int64_t step = numbers.size() > 2 ? numbers[2] : 1;
  if (step == 0) return Wrong("the step is 0");
  Value::List list;
  for (__int128 i = begin; step > 0 ? i < end : i > end; i += step) {
    if (list.size() == kMaxLength) return Wrong("the range is too long");
    list.push_back(static_cast<int64_t>(i));
  }
  return {Value(std::move(list))};
}

PythonResult Zip(const std::vector<Value::List>& lists) {
  Value::List zipped;
  for (size_t i = 0; !lists.empty(); ++i) {
    Value::List row;
    for (const Value::List& list : lists) {
      if (i < list.size()) row.push_back(list[i]);
    }
    if (row.size() < lists.size()) break;
    zipped.push_back(std::move(row));
  }
  return {Value(std::move(zipped))};
}

PythonResult LeastOrMost(bool least, const Value::List& values) {
  if (values.empty()) return Wrong("there are no values");
  const Value* best = &values[0];
  for (const Value& value : values) {
    PythonResult less = Compare(least ? "<" : ">", value, *best);
    if (!less.value) return less;
    if (*less.value->As<bool>()) best = &value;
  }
  return {*best};
}

PythonResult OfList(std::string_view name, Value::List list) {
  if (name == "len") return {Value(static_cast<int64_t>(list.size()))};
  if (name == "reversed") std::ranges::reverse(list);
  if (name == "list" || name == "tuple" || name == "reversed") return {Value(std::move(list))};
  if (name == "min" || name == "max") return LeastOrMost(name == "min", list);
  if (name == "enumerate") {
    for (size_t i = 0; i < list.size(); ++i) list[i] = Value(Value::List{static_cast<int64_t>(i), list[i]});
    return {Value(std::move(list))};
  }
  PythonResult sum{Value(int64_t{0})};
  for (size_t i = 0; i < list.size() && sum.value; ++i) sum = PythonBinary("+", *sum.value, list[i]);
  return sum;
}

PythonResult ToInteger(double whole) {
  if (!(std::abs(whole) < 9.2e18)) return Wrong("the number is too large");
  return {Value(static_cast<int64_t>(whole))};
}

PythonResult OfElements(std::string_view name, const std::vector<Value>& args) {
  std::optional<Value::List> list = args.size() == 1 ? PythonElements(args[0]) : std::nullopt;
  if (!list) return Fail(std::string(name) + " takes one list");
  if (name == "any") return {Value(std::ranges::any_of(*list, PythonTruth))};
  if (name == "all") return {Value(std::ranges::all_of(*list, PythonTruth))};
  for (const Value& item : *list) {
    if (PythonResult order = Compare("<", list->front(), item); !order.value) return order;
  }
  std::ranges::sort(*list, [](const Value& a, const Value& b) { return *Compare("<", a, b).value->As<bool>(); });
  return {Value(std::move(*list))};
}

PythonResult OfNumbers(std::string_view name, const std::vector<Value>& args) {
  if (name == "pow" && args.size() == 2) return PythonBinary("**", args[0], args[1]);
  if (args.size() != 1) return Fail(std::string(name) + " takes one number");
  if (name == "bool") return {Value(PythonTruth(args[0]))};
  const auto real = Real(args[0]);
  if (!real) return Fail(std::string(name) + " takes one number");
  if (name == "float") return {Value(*real)};
  if (name == "round") return ToInteger(std::nearbyint(*real));
  if (const auto integer = Integer(args[0]))
    return PythonBinary("*", Value(*integer), Value(int64_t{*integer < 0 ? -1 : 1}));
  return {Value(std::abs(*real))};
}

}  // namespace

std::optional<Value> PythonMathConstant(std::string_view name) {
  if (name == "inf") return Value(std::numeric_limits<double>::infinity());
  if (name == "pi") return Value(3.141592653589793);
  if (name == "e") return Value(2.718281828459045);
  return std::nullopt;
}

std::optional<PythonResult> PythonMath(std::string_view name, const std::vector<Value>& args) {
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  for (const Value& arg : args) {
    if (const auto real = Real(arg)) numbers.push_back(*real);
    if (const auto integer = Integer(arg)) integers.push_back(*integer);
  }
  if (name == "prod" && args.size() == 1) {
    const auto list = PythonElements(args[0]);
    if (!list) return Fail("prod takes one list");
    PythonResult product{Value(int64_t{1})};
    for (size_t i = 0; i < list->size() && product.value; ++i) product = PythonBinary("*", *product.value, (*list)[i]);
    return product;
  }
  if ((name == "gcd" || name == "lcm") && !args.empty()) {
    if (integers.size() != args.size()) return Fail(std::string(name) + " takes integers");
    __int128 result = name == "gcd" ? 0 : 1;
    for (const int64_t integer : integers) {
      const auto size = integer < 0 ? -static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
      const uint64_t gcd = std::gcd(static_cast<uint64_t>(result), size);
      result = name == "gcd" ? gcd : gcd == 0 ? 0 : result / gcd * size;
      if (result > INT64_MAX) return Wrong("the number is too large");
    }
    return PythonResult{Value(static_cast<int64_t>(result))};
  }
  if (numbers.size() != args.size() || args.empty() || args.size() > 2) {
    constexpr std::string_view kNames[] = {"ceil", "floor", "trunc", "sqrt", "isqrt",
                                           "log2", "log10", "log",   "exp",  "pow"};
    if (std::ranges::find(kNames, name) == std::end(kNames)) return std::nullopt;
    return Fail(std::string(name) + " takes numbers");
  }
  const double x = numbers[0];
  if (args.size() == 1 && (name == "ceil" || name == "floor" || name == "trunc")) {
    if (integers.size() == 1) return PythonResult{Value(integers[0])};
    return ToInteger(name == "ceil" ? std::ceil(x) : name == "floor" ? std::floor(x) : std::trunc(x));
  }
  if (name == "pow" && args.size() == 2) return PythonResult{Value(std::pow(x, numbers[1]))};
  const bool root = name == "sqrt" || name == "isqrt";
  const bool logarithm = name == "log2" || name == "log10" || name == "log";
  if ((root && x < 0) || (logarithm && !(x > 0))) return Wrong(std::string(name) + " of a number that has none");
  if (name == "log" && args.size() == 2) return PythonResult{Value(std::log(x) / std::log(numbers[1]))};
  if (args.size() != 1) return std::nullopt;
  if (name == "isqrt") return ToInteger(std::floor(std::sqrt(x)));
  if (name == "sqrt") return PythonResult{Value(std::sqrt(x))};
  if (name == "log2") return PythonResult{Value(std::log2(x))};
  if (name == "log10") return PythonResult{Value(std::log10(x))};
  if (name == "log") return PythonResult{Value(std::log(x))};
  if (name == "exp") return PythonResult{Value(std::exp(x))};
  return std::nullopt;
}

PythonResult PythonBinary(std::string_view op, const Value& a, const Value& b) {
  if (IsComparison(op)) return Compare(op, a, b);
  const std::optional<int64_t> x = Integer(a), y = Integer(b);
  if (x && y) return OfIntegers(op, *x, *y);
  if (const auto left = Real(a), right = Real(b); left && right) return OfReals(op, *left, *right);
  const auto *left = a.As<Value::List>(), *right = b.As<Value::List>();
  if (op == "+" && left != nullptr && right != nullptr) {
    Value::List both = *left;
    both.insert(both.end(), right->begin(), right->end());
    if (both.size() > kMaxLength) return Wrong("the list is too long");
    return {Value(std::move(both))};
  }
  if (op == "*" && left != nullptr && y) return Repeated(*left, *y);
  if (op == "*" && right != nullptr && x) return Repeated(*right, *x);
  const auto *text = a.As<std::string>(), *more = b.As<std::string>();
  if (op == "+" && text != nullptr && more != nullptr) {
    if (text->size() + more->size() > kMaxLength) return Wrong("the text is too long");
    return {Value(*text + *more)};
  }
  return Fail("expected an integer", x ? 1 : 0);
}

bool PythonTruth(const Value& value) {
  if (const auto real = Real(value)) return *real != 0;
  if (const auto* text = value.As<std::string>()) return !text->empty();
  if (const auto* list = value.As<Value::List>()) return !list->empty();
  if (const auto* dict = value.As<Value::Dict>()) return !dict->empty();
  return !value.is_none();
}

PythonResult PythonSlice(const Value::List& list, const Value& begin, const Value& end, const Value& step) {
  for (const Value* bound : {&begin, &end, &step}) {
    if (!bound->is_none() && bound->As<int64_t>() == nullptr) return Fail("expected an integer");
  }
  const int64_t by = step.is_none() ? 1 : *step.As<int64_t>(), size = static_cast<int64_t>(list.size());
  if (by == 0) return Wrong("the step is 0");
  Value::List slice;
  if (by > 0) {
    const int64_t last = Bound(end, size, size, 0, size);
    for (__int128 i = Bound(begin, 0, size, 0, size); i < last; i += by) slice.push_back(list[static_cast<size_t>(i)]);
  } else {
    const int64_t last = Bound(end, -1, size, -1, size - 1);
    for (__int128 i = Bound(begin, size - 1, size, -1, size - 1); i > last; i += by) {
      slice.push_back(list[static_cast<size_t>(i)]);
    }
  }
  return {Value(std::move(slice))};
}

bool HasPythonSize(const Value& value) {
  size_t elements = 0;
  const std::function<bool(const Value&, int)> fits = [&](const Value& part, int depth) {
    if (const auto* text = part.As<std::string>()) return (elements += text->size()) <= kMaxLength;
    if (++elements > kMaxLength || depth > kMaxNesting) return false;
    if (const auto* list = part.As<Value::List>()) {
      return std::ranges::all_of(*list, [&](const Value& item) { return fits(item, depth + 1); });
    }
    if (const auto* dict = part.As<Value::Dict>()) {
      return std::ranges::all_of(*dict, [&](const auto& item) { return fits(item.second, depth + 1); });
    }
    return true;
  };
  return fits(value, 0);
}

std::optional<Value::List> PythonElements(const Value& value) {
  if (const auto* list = value.As<Value::List>()) return *list;
  Value::List elements;
  const auto* text = value.As<std::string>();
  if (text == nullptr) return std::nullopt;
  for (const char c : *text) elements.push_back(Value(std::string(1, c)));
  return elements;
}

std::optional<std::string> PythonText(const Value& value) {
  if (const auto* text = value.As<std::string>()) return *text;
  if (const auto* truth = value.As<bool>()) return *truth ? "True" : "False";
  if (const auto integer = Integer(value)) return std::to_string(*integer);
  return std::nullopt;
}

std::optional<PythonResult> PythonBuiltin(std::string_view name, const std::vector<Value>& args) {
  constexpr std::string_view kOfLists[] = {"len", "enumerate", "reversed", "list", "tuple", "min", "max", "sum"};
  if (name == "range") return RangeOf(args);
  if (name == "zip") {
    std::vector<Value::List> lists;
    for (const Value& arg : args) {
      auto list = PythonElements(arg);
      if (!list) return Fail("zip takes lists");
      lists.push_back(std::move(*list));
    }
    return Zip(lists);
  }
  if ((name == "min" || name == "max") && args.size() > 1) return LeastOrMost(name == "min", args);
  if (std::ranges::find(kOfLists, name) != std::end(kOfLists)) {
    std::optional<Value::List> list = args.size() == 1 ? PythonElements(args[0]) : std::nullopt;
    if (!list) return Fail(std::string(name) + " takes one list");
    return OfList(name, std::move(*list));
  }
  if (name == "any" || name == "all" || name == "sorted") return OfElements(name, args);
  if (name == "abs" || name == "round" || name == "float" || name == "bool" || name == "pow")
    return OfNumbers(name, args);
  if (name == "int" && args.size() == 1) {
    if (const auto* real = args[0].As<double>()) return ToInteger(std::trunc(*real));
  }
  if (name == "str" || name == "int") {
    const auto text = args.size() == 1 ? PythonText(args[0]) : std::nullopt;
    const auto number = args.size() == 1 ? Integer(args[0]) : std::nullopt;
    if (name == "str" ? !text : !number) return Fail(std::string(name) + " takes one number");
    return name == "str" ? PythonResult{Value(*text)} : PythonResult{Value(*number)};
  }
  return std::nullopt;
}

}  // namespace tilewright

#include "schedule/script/python_values.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tilewright {
namespace {

constexpr size_t kMaxLength = 1 << 16;
constexpr int kMaxNesting = 50;

PythonResult Fail(std::string error, int operand = -1) { return {std::nullopt, std::move(error), operand}; }

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

PythonResult OfIntegers(std::string_view op, int64_t left, int64_t right) {
  const __int128 a = left, b = right;
  if ((op == "//" || op == "%") && b == 0) return Fail("division by zero", 1);
  const __int128 floor = b == 0 ? 0 : a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  __int128 result = 0;
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
    return Fail("this operator is no part of a schedule");
  }
  if (result > INT64_MAX || result < INT64_MIN) return Fail("the number is too large");
  return {Value(static_cast<int64_t>(result))};
}

PythonResult Repeated(const Value::List& list, int64_t times) {
  const size_t count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (!list.empty() && count > kMaxLength / list.size()) return Fail("the list is too long");
  Value::List repeated;
  for (size_t i = 0; i < count; ++i) repeated.insert(repeated.end(), list.begin(), list.end());
  return {Value(std::move(repeated))};
}

bool IsComparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
}

PythonResult Compare(std::string_view op, const Value& a, const Value& b) {
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
  if (step == 0) return Fail("the step is 0");
  Value::List list;
  for (__int128 i = begin; step > 0 ? i < end : i > end; i += step) {
    if (list.size() == kMaxLength) return Fail("the range is too long");
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
  if (values.empty()) return Fail("there are no values");
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

}  // namespace

PythonResult PythonBinary(std::string_view op, const Value& a, const Value& b) {
  if (IsComparison(op)) return Compare(op, a, b);
  const std::optional<int64_t> x = Integer(a), y = Integer(b);
  if (x && y) return OfIntegers(op, *x, *y);
  const auto *left = a.As<Value::List>(), *right = b.As<Value::List>();
  if (op == "+" && left != nullptr && right != nullptr) {
    Value::List both = *left;
    both.insert(both.end(), right->begin(), right->end());
    if (both.size() > kMaxLength) return Fail("the list is too long");
    return {Value(std::move(both))};
  }
  if (op == "*" && left != nullptr && y) return Repeated(*left, *y);
  if (op == "*" && right != nullptr && x) return Repeated(*right, *x);
  const auto *text = a.As<std::string>(), *more = b.As<std::string>();
  if (op == "+" && text != nullptr && more != nullptr) {
    if (text->size() + more->size() > kMaxLength) return Fail("the text is too long");
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
  if (by == 0) return Fail("the step is 0");
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
  if (name == "str" || name == "int") {
    const auto text = args.size() == 1 ? PythonText(args[0]) : std::nullopt;
    const auto number = args.size() == 1 ? Integer(args[0]) : std::nullopt;
    if (name == "str" ? !text : !number) return Fail(std::string(name) + " takes one number");
    return name == "str" ? PythonResult{Value(*text)} : PythonResult{Value(*number)};
  }
  return std::nullopt;
}

}  // namespace tilewright

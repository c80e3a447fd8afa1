// Python's operators and built-in functions on the values of schedule text.
//
//   64 // 16, [None] + [2] * 2, "B" + str(1), n < 2, loops[1:], len(loops), enumerate(loops)
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/core/value.h"

namespace tilewright {

// What Python gives, or why there is none.
struct PythonResult {
  std::optional<Value> value;
  std::string error;
  int operand = -1;    // the one that the error is about; -1: the operation
  bool wrong = false;  // Python stops there, too; otherwise it may know what is not known here
};

// "+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", a comparison, "in"; lists and texts too, where Python
// has them.
PythonResult PythonBinary(std::string_view op, const Value& a, const Value& b);

// False, None, 0, "" and what is empty are false.
bool PythonTruth(const Value& value);

// list[begin:end:step]; each may be None.
PythonResult PythonSlice(const Value::List& list, const Value& begin, const Value& end, const Value& step);

// Whether the value, with all that it holds, is of a size that schedules have: loops may double it again and again.
bool HasPythonSize(const Value& value);

// What a `for` runs over: the elements of a list, the letters of a text.
std::optional<Value::List> PythonElements(const Value& value);

// As str() and f"{...}" write it; nothing for what is not a number or text.
std::optional<std::string> PythonText(const Value& value);

// Functions and constants of Python's module math on numbers; nothing for other names.
std::optional<PythonResult> PythonMath(std::string_view name, const std::vector<Value>& args);
std::optional<Value> PythonMathConstant(std::string_view name);

// range, len, enumerate, zip, reversed, list, tuple, min, max, sum, int and str; nothing for other names.
std::optional<PythonResult> PythonBuiltin(std::string_view name, const std::vector<Value>& args);

}  // namespace tilewright

// Comparing what a primitive gave with programs and refusals written as text.
#pragma once

#include <string>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright::testing {

// Fails the test, showing the first difference and the program, when `actual` is not equal to the program in `text`.
void ExpectProgram(const Function& actual, std::string_view text);

// The lines of a text with the indentation of its first line taken off, empty lines at both ends left out.
std::string WithoutIndent(std::string_view text);
// Fails the test, showing the program, when its text does not contain the lines of `part`, at any indentation.
void ExpectContains(const Function& actual, std::string_view part);

// The sentence of the refusal with its objects named: "{block0} is the root block" with the block's name, loops by
// their variables, expressions printed. `function` is the one the primitive was given.
std::string ReasonText(const Refusal& refusal, const Function& function);

// The reason of an outcome, or "accepted".
template <class T>
std::string ReasonOf(const Outcome<T>& outcome, const Function& function) {
  return outcome.ok() ? "accepted" : ReasonText(outcome.refusal(), function);
}

}  // namespace tilewright::testing

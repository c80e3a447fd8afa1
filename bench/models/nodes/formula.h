// Integers as functions of a position, as the table of cases writes them: "i%63<31", "(i*7+3)%20".
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tilewright::bench {

// Integers, `i`, parentheses, * / % (of numbers that are not negative; a division by zero is an error), + - and <.
absl::StatusOr<int64_t> EvaluateFormula(absl::string_view formula, int64_t i);

}  // namespace tilewright::bench

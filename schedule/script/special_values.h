// Values of schedule text that no primitive takes.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/core/value.h"

namespace tilewright {

enum class Special : uint8_t {
  kSchedule,  // sch itself
  kOther,     // a value that other Python computes; its number is the offset of the statement
  kFunction,  // of the text, by its number
  kClass,     // of the text, by its number
  kInstance,  // of a class of the text, by its number
};
Value MakeSpecial(Special kind, int64_t number = 0);
// The number of a value of that kind; nothing for other values.
std::optional<int64_t> SpecialNumber(const Value& value, Special kind);

}  // namespace tilewright

#include "schedule/script/special_values.h"

#include <string>

namespace tilewright {
namespace {

// A dictionary with a key that no text can give.
std::string KeyOf(Special kind) {
  return std::string("\0special ", 9) + static_cast<char>('0' + static_cast<int>(kind));
}

}  // namespace

Value MakeSpecial(Special kind, int64_t number) { return Value(Value::Dict{{KeyOf(kind), Value(number)}}); }

std::optional<int64_t> SpecialNumber(const Value& value, Special kind) {
  const auto* dict = value.As<Value::Dict>();
  if (dict == nullptr) return std::nullopt;
  const auto found = dict->find(KeyOf(kind));
  return found == dict->end() ? std::nullopt : std::optional<int64_t>(*found->second.As<int64_t>());
}

}  // namespace tilewright

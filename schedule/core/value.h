// Values in schedules: the arguments, results and decisions of primitives.
//
//   l6, l7 = sch.split(loop=l1, factors=[None, 16])
//
// is a call with the values Rv{1} and [None, 16] whose results are the random variables Rv{6} and Rv{7}. A random
// variable stands for a loop, a block or an integer; in a recorded call it stays a name, and when the call is applied
// it is replaced by what it stands for in that schedule (LoopRef, BlockRef, int64_t).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// A random variable, by its number in the schedule. -1: none.
struct Rv {
  int index = -1;
};

struct Value {
  using List = std::vector<Value>;
  using Dict = std::map<std::string, Value>;
  std::variant<std::monostate, bool, int64_t, double, std::string, Rv, LoopRef, BlockRef, IndexMap, List, Dict> data;

  Value() = default;  // None
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, Value>)
  Value(T&& value) : data(Convert(std::forward<T>(value))) {}

  // The value as a T, or null when it is something else.
  template <class T>
  const T* As() const {
    return std::get_if<T>(&data);
  }
  bool is_none() const { return data.index() == 0; }

 private:
  template <class T>
  static decltype(auto) Convert(T&& value) {
    using Plain = std::decay_t<T>;
    if constexpr (std::is_same_v<Plain, int>) {
      return static_cast<int64_t>(value);
    } else if constexpr (std::is_convertible_v<T, const char*>) {
      return std::string(value);
    } else if constexpr (std::is_base_of_v<Rv, Plain>) {
      return Rv{value.index};  // typed random variables too
    } else {
      return std::forward<T>(value);
    }
  }
};

// Structural; index maps by what they map. References by function and id.
bool SameValue(const Value& a, const Value& b);

}  // namespace tilewright

// What the property tests of this folder share: evaluation of index expressions on concrete values, and random choices
// that a seed replays.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace tilewright::arith {

using Assignment = std::vector<std::pair<Var, int64_t>>;

// The value of an integer or boolean expression. Nothing when the program would be in error: a division by zero, or an
// overflow of a signed type of up to 32 bits. Unsigned ones wrap.
std::optional<int64_t> Evaluate(const Expr& e, const Assignment& values);

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // In [lo, hi].
  int64_t Int(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(engine_() % static_cast<uint64_t>(hi - lo + 1));
  }
  bool OneIn(int64_t n) { return Int(1, n) == 1; }
  template <class T>
  const T& Pick(const std::vector<T>& list) {
    return list[Int(0, static_cast<int64_t>(list.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

// An integer from the environment, or the default.
int64_t FromEnvironment(const char* name, int64_t value);

}  // namespace tilewright::arith

// What an expression loads whatever its conditions are. Lanes that a condition leaves out may load it too, so places
// that conditions guard need no masks where the same is loaded without them:
//
//   T.Select(0 <= P[i] and P[i] < 8, A[P[i]], T.float32(0)) * P[i]          P[i], at each of its places
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/expr.h"

namespace tilewright {

class CertainLoads {
 public:
  CertainLoads() = default;
  explicit CertainLoads(const Expr& e) { Add(e); }

  // Whether the expression loads that element too, outside of what it evaluates by conditions.
  bool contains(const Expr& load) const;

 private:
  void Add(const Expr& e);

  std::unordered_multimap<uint64_t, Expr> loads_;  // by hash
};

}  // namespace tilewright

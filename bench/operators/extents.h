// The extents of an operator's program: constants, or variables that the shapes of the arguments give.
//
//   const Extents extents{.symbolic = {"M"}, .wide = true};
//   ExtentExprs extent(extents);
//   Expr m = extent("M", 512), k = extent("K", 256);     // the variable M, and the constant 256
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "autoschedule/program/sizes.h"
#include "bench/operators/problem.h"
#include "ir/expr.h"

namespace tilewright::bench {

struct Extents {
  // Numbers of an operator's signature, such as "M", that are variables of these names.
  std::vector<std::string> symbolic = {};
  // Loops and indices have 64 bits, as those of programs that models are imported as.
  bool wide = false;
};

// Refuses names that are not an extent of a program of any of the workloads, such as the stride of a convolution.
absl::Status CheckSymbolic(const std::vector<std::string>& names, const std::vector<Workload>& workloads);

// The numbers of the shape that are symbolic, by their names. Empty where the operator has none of them.
std::map<std::string, int64_t> SymbolicSizes(const Shape& shape, const Extents& extents);

// The sizes of all workloads that have the same program as this one when the numbers are symbolic, in the form in which
// they are named to the tuner.
SizesByName SizesOfSameProgram(const Workload& workload, const std::vector<Workload>& all, const Extents& extents);

// Expressions of a shape's numbers; a name has one variable.
class ExtentExprs {
 public:
  explicit ExtentExprs(const Extents& extents) : extents_(extents) {}
  Expr operator()(const std::string& name, int64_t value);

 private:
  const Extents& extents_;
  std::map<std::string, Var> variables_;
};

}  // namespace tilewright::bench

// The values that a computation of floats may have where its operands lie between two numbers each, those at the ends
// of functions among them: the logarithm of 0 to 19 lies between minus infinity and 2.95, the root of -1 to 4 may be
// NaN.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/data_type.h"
#include "ir/expr.h"

namespace tilewright {

struct RealInterval {
  double min, max;  // no number at all where min > max
  bool may_be_nan = false;
  bool is_whole = false;  // the numbers are integers, so that 0 is one of them where it lies between them

  static RealInterval Point(double value);
  bool IsEmpty() const { return min > max; }
};

RealInterval Union(const RealInterval& a, const RealInterval& b);
// Infinite or NaN where the numbers are too large for the type.
RealInterval AsOfType(DataType type, RealInterval interval);
// Nothing where the ends of the operands do not say what lies between them, as of a sine.
std::optional<RealInterval> RealOfBinary(BinaryOp op, const RealInterval& a, const RealInterval& b);
std::optional<RealInterval> RealOfCall(std::string_view name, const std::vector<RealInterval>& args);

}  // namespace tilewright

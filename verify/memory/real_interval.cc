#include "verify/memory/real_interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ir/float_format.h"
#include "ir/interp/math_functions.h"

namespace tilewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr RealInterval kNoNumber = {.min = kInfinity, .max = -kInfinity, .may_be_nan = true};

void Include(double value, RealInterval* interval) {
  if (std::isnan(value)) {
    interval->may_be_nan = true;
    return;
  }
  interval->min = std::min(interval->min, value);
  interval->max = std::max(interval->max, value);
}

struct Argument {
  double value;
  bool is_certain;  // one of the values, not only between them
};

// The ends, and 0 between them: functions here turn, and have poles, nowhere else.
std::vector<Argument> Arguments(const RealInterval& interval) {
  std::vector<Argument> arguments = {{interval.min, true}, {interval.max, true}};
  if (interval.min < 0 && interval.max > 0) arguments.push_back({0, interval.is_whole});
  return arguments;
}

std::optional<RealInterval> OfArguments(interp::Math2Function function, const RealInterval& a, const RealInterval& b) {
  RealInterval result = {kInfinity, -kInfinity, a.may_be_nan || b.may_be_nan};
  if (a.IsEmpty() || b.IsEmpty()) return kNoNumber;
  for (const Argument& x : Arguments(a)) {
    for (const Argument& y : Arguments(b)) {
      const double value = function(x.value, y.value);
      if (!std::isfinite(value) && !(x.is_certain && y.is_certain)) return std::nullopt;
      Include(value, &result);
    }
  }
  return result;
}

// Only whether there is a remainder is known of it.
std::optional<RealInterval> OfRemainder(const RealInterval& a, const RealInterval& b) {
  const auto remainder = OfArguments(interp::FindMath2("fmod"), a, b);
  return remainder && remainder->may_be_nan ? remainder : std::nullopt;
}

// min(a, b) is b where one of them is NaN.
RealInterval OfChoice(const RealInterval& a, const RealInterval& b, double (*choose)(double, double)) {
  if (a.IsEmpty() || b.IsEmpty()) return b;
  RealInterval chosen = {choose(a.min, b.min), choose(a.max, b.max), b.may_be_nan, a.is_whole && b.is_whole};
  return a.may_be_nan ? Union(chosen, b) : chosen;
}

}  // namespace

RealInterval RealInterval::Point(double value) {
  if (std::isnan(value)) return kNoNumber;
  return {value, value, false, std::floor(value) == value};
}

RealInterval Union(const RealInterval& a, const RealInterval& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max), a.may_be_nan || b.may_be_nan, a.is_whole && b.is_whole};
}

RealInterval AsOfType(DataType type, RealInterval interval) {
  if (interval.IsEmpty()) return interval;
  for (double* end : {&interval.min, &interval.max}) {
    const double rounded = RoundTo(type, *end);
    interval.may_be_nan |= std::isnan(rounded);
    if (std::isinf(rounded)) *end = rounded;
  }
  return interval;
}

std::optional<RealInterval> RealOfBinary(BinaryOp op, const RealInterval& a, const RealInterval& b) {
  const auto whole = [&](std::optional<RealInterval> result) {
    if (result) result->is_whole = a.is_whole && b.is_whole;
    return result;
  };
  switch (op) {
    case BinaryOp::kAdd:
      return whole(OfArguments([](double x, double y) { return x + y; }, a, b));
    case BinaryOp::kSub:
      return whole(OfArguments([](double x, double y) { return x - y; }, a, b));
    case BinaryOp::kMul:
      return whole(OfArguments([](double x, double y) { return x * y; }, a, b));
    case BinaryOp::kDiv:
      return OfArguments([](double x, double y) { return x / y; }, a, b);
    case BinaryOp::kFloorDiv:
      return OfArguments([](double x, double y) { return std::floor(x / y); }, a, b);
    case BinaryOp::kMod:
    case BinaryOp::kFloorMod:
      return OfRemainder(a, b);
    case BinaryOp::kMin:
      return OfChoice(a, b, [](double x, double y) { return std::min(x, y); });
    case BinaryOp::kMax:
      return OfChoice(a, b, [](double x, double y) { return std::max(x, y); });
    default:
      return std::nullopt;
  }
}

std::optional<RealInterval> RealOfCall(std::string_view name, const std::vector<RealInterval>& args) {
  // Finite for all finite operands, and not the most or the least at the ends.
  static constexpr std::array<std::string_view, 4> kTurning = {"sin", "cos", "tan", "atan2"};
  static constexpr std::array<std::string_view, 6> kRounding = {"floor", "ceil",      "trunc",
                                                                "round", "nearbyint", "round_away"};
  if (std::ranges::find(kTurning, name) != kTurning.end()) return std::nullopt;
  if (args.size() == 2) {
    if (name == "fmod") return OfRemainder(args[0], args[1]);
    const interp::Math2Function function = interp::FindMath2(name);
    return function == nullptr ? std::nullopt : OfArguments(function, args[0], args[1]);
  }
  const interp::Math1Function function = args.size() == 1 ? interp::FindMath1(name) : nullptr;
  if (function == nullptr) return std::nullopt;
  if (args[0].IsEmpty()) return kNoNumber;
  RealInterval result = {kInfinity, -kInfinity, args[0].may_be_nan,
                         std::ranges::find(kRounding, name) != kRounding.end()};
  for (const Argument& x : Arguments(args[0])) {
    const double value = function(x.value);
    if (!std::isfinite(value) && !x.is_certain) return std::nullopt;
    Include(value, &result);
  }
  return result;
}

}  // namespace tilewright

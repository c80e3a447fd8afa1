#include "ir/interp/math_functions.h"

#include <cmath>

namespace tilewright::interp {
namespace {

struct NamedMath1 {
  std::string_view name;
  Math1Function function;
};
constexpr NamedMath1 kMath1[] = {
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"exp10", [](double x) { return std::pow(10.0, x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"acosh", [](double x) { return std::acosh(x); }},
    {"atanh", [](double x) { return std::atanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"sigmoid", [](double x) { return (x < 0 ? std::exp(x) : 1) / (1 + std::exp(-std::fabs(x))); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"nearbyint", [](double x) { return std::nearbyint(x); }},
    {"round_away", [](double x) { return std::round(x); }},
    {"abs", [](double x) { return std::fabs(x); }},
};

struct NamedMath2 {
  std::string_view name;
  Math2Function function;
};
constexpr NamedMath2 kMath2[] = {
    {"pow", [](double x, double y) { return std::pow(x, y); }},
    {"atan2", [](double x, double y) { return std::atan2(x, y); }},
    {"hypot", [](double x, double y) { return std::hypot(x, y); }},
    {"fmod", [](double x, double y) { return std::fmod(x, y); }},
    {"copysign", [](double x, double y) { return std::copysign(x, y); }},
};

}  // namespace

Math1Function FindMath1(std::string_view name) {
  for (const NamedMath1& math : kMath1) {
    if (math.name == name) return math.function;
  }
  return nullptr;
}

Math2Function FindMath2(std::string_view name) {
  for (const NamedMath2& math : kMath2) {
    if (math.name == name) return math.function;
  }
  return nullptr;
}

}  // namespace tilewright::interp

#include "ir/builtin.h"

#include <unordered_map>

namespace tilewright {
namespace {

constexpr auto kPure = CallEffect::kPure;
constexpr auto kRead = CallEffect::kRead;
constexpr auto kOpaque = CallEffect::kOpaque;

constexpr Builtin kBuiltins[] = {
    // Floating-point functions of one argument.
    {"exp", 1, 1, kPure},
    {"exp2", 1, 1, kPure},
    {"exp10", 1, 1, kPure},
    {"log", 1, 1, kPure},
    {"log2", 1, 1, kPure},
    {"log10", 1, 1, kPure},
    {"log1p", 1, 1, kPure},
    {"sqrt", 1, 1, kPure},
    {"rsqrt", 1, 1, kPure},
    {"sin", 1, 1, kPure},
    {"cos", 1, 1, kPure},
    {"tan", 1, 1, kPure},
    {"asin", 1, 1, kPure},
    {"acos", 1, 1, kPure},
    {"atan", 1, 1, kPure},
    {"sinh", 1, 1, kPure},
    {"cosh", 1, 1, kPure},
    {"tanh", 1, 1, kPure},
    {"asinh", 1, 1, kPure},
    {"acosh", 1, 1, kPure},
    {"atanh", 1, 1, kPure},
    {"erf", 1, 1, kPure},
    {"sigmoid", 1, 1, kPure},
    {"floor", 1, 1, kPure},
    {"ceil", 1, 1, kPure},
    {"trunc", 1, 1, kPure},
    {"round", 1, 1, kPure},       // halves to even
    {"nearbyint", 1, 1, kPure},   // another name of round
    {"round_away", 1, 1, kPure},  // halves away from zero
    {"isnan", 1, 1, kPure},
    {"isinf", 1, 1, kPure},
    {"isfinite", 1, 1, kPure},
    // Numbers of either sort.
    {"abs", 1, 1, kPure},
    {"pow", 2, 2, kPure},
    {"atan2", 2, 2, kPure},
    {"hypot", 2, 2, kPure},
    {"fmod", 2, 2, kPure},
    {"copysign", 2, 2, kPure},
    {"nextafter", 2, 2, kPure},
    {"ldexp", 2, 2, kPure},  // x * 2^n, n of an integer type
    {"fma", 3, 3, kPure},    // a * b + c, rounded once
    {kDotAdd, 3, 3, kPure},
    {"q_multiply_shift", 4, 4, kPure},  // ir/expand_call.h
    {"q_multiply_shift_per_axis", 7, 7, kPure},
    {"shift_left", 2, 2, kPure},
    {"shift_right", 2, 2, kPure},
    {"bitwise_and", 2, 2, kPure},
    {"bitwise_or", 2, 2, kPure},
    {"bitwise_xor", 2, 2, kPure},
    {"bitwise_not", 1, 1, kPure},
    {kFlipSignBit, 1, 1, kPure},
    {kLookup, 2, 2, kPure},
    {"popcount", 1, 1, kPure},
    {"clz", 1, 1, kPure},
    {"reinterpret", 1, 1, kPure},  // the same bits as another type of the same width
    {"if_then_else", 3, 3, kPure},
    {"likely", 1, 1, kPure},                 // its argument, expected to be true
    {"tvm_thread_invariant", 1, 1, kPure},   // its argument, the same for all threads
    {"ignore_loop_partition", 1, 1, kPure},  // its argument, for which no loop is partitioned
    {"assume", 1, 1, kPure},                 // a statement without effect: callers keep its condition
    {"type_annotation", 0, 0, kPure},
    {"address_of", 1, 1, kPure},
    {"tvm_access_ptr", 5, 5, kPure},
    {"infinity", 0, 0, kPure},
    {"call_pure_extern", 1, -1, kPure},
    {"call_llvm_pure_intrin", 1, -1, kPure},
    {"vectorlow", 1, 1, kPure},
    {"vectorhigh", 1, 1, kPure},
    {"vectorcombine", 2, 2, kPure},
    {"call_llvm_intrin", 1, -1, kOpaque},
    {"amx_dot_add", 12, 12, kOpaque},  // intrin/amx_tile.h
    {"amx_zero", 6, 6, kOpaque},
    {"call_extern", 1, -1, kOpaque},
    {"prefetch", 1, -1, kRead},
};

}  // namespace

const Builtin* FindBuiltin(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new std::unordered_map<std::string_view, const Builtin*>;
    for (const Builtin& builtin : kBuiltins) map->emplace(builtin.name, &builtin);
    return map;
  }();
  auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

CallEffect EffectOf(std::string_view name) {
  const Builtin* builtin = FindBuiltin(name);
  return builtin == nullptr ? CallEffect::kOpaque : builtin->effect;
}

}  // namespace tilewright

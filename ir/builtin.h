// Builtin functions that call nodes may name, one line each in ir/builtin.cc: what the script prints, how many
// arguments they take and what they do to the world. A call of any other name is opaque.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright {

enum class CallEffect {
  kPure,    // the value depends on the arguments only
  kRead,    // reads memory through its pointer arguments
  kOpaque,  // may do anything to the memory its pointer arguments reach
};

struct Builtin {
  std::string_view name;
  int min_args, max_args;  // max_args -1: any number
  CallEffect effect;
};

// Null when `name` is not a builtin.
const Builtin* FindBuiltin(std::string_view name);
CallEffect EffectOf(std::string_view name);

// Names that passes look for.
inline constexpr std::string_view kIfThenElse = "if_then_else";  // (condition, a, b): evaluates one of them
inline constexpr std::string_view kCallExtern = "call_extern";   // ("function name", arguments...)
inline constexpr std::string_view kCallPureExtern = "call_pure_extern";
inline constexpr std::string_view kAccessPtr = "tvm_access_ptr";  // (type_annotation, data, offset, extent, mask)
inline constexpr std::string_view kAddressOf = "address_of";      // (load): a pointer to the element
inline constexpr std::string_view kPrefetch = "prefetch";         // (pointer): its line will be read soon
// (c, a, b): lane i is c[i] + a[V * i] * b[V * i] + ... + a[V * i + V - 1] * b[V * i + V - 1], computed in the type of
// c, in this order; V is how many times as many lanes a and b have as c. What vdpbf16ps, vpdpbusd and sdot do.
inline constexpr std::string_view kDotAdd = "dot_add";
// (a): an integer with its highest bit flipped, of the same type. Signed bytes become unsigned ones that are 128 more,
// once they are reinterpreted: what instructions that multiply unsigned by signed bytes need.
inline constexpr std::string_view kFlipSignBit = "flip_sign_bit";
// (table, i): lane j is table[i[j] mod n], n the lanes of the table, a power of two; the low bits of i are what counts.
inline constexpr std::string_view kLookup = "lookup";
inline constexpr std::string_view kTypeAnnotation = "type_annotation";  // (): only its type matters

// What kFlipSignBit makes of a number of an integer type.
constexpr int64_t WithSignBitFlipped(int64_t value, int bits, bool is_signed) {
  return value ^ ((is_signed ? ~int64_t{0} : int64_t{1}) << (bits - 1));
}

// Bits of the last argument of tvm_access_ptr.
inline constexpr int kAccessRead = 1;
inline constexpr int kAccessWrite = 2;

}  // namespace tilewright

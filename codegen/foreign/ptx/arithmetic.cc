// Instructions on registers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/device/emulated_types.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/ptx/instruction.h"

namespace tilewright::foreign::ptx {
namespace {

using Kind = Type::Kind;

enum Operation {
  kAdd,
  kSub,
  kMul,
  kMulHigh,
  kMulWide,
  kDiv,
  kRem,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShr,
  kNeg,
  kAbs,
  kNot,
  kMad,
  kMadHigh,
  kMadWide,
  kFma,
  kEx2,
  kLg2,
  kRcp,
  kRsqrt,
  kSqrt,
  kSin,
  kCos,
  kTanh,
  kPopc,
  kClz,
  kBrev,
};

uint64_t Masked(uint64_t value, int bits) { return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1); }
int64_t Extended(uint64_t value, int bits) {
  return bits >= 64 ? static_cast<int64_t>(value) : static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

double OnFloats(int operation, double a, double b, double c) {
  switch (operation) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kMul:
      return a * b;
    case kDiv:
      return a / b;
    case kMin:
      return std::fmin(a, b);
    case kMax:
      return std::fmax(a, b);
    case kNeg:
      return -a;
    case kAbs:
      return std::fabs(a);
    case kFma:
    case kMad:
      return std::fma(a, b, c);
    case kEx2:
      return std::exp2(a);
    case kLg2:
      return std::log2(a);
    case kRcp:
      return 1 / a;
    case kRsqrt:
      return 1 / std::sqrt(a);
    case kSqrt:
      return std::sqrt(a);
    case kSin:
      return std::sin(a);
    case kCos:
      return std::cos(a);
    case kTanh:
      return std::tanh(a);
    default:
      return 0;
  }
}

// A number of 16 bits in the low bits.
double FromHalf(Kind kind, uint64_t bits) {
  const auto half = static_cast<uint16_t>(bits);
  return kind == Kind::kBf16 ? tw::emu::FromBf16(half) : tw::emu::FromF16(half);
}
uint64_t ToHalf(Kind kind, double value) {
  const auto narrow = static_cast<float>(value);
  return kind == Kind::kBf16 ? tw::emu::ToBf16(narrow) : tw::emu::ToF16(narrow);
}

double ToDouble(const Type& type, uint64_t bits) {
  if (type.kind == Kind::kFloat) return type.bits == 64 ? FromBits<double>(bits) : FromBits<float>(bits);
  if (type.is_float()) return FromHalf(type.kind, bits);
  return type.is_signed() ? static_cast<double>(Extended(bits, type.bits))
                          : static_cast<double>(Masked(bits, type.bits));
}

uint64_t OfFloats(const Type& type, int operation, uint64_t a, uint64_t b, uint64_t c) {
  if (type.kind == Kind::kFloat && type.bits == 64) {
    return ToBits(OnFloats(operation, FromBits<double>(a), FromBits<double>(b), FromBits<double>(c)));
  }
  if (type.kind == Kind::kFloat) {
    const float x = FromBits<float>(a), y = FromBits<float>(b), z = FromBits<float>(c);
    // A product of two floats is exact in a double, a sum of that and a float rounds twice.
    if (operation == kFma || operation == kMad) return ToBits(std::fma(x, y, z));
    return ToBits(static_cast<float>(OnFloats(operation, x, y, z)));
  }
  uint64_t result = 0;
  for (int half = 0; half < (type.pair ? 2 : 1); ++half) {
    const auto part = [&](uint64_t bits) { return FromHalf(type.kind, bits >> (16 * half)); };
    result |= ToHalf(type.kind, OnFloats(operation, part(a), part(b), part(c))) << (16 * half);
  }
  return result;
}

uint64_t Quotient(const Type& type, int operation, uint64_t a, uint64_t b) {
  const bool is_zero = Masked(b, type.bits) == 0;
  if (is_zero) {
    emulator::ReportHere(emulator::FaultKind::kTrap, "division",
                         "a division of integers by zero, whose result is undefined");
    return 0;
  }
  if (!type.is_signed()) {
    const uint64_t x = Masked(a, type.bits), y = Masked(b, type.bits);
    return operation == kDiv ? x / y : x % y;
  }
  const int64_t x = Extended(a, type.bits), y = Extended(b, type.bits);
  if (y == -1) return operation == kDiv ? 0 - static_cast<uint64_t>(x) : 0;
  return static_cast<uint64_t>(operation == kDiv ? x / y : x % y);
}

uint64_t HighPart(const Type& type, uint64_t a, uint64_t b) {
  if (type.is_signed()) {
    const __int128 product = static_cast<__int128>(Extended(a, type.bits)) * Extended(b, type.bits);
    return static_cast<uint64_t>(product >> type.bits);
  }
  const unsigned __int128 product = static_cast<unsigned __int128>(Masked(a, type.bits)) * Masked(b, type.bits);
  return static_cast<uint64_t>(product >> type.bits);
}

uint64_t WideProduct(const Type& type, uint64_t a, uint64_t b) {
  if (type.is_signed()) return static_cast<uint64_t>(Extended(a, type.bits) * Extended(b, type.bits));
  return Masked(a, type.bits) * Masked(b, type.bits);
}

uint64_t Shifted(const Type& type, int operation, uint64_t a, uint64_t b) {
  const uint64_t count = std::min<uint64_t>(Masked(b, 32), static_cast<uint64_t>(type.bits));
  if (operation == kShl) return count >= 64 ? 0 : a << count;
  if (type.is_signed()) return static_cast<uint64_t>(Extended(a, type.bits) >> std::min<uint64_t>(count, 63));
  return count >= 64 ? 0 : Masked(a, type.bits) >> count;
}

uint64_t OfIntegers(const Type& type, int operation, uint64_t a, uint64_t b, uint64_t c) {
  const bool less =
      type.is_signed() ? Extended(a, type.bits) < Extended(b, type.bits) : Masked(a, type.bits) < Masked(b, type.bits);
  switch (operation) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kMul:
      return a * b;
    case kMulHigh:
      return HighPart(type, a, b);
    case kMulWide:
      return WideProduct(type, a, b);
    case kMad:
      return a * b + c;
    case kMadHigh:
      return HighPart(type, a, b) + c;
    case kMadWide:
      return WideProduct(type, a, b) + c;
    case kDiv:
    case kRem:
      return Quotient(type, operation, a, b);
    case kMin:
      return less ? a : b;
    case kMax:
      return less ? b : a;
    case kAnd:
      return a & b;
    case kOr:
      return a | b;
    case kXor:
      return a ^ b;
    case kNot:
      return type.kind == Kind::kPredicate ? a == 0 : ~a;
    case kNeg:
      return 0 - a;
    case kAbs:
      return Extended(a, type.bits) < 0 ? 0 - a : a;
    case kShl:
    case kShr:
      return Shifted(type, operation, a, b);
    case kPopc:
      return static_cast<uint64_t>(std::popcount(Masked(a, type.bits)));
    case kClz:
      return static_cast<uint64_t>(std::countl_zero(Masked(a, type.bits)) - (64 - type.bits));
    case kBrev: {
      uint64_t result = 0;
      for (int i = 0; i < type.bits; ++i) result |= (a >> i & 1) << (type.bits - 1 - i);
      return result;
    }
    default:
      return 0;
  }
}

template <int kOperation>
void Apply(const Instruction& instruction, Frame& frame) {
  const Type& type = instruction.type;
  uint64_t values[3] = {};
  for (size_t i = 1; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    values[i - 1] = frame.Read(operand, type);
    if (type.kind == Kind::kPredicate && operand.negated) values[i - 1] = values[i - 1] == 0;
  }
  const uint64_t result = type.is_float() ? OfFloats(type, kOperation, values[0], values[1], values[2])
                                          : OfIntegers(type, kOperation, values[0], values[1], values[2]);
  const bool wide = kOperation == kMulWide || kOperation == kMadWide;
  frame.Write(instruction.operands[0], wide ? Masked(result, type.bits * 2) : Masked(result, type.bits));
}

// ".lo", ".hi", ".wide" choose among three.
template <int kLow, int kHigh, int kWide>
void ApplyPart(const Instruction& instruction, Frame& frame) {
  if (instruction.Has("hi")) return Apply<kHigh>(instruction, frame);
  if (instruction.Has("wide")) return Apply<kWide>(instruction, frame);
  Apply<kLow>(instruction, frame);
}

void Move(const Instruction& instruction, Frame& frame) {
  const Operand& to = instruction.operands[0];
  const uint64_t value = frame.Read(instruction.operands[1], instruction.type);
  if (to.kind != Operand::Kind::kVector) return frame.Write(to, Masked(value, std::max(instruction.type.bits, 1)));
  const int bits = instruction.type.bits / static_cast<int>(to.parts.size());
  for (size_t i = 0; i < to.parts.size(); ++i) {
    frame.Write(to.parts[i], Masked(value >> (static_cast<int>(i) * bits), bits));
  }
}

bool Compare(const Instruction& instruction, const Type& type, uint64_t a, uint64_t b) {
  const auto compare = [&](auto x, auto y) {
    if (instruction.Has("eq") || instruction.Has("equ")) return x == y;
    if (instruction.Has("ne") || instruction.Has("neu")) return x != y;
    if (instruction.Has("lt") || instruction.Has("lo") || instruction.Has("ltu")) return x < y;
    if (instruction.Has("le") || instruction.Has("ls") || instruction.Has("leu")) return x <= y;
    if (instruction.Has("gt") || instruction.Has("hi") || instruction.Has("gtu")) return x > y;
    return x >= y;
  };
  if (type.is_float()) return compare(ToDouble(type, a), ToDouble(type, b));
  if (type.is_signed()) return compare(Extended(a, type.bits), Extended(b, type.bits));
  return compare(Masked(a, type.bits), Masked(b, type.bits));
}

void SetPredicate(const Instruction& instruction, Frame& frame) {
  const Type& type = instruction.type;
  bool result =
      Compare(instruction, type, frame.Read(instruction.operands[1], type), frame.Read(instruction.operands[2], type));
  if (instruction.operands.size() == 4) {
    const bool other = frame.Test(instruction.operands[3]);
    result = instruction.Has("and") ? result && other : instruction.Has("or") ? result || other : result != other;
  }
  const Operand& to = instruction.operands[0];
  if (to.kind != Operand::Kind::kPair) return frame.Write(to, result ? 1 : 0);
  frame.Write(to.parts[0], result ? 1 : 0);
  frame.Write(to.parts[1], result ? 0 : 1);
}

void Select(const Instruction& instruction, Frame& frame) {
  const bool first = frame.Test(instruction.operands[3]);
  frame.Write(instruction.operands[0], frame.Read(instruction.operands[first ? 1 : 2], instruction.type));
}

uint64_t Rounded(const Instruction& instruction, const Type& to, double value) {
  if (to.is_float()) {
    if (instruction.Has("relu")) value = std::fmax(value, 0);
    if (instruction.Has("sat")) value = std::fmin(std::fmax(value, 0), 1);
    if (instruction.Has("tf32")) return ToBits(tw::emu::RoundToTf32(static_cast<float>(value)));
    if (to.kind == Kind::kFloat) return to.bits == 64 ? ToBits(value) : ToBits(static_cast<float>(value));
    return ToHalf(to.kind, value);
  }
  if (instruction.Has("rni")) value = std::nearbyint(value);
  if (instruction.Has("rmi")) value = std::floor(value);
  if (instruction.Has("rpi")) value = std::ceil(value);
  value = std::isnan(value) ? 0 : std::trunc(value);
  const double most = std::ldexp(1.0, to.is_signed() ? to.bits - 1 : to.bits), least = to.is_signed() ? -most : 0;
  if (value >= most) return Masked(~uint64_t{0} >> (to.is_signed() ? 65 - to.bits : 64 - to.bits), to.bits);
  if (value <= least) return Masked(to.is_signed() ? uint64_t{1} << (to.bits - 1) : 0, to.bits);
  return to.is_signed() ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
}

void Convert(const Instruction& instruction, Frame& frame) {
  const Type &to = instruction.source_type, &from = instruction.type;
  const auto one = [&](size_t i) { return ToDouble(from, frame.Read(instruction.operands[i], from)); };
  if (to.pair) {
    Type half = to;
    half.pair = false;
    return frame.Write(instruction.operands[0],
                       Rounded(instruction, half, one(1)) << 16 | Rounded(instruction, half, one(2)));
  }
  if (!to.is_float() && !from.is_float()) {
    const uint64_t value = frame.Read(instruction.operands[1]);
    const uint64_t wide =
        from.is_signed() ? static_cast<uint64_t>(Extended(value, from.bits)) : Masked(value, from.bits);
    return frame.Write(instruction.operands[0], Masked(wide, to.bits));
  }
  frame.Write(instruction.operands[0], Masked(Rounded(instruction, to, one(1)), to.bits));
}

std::string CheckConvert(Instruction& instruction) {
  if (instruction.words.back() == "tf32" || instruction.Has("e4m3x2") || instruction.Has("e5m2x2")) {
    return "this conversion is not known";
  }
  if (instruction.type.kind == Kind::kNone || instruction.type.pair) return "this conversion is not known";
  return instruction.source_type.pair == (instruction.operands.size() == 3) ? "" : "this conversion is not known";
}

void Permute(const Instruction& instruction, Frame& frame) {
  const uint64_t bytes = uint64_t{frame.Read32(instruction.operands[2])} << 32 | frame.Read32(instruction.operands[1]);
  const uint32_t selector = frame.Read32(instruction.operands[3]);
  uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t choice = selector >> (4 * i) & 15;
    uint64_t byte = bytes >> ((choice & 7) * 8) & 255;
    if (choice & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  frame.Write(instruction.operands[0], result);
}

// Each bit by a table of three inputs.
void Logic(const Instruction& instruction, Frame& frame) {
  const uint32_t a = frame.Read32(instruction.operands[1]), b = frame.Read32(instruction.operands[2]),
                 c = frame.Read32(instruction.operands[3]), table = frame.Read32(instruction.operands[4]);
  uint32_t result = 0;
  for (int i = 0; i < 8; ++i) {
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  frame.Write(instruction.operands[0], result);
}

void ExtractField(const Instruction& instruction, Frame& frame) {
  const Type& type = instruction.type;
  const uint64_t value = Masked(frame.Read(instruction.operands[1]), type.bits);
  const uint32_t at = frame.Read32(instruction.operands[2]) & 255, width = frame.Read32(instruction.operands[3]) & 255;
  uint64_t field = at >= 64 ? 0 : value >> at;
  if (width < 64) field &= (uint64_t{1} << width) - 1;
  if (type.is_signed() && width > 0 && width < 64)
    field = static_cast<uint64_t>(Extended(field, static_cast<int>(width)));
  frame.Write(instruction.operands[0], Masked(field, type.bits));
}

std::string CheckType(Instruction& instruction) {
  return instruction.type.kind == Kind::kNone ? "the type is not known" : "";
}

}  // namespace

std::vector<Row> ArithmeticRows() {
  return {
      {"mov", &Move, 2, 2, &CheckType},
      {"cvt", &Convert, 2, 3, &CheckConvert},
      {"add", &Apply<kAdd>, 3, 3, &CheckType},
      {"sub", &Apply<kSub>, 3, 3, &CheckType},
      {"mul", &ApplyPart<kMul, kMulHigh, kMulWide>, 3, 3, &CheckType},
      {"mad", &ApplyPart<kMad, kMadHigh, kMadWide>, 4, 4, &CheckType},
      {"fma", &Apply<kFma>, 4, 4, &CheckType},
      {"div", &Apply<kDiv>, 3, 3, &CheckType},
      {"rem", &Apply<kRem>, 3, 3, &CheckType},
      {"min", &Apply<kMin>, 3, 3, &CheckType},
      {"max", &Apply<kMax>, 3, 3, &CheckType},
      {"neg", &Apply<kNeg>, 2, 2, &CheckType},
      {"abs", &Apply<kAbs>, 2, 2, &CheckType},
      {"and", &Apply<kAnd>, 3, 3, &CheckType},
      {"or", &Apply<kOr>, 3, 3, &CheckType},
      {"xor", &Apply<kXor>, 3, 3, &CheckType},
      {"not", &Apply<kNot>, 2, 2, &CheckType},
      {"shl", &Apply<kShl>, 3, 3, &CheckType},
      {"shr", &Apply<kShr>, 3, 3, &CheckType},
      {"ex2", &Apply<kEx2>, 2, 2, &CheckType},
      {"lg2", &Apply<kLg2>, 2, 2, &CheckType},
      {"rcp", &Apply<kRcp>, 2, 2, &CheckType},
      {"rsqrt", &Apply<kRsqrt>, 2, 2, &CheckType},
      {"sqrt", &Apply<kSqrt>, 2, 2, &CheckType},
      {"sin", &Apply<kSin>, 2, 2, &CheckType},
      {"cos", &Apply<kCos>, 2, 2, &CheckType},
      {"tanh", &Apply<kTanh>, 2, 2, &CheckType},
      {"popc", &Apply<kPopc>, 2, 2, &CheckType},
      {"clz", &Apply<kClz>, 2, 2, &CheckType},
      {"brev", &Apply<kBrev>, 2, 2, &CheckType},
      {"setp", &SetPredicate, 3, 4, &CheckType},
      {"selp", &Select, 4, 4, &CheckType},
      {"prmt", &Permute, 4, 4},
      {"lop3", &Logic, 5, 5},
      {"bfe", &ExtractField, 4, 4, &CheckType},
  };
}

}  // namespace tilewright::foreign::ptx

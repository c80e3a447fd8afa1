// The interpreter's inner loop.
#include <bit>
#include <cmath>
#include <cstring>

#include "ir/interp/machine.h"
#include "ir/interp/rounding.h"

namespace tilewright::interp::internal {
namespace {

template <class T>
T ReadAs(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <class T>
void WriteAs(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// The address of the element at an offset of a slot, or null when it lies outside of the memory.
inline std::byte* Element(const Scalar* slot, int64_t offset, int64_t bytes) {
  const uint64_t at = static_cast<uint64_t>(offset) * static_cast<uint64_t>(bytes);
  if (static_cast<uint64_t>(offset) >= static_cast<uint64_t>(slot[1].i) ||
      at + static_cast<uint64_t>(bytes) > static_cast<uint64_t>(slot[1].i)) {
    return nullptr;
  }
  return static_cast<std::byte*>(slot[0].p) + at;
}

// Whether `value` is one of the `extent` numbers from `first` on. Distances of more than 63 bits are exact.
inline bool IsWithin(int64_t value, int64_t first, int64_t extent) {
  return value >= first && extent > 0 &&
         static_cast<uint64_t>(value) - static_cast<uint64_t>(first) < static_cast<uint64_t>(extent);
}

inline bool Overflows32(int64_t value) { return value != static_cast<int32_t>(value); }

// Why an instruction has no result.
enum class Wrong { kNothing, kOverflow, kDivisionByZero, kShift };

absl::Status StatusOf(Wrong wrong) {
  switch (wrong) {
    case Wrong::kOverflow:
      return absl::OutOfRangeError("signed overflow");
    case Wrong::kDivisionByZero:
      return absl::OutOfRangeError("division by zero");
    default:
      return absl::OutOfRangeError("shift by the width or more");
  }
}

// The functions below set the result only where there is one.
inline Wrong Checked32(int64_t value, int64_t* result) {
  if (Overflows32(value)) return Wrong::kOverflow;
  *result = value;
  return Wrong::kNothing;
}
inline Wrong Unless(bool overflows, int64_t value, int64_t* result) {
  if (overflows) return Wrong::kOverflow;
  *result = value;
  return Wrong::kNothing;
}
inline Wrong Add64(int64_t a, int64_t b, int64_t* result) {
  int64_t sum;
  return Unless(__builtin_add_overflow(a, b, &sum), sum, result);
}
inline Wrong Sub64(int64_t a, int64_t b, int64_t* result) {
  int64_t difference;
  return Unless(__builtin_sub_overflow(a, b, &difference), difference, result);
}
inline Wrong Mul64(int64_t a, int64_t b, int64_t* result) {
  int64_t product;
  return Unless(__builtin_mul_overflow(a, b, &product), product, result);
}
inline Wrong Madd64(int64_t a, int64_t b, int64_t c, int64_t* result) {
  int64_t sum;
  return Unless(__builtin_mul_overflow(a, b, &sum) || __builtin_add_overflow(sum, c, &sum), sum, result);
}

// Signed quotients and remainders of `bits`, rounded to zero or down.
inline Wrong Divide(Op op, int64_t bits, int64_t a, int64_t b, int64_t* result) {
  if (b == 0) return Wrong::kDivisionByZero;
  const bool is_quotient = op == Op::kDivS || op == Op::kFloorDiv;
  if (b == -1) {  // the one quotient that overflows
    if (is_quotient && (a == INT64_MIN || (bits == 32 && Overflows32(-a)))) return Wrong::kOverflow;
    *result = is_quotient ? -a : 0;
    return Wrong::kNothing;
  }
  const int64_t quotient = a / b, remainder = a % b;
  const bool down = op == Op::kFloorDiv || op == Op::kFloorMod;
  const bool adjust = down && remainder != 0 && ((remainder < 0) != (b < 0));
  *result = is_quotient ? quotient - (adjust ? 1 : 0) : remainder + (adjust ? b : 0);
  return Wrong::kNothing;
}
inline Wrong DivideUnsigned(Op op, uint64_t a, uint64_t b, int64_t* result) {
  if (b == 0) return Wrong::kDivisionByZero;
  *result = static_cast<int64_t>(op == Op::kDivU ? a / b : a % b);
  return Wrong::kNothing;
}
inline Wrong Shift(Op op, int64_t bits, int64_t a, int64_t b, int64_t* result) {
  if (static_cast<uint64_t>(b) >= static_cast<uint64_t>(bits)) return Wrong::kShift;
  const auto pattern = static_cast<uint64_t>(a);
  *result = op == Op::kShrS ? a >> b : static_cast<int64_t>(op == Op::kShl ? pattern << b : pattern >> b);
  return Wrong::kNothing;
}
inline Wrong Abs(int64_t bits, int64_t a, int64_t* result) {
  const int64_t value = a < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a;
  return Unless((bits == 64 && value < 0) || (bits == 32 && Overflows32(value)), value, result);
}

// Values of a type of floats as doubles.
inline double Fma(DataType type, double a, double b, double c) {
  if (type != DataType::Float(32)) return RoundFast(type, std::fma(a, b, c));
  return static_cast<double>(std::fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
}
inline double FromInteger(DataType type, int64_t value) {
  if (type != DataType::Float(32)) return RoundIntegerTo(type, DataType::Int(64), value);
  return static_cast<double>(static_cast<float>(value));
}
inline double FromUnsigned(DataType type, int64_t value) {
  if (type != DataType::Float(32)) return RoundIntegerTo(type, DataType::UInt(64), value);
  return static_cast<double>(static_cast<float>(static_cast<uint64_t>(value)));
}

absl::Status TooManySteps() { return absl::ResourceExhaustedError("the program takes too many steps"); }
absl::Status NotEqual(const std::string& message, int64_t a, int64_t b) {
  return absl::InvalidArgumentError(message + ": " + std::to_string(a) + " and " + std::to_string(b));
}
absl::Status OutsideOfDomain(const BlockIterator& iterator, int64_t value, int64_t first, int64_t extent) {
  const auto end = static_cast<int64_t>(static_cast<uint64_t>(first) + static_cast<uint64_t>(extent));
  return absl::OutOfRangeError("iterator " + iterator.iterator + " of block \"" + iterator.block + "\" is " +
                               std::to_string(value) + ", outside of its domain [" + std::to_string(first) + ", " +
                               std::to_string(end) + ")");
}

}  // namespace

// Operands of the current instruction.
#define DST r[ip->dst]
#define A r[ip->a]
#define B r[ip->b]
#define C r[ip->c]
#define TYPE code_.types[static_cast<size_t>(ip->imm)]
// 64-bit patterns without the undefined behaviour of signed overflow.
#define U(x) static_cast<uint64_t>((x).i)
#define S(x) static_cast<int64_t>(x)
#define F32(x) static_cast<float>((x).f)

// Instructions by form: each table has the instruction and what is particular to it.
// An integer from operands.
#define INTEGERS(ROW)                                          \
  ROW(Move, A.i)                                               \
  ROW(AddRaw, S(U(A) + U(B)))                                  \
  ROW(SubRaw, S(U(A) - U(B)))                                  \
  ROW(MulRaw, S(U(A) * U(B)))                                  \
  ROW(SignExtend, S(U(A) << (64 - ip->imm)) >> (64 - ip->imm)) \
  ROW(ZeroExtend, S(U(A) << (64 - ip->imm) >> (64 - ip->imm))) \
  ROW(MinS, A.i < B.i ? A.i : B.i)                             \
  ROW(MaxS, A.i > B.i ? A.i : B.i)                             \
  ROW(MinU, U(A) < U(B) ? A.i : B.i)                           \
  ROW(MaxU, U(A) > U(B) ? A.i : B.i)                           \
  ROW(Eq, A.i == B.i)                                          \
  ROW(Ne, A.i != B.i)                                          \
  ROW(Lt, A.i < B.i)                                           \
  ROW(Le, A.i <= B.i)                                          \
  ROW(LtU, U(A) < U(B))                                        \
  ROW(LeU, U(A) <= U(B))                                       \
  ROW(And, A.i & B.i)                                          \
  ROW(Or, A.i | B.i)                                           \
  ROW(Xor, A.i ^ B.i)                                          \
  ROW(Not, A.i == 0)                                           \
  ROW(BitNot, ~A.i)                                            \
  ROW(Popcount, std::popcount(U(A)))                           \
  ROW(Clz, std::countl_zero(U(A)) - (64 - ip->imm))            \
  ROW(EqF, A.f == B.f)                                         \
  ROW(NeF, A.f != B.f)                                         \
  ROW(LtF, A.f < B.f)                                          \
  ROW(LeF, A.f <= B.f)                                         \
  ROW(FToBool, A.f != 0)                                       \
  ROW(ToBits, S(ToBits(TYPE, A.f)))                            \
  ROW(CheckRange, DST.i& static_cast<int64_t>(IsWithin(A.i, B.i, C.i)))
// A float from operands.
#define FLOATS(ROW)                                               \
  ROW(AddF32, F32(A) + F32(B))                                    \
  ROW(SubF32, F32(A) - F32(B))                                    \
  ROW(MulF32, F32(A) * F32(B))                                    \
  ROW(DivF32, F32(A) / F32(B))                                    \
  ROW(AddF, A.f + B.f)                                            \
  ROW(SubF, A.f - B.f)                                            \
  ROW(MulF, A.f* B.f)                                             \
  ROW(DivF, A.f / B.f)                                            \
  ROW(MinF, A.f < B.f ? A.f : B.f)                                \
  ROW(MaxF, A.f > B.f ? A.f : B.f)                                \
  ROW(Round, RoundFast(TYPE, A.f))                                \
  ROW(Math1, code_.math1[static_cast<size_t>(ip->imm)](A.f))      \
  ROW(Math2, code_.math2[static_cast<size_t>(ip->imm)](A.f, B.f)) \
  ROW(Fma, Fma(TYPE, A.f, B.f, C.f))                              \
  ROW(IntToF, FromInteger(TYPE, A.i))                             \
  ROW(UIntToF, FromUnsigned(TYPE, A.i))                           \
  ROW(FromBits, FromBits(TYPE, U(A)))
// An integer, or what is wrong.
#define FALLIBLE(ROW)                                             \
  ROW(Add32, Checked32(A.i + B.i, &DST.i))                        \
  ROW(Sub32, Checked32(A.i - B.i, &DST.i))                        \
  ROW(Mul32, Checked32(A.i* B.i, &DST.i))                         \
  ROW(Madd32, Checked32(A.i* B.i + C.i, &DST.i))                  \
  ROW(Add64, Add64(A.i, B.i, &DST.i))                             \
  ROW(Sub64, Sub64(A.i, B.i, &DST.i))                             \
  ROW(Mul64, Mul64(A.i, B.i, &DST.i))                             \
  ROW(Madd64, Madd64(A.i, B.i, C.i, &DST.i))                      \
  ROW(DivS, Divide(Op::kDivS, ip->imm, A.i, B.i, &DST.i))         \
  ROW(ModS, Divide(Op::kModS, ip->imm, A.i, B.i, &DST.i))         \
  ROW(FloorDiv, Divide(Op::kFloorDiv, ip->imm, A.i, B.i, &DST.i)) \
  ROW(FloorMod, Divide(Op::kFloorMod, ip->imm, A.i, B.i, &DST.i)) \
  ROW(DivU, DivideUnsigned(Op::kDivU, U(A), U(B), &DST.i))        \
  ROW(ModU, DivideUnsigned(Op::kModU, U(A), U(B), &DST.i))        \
  ROW(Shl, Shift(Op::kShl, ip->imm, A.i, B.i, &DST.i))            \
  ROW(ShrS, Shift(Op::kShrS, ip->imm, A.i, B.i, &DST.i))          \
  ROW(ShrU, Shift(Op::kShrU, ip->imm, A.i, B.i, &DST.i))          \
  ROW(AbsS, Abs(ip->imm, A.i, &DST.i))
// A condition that jumps.
#define JUMPS(ROW)             \
  ROW(Jump, true)              \
  ROW(JumpIfZero, A.i == 0)    \
  ROW(JumpIfNotZero, A.i != 0) \
  ROW(JumpIfGe, A.i >= B.i)
// An element's field, bytes, and value.
#define LOADS(ROW)                                             \
  ROW(LoadI8, i, 1, ReadAs<int8_t>(from))                      \
  ROW(LoadI16, i, 2, ReadAs<int16_t>(from))                    \
  ROW(LoadI32, i, 4, ReadAs<int32_t>(from))                    \
  ROW(Load64, i, 8, ReadAs<int64_t>(from))                     \
  ROW(LoadU8, i, 1, ReadAs<uint8_t>(from))                     \
  ROW(LoadU16, i, 2, ReadAs<uint16_t>(from))                   \
  ROW(LoadU32, i, 4, ReadAs<uint32_t>(from))                   \
  ROW(LoadF32, f, 4, static_cast<double>(ReadAs<float>(from))) \
  ROW(LoadF16, f, 2, LoadFloat16(ReadAs<uint16_t>(from)))      \
  ROW(LoadBF16, f, 2, LoadBFloat16(ReadAs<uint16_t>(from)))    \
  ROW(LoadNarrow, f, 1, FromBits(code_.types[ip->t], ReadAs<uint8_t>(from)))
// An element's bytes, and what writes it.
#define STORES(ROW)                                        \
  ROW(Store8, 1, WriteAs(to, static_cast<uint8_t>(C.i)))   \
  ROW(Store16, 2, WriteAs(to, static_cast<uint16_t>(C.i))) \
  ROW(Store32, 4, WriteAs(to, static_cast<uint32_t>(C.i))) \
  ROW(Store64, 8, WriteAs(to, C.i))                        \
  ROW(StoreF32, 4, WriteAs(to, F32(C)))                    \
  ROW(StoreNarrow, code_.types[ip->t].bytes(), StoreScalar(code_.types[ip->t], to, C))
// A function that says in error_ why it returns false.
#define SLOW(ROW)                                                                   \
  ROW(FToInt, FloatToInt(A.f, TYPE, &DST.i))                                        \
  ROW(Allocate, Allocate(context, *ip))                                             \
  ROW(Handle, MakePointer((&A)[2].i, B.i, ip->imm, &DST.i))                         \
  ROW(CallExtern, CallExternal(context, code_.calls[static_cast<size_t>(ip->imm)])) \
  ROW(ShadowRead, CheckRead(context, *ip))                                          \
  ROW(ShadowWrite, CheckWrite(context, *ip))                                        \
  ROW(RegionBegin, ExecuteStrand(context, *ip))                                     \
  ROW(StrandNext, ExecuteStrand(context, *ip))                                      \
  ROW(RegionEnd, ExecuteStrand(context, *ip))

#define NEXT \
  ++ip;      \
  continue
#define FAIL(status)       \
  do {                     \
    stop_at(ip);           \
    return Fail((status)); \
  } while (false)
#define STOP(stop) \
  do {             \
    stop_at(ip);   \
    return (stop); \
  } while (false)
#define INTEGER_CASE(op, value) \
  case Op::k##op:               \
    DST.i = (value);            \
    NEXT;
#define FLOAT_CASE(op, value) \
  case Op::k##op:             \
    DST.f = (value);          \
    NEXT;
#define FALLIBLE_CASE(op, call)                                                      \
  case Op::k##op:                                                                    \
    if (const Wrong wrong = (call); wrong != Wrong::kNothing) FAIL(StatusOf(wrong)); \
    NEXT;
#define JUMP_CASE(op, condition)                \
  case Op::k##op:                               \
    ip = (condition) ? code + ip->imm : ip + 1; \
    continue;
#define LOAD_CASE(op, field, bytes, value)                \
  case Op::k##op: {                                       \
    const std::byte* from = Element(&A, B.i, bytes);      \
    if (from == nullptr) return FailAccess(context, *ip); \
    DST.field = (value);                                  \
    NEXT;                                                 \
  }
#define STORE_CASE(op, bytes, statement)                \
  case Op::k##op: {                                     \
    std::byte* to = Element(&A, B.i, bytes);            \
    if (to == nullptr) return FailAccess(context, *ip); \
    statement;                                          \
    NEXT;                                               \
  }
#define SLOW_CASE(op, call)          \
  case Op::k##op:                    \
    if (!(call)) STOP(Stop::kError); \
    NEXT;

// The instructions around and in parallel loops.
bool Machine::ExecuteStrand(Context& context, const Instruction& instruction) {
  const Scalar *const a = context.registers.data() + instruction.a, *const b = context.registers.data() + instruction.b;
  if (instruction.op == Op::kRegionBegin) {
    context.regions.emplace_back(strands_.BeginRegion(instruction.imm, b->i - a->i), context.strand);
    return true;
  }
  if (instruction.op == Op::kStrandNext) {
    if (strands_.size() > kMaxStrands) {
      Fail(absl::ResourceExhaustedError("too many parallel iterations for the race detector"));
      return false;
    }
    context.strand = strands_.Add(context.regions.back().second, context.regions.back().first, a->i);
    return true;
  }
  context.strand = context.regions.back().second;
  context.regions.pop_back();
  if (context.group == nullptr && context.regions.empty()) strands_.Forget();
  return true;
}

Machine::Stop Machine::Execute(Context& context) {
  const Instruction* const code = code_.instructions.data();
  const Instruction* ip = code + context.pc;
  Scalar* const r = context.registers.data();
  const auto stop_at = [&](const Instruction* at) { context.pc = static_cast<size_t>(at - code); };
  for (;;) {
    switch (ip->op) {
      INTEGERS(INTEGER_CASE)
      FLOATS(FLOAT_CASE)
      FALLIBLE(FALLIBLE_CASE)
      JUMPS(JUMP_CASE)
      LOADS(LOAD_CASE)
      STORES(STORE_CASE)
      SLOW(SLOW_CASE)
      case Op::kLoopNext:
        if (--steps_left_ == 0) FAIL(TooManySteps());
        ip = ++DST.i < A.i ? code + ip->imm : ip + 1;
        continue;
      case Op::kCountStep:
        if (--steps_left_ == 0) FAIL(TooManySteps());
        NEXT;
      case Op::kFail:
        FAIL(absl::FailedPreconditionError(code_.messages[static_cast<size_t>(ip->imm)]));
      case Op::kReturn:
        STOP(Stop::kReturn);
      case Op::kFork:
        stop_at(ip);
        if (context.group != nullptr) return Stop::kFork;
        if (!RunGroup(context)) return Stop::kError;
        ip = code + ip->imm;
        continue;
      case Op::kThreadEnd:
        STOP(Stop::kThreadEnd);
      case Op::kBarrier:
        if (context.group != nullptr) STOP(Stop::kBarrier);
        NEXT;  // one thread waits for nobody
      case Op::kSlotFromHandle:
        SlotFromHandle(&DST, A.i);
        NEXT;
      case Op::kCheckIndex:
        if (U(A) >= U(B)) return FailIndex(context, *ip);
        NEXT;
      case Op::kCheckDomain:
        if (!IsWithin(A.i, B.i, C.i)) {
          FAIL(OutsideOfDomain(code_.iterators[static_cast<size_t>(ip->imm)], A.i, B.i, C.i));
        }
        NEXT;
      case Op::kCheckRegion:
        if (A.i == 0) return FailRegion(context, *ip);
        NEXT;
      case Op::kCheckEqual:
        if (A.i != B.i) FAIL(NotEqual(code_.messages[static_cast<size_t>(ip->imm)], A.i, B.i));
        NEXT;
    }
  }
}

}  // namespace tilewright::interp::internal

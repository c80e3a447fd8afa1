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

absl::Status Overflow() { return absl::OutOfRangeError("signed overflow"); }
absl::Status DivisionByZero() { return absl::OutOfRangeError("division by zero"); }

}  // namespace

Machine::Stop Machine::Execute(Context& context) {
  const Instruction* const code = code_.instructions.data();
  const Instruction* ip = code + context.pc;
  Scalar* const r = context.registers.data();
  const auto stop_at = [&](const Instruction* at) { context.pc = static_cast<size_t>(at - code); };

// Register operands of the current instruction.
#define DST r[ip->dst]
#define A r[ip->a]
#define B r[ip->b]
#define C r[ip->c]
#define NEXT \
  ++ip;      \
  continue
#define INT(op, value) \
  case Op::k##op:      \
    DST.i = (value);   \
    NEXT
#define FLOAT(op, value) \
  case Op::k##op:        \
    DST.f = (value);     \
    NEXT
#define FAIL(status)       \
  do {                     \
    stop_at(ip);           \
    return Fail((status)); \
  } while (false)
#define CHECKED32(op, value)                   \
  case Op::k##op: {                            \
    const int64_t result = (value);            \
    if (Overflows32(result)) FAIL(Overflow()); \
    DST.i = result;                            \
    NEXT;                                      \
  }
#define CHECKED64(op, builtin)                        \
  case Op::k##op: {                                   \
    int64_t result;                                   \
    if (builtin(A.i, B.i, &result)) FAIL(Overflow()); \
    DST.i = result;                                   \
    NEXT;                                             \
  }
#define LOAD(op, field, bytes, value)                     \
  case Op::k##op: {                                       \
    const std::byte* from = Element(&A, B.i, bytes);      \
    if (from == nullptr) return FailAccess(context, *ip); \
    DST.field = (value);                                  \
    NEXT;                                                 \
  }
#define STORE(op, bytes, statement)                     \
  case Op::k##op: {                                     \
    std::byte* to = Element(&A, B.i, bytes);            \
    if (to == nullptr) return FailAccess(context, *ip); \
    statement;                                          \
    NEXT;                                               \
  }
// 64-bit patterns without the undefined behaviour of signed overflow.
#define U(x) static_cast<uint64_t>((x).i)
#define S(x) static_cast<int64_t>(x)
#define F32(x) static_cast<float>((x).f)

  for (;;) {
    switch (ip->op) {
      INT(Move, A.i);
      CHECKED32(Add32, A.i + B.i)
      CHECKED32(Sub32, A.i - B.i)
      CHECKED32(Mul32, A.i * B.i)
      CHECKED32(Madd32, A.i * B.i + C.i)
      CHECKED64(Add64, __builtin_add_overflow)
      CHECKED64(Sub64, __builtin_sub_overflow)
      CHECKED64(Mul64, __builtin_mul_overflow)
      case Op::kMadd64: {
        int64_t result;
        if (__builtin_mul_overflow(A.i, B.i, &result) || __builtin_add_overflow(result, C.i, &result)) {
          FAIL(Overflow());
        }
        DST.i = result;
        NEXT;
      }
        INT(AddRaw, S(U(A) + U(B)));
        INT(SubRaw, S(U(A) - U(B)));
        INT(MulRaw, S(U(A) * U(B)));
        INT(SignExtend, S(U(A) << (64 - ip->imm)) >> (64 - ip->imm));
        INT(ZeroExtend, S(U(A) << (64 - ip->imm) >> (64 - ip->imm)));
      case Op::kDivS:
      case Op::kModS:
      case Op::kFloorDiv:
      case Op::kFloorMod: {
        const int64_t a = A.i, b = B.i;
        if (b == 0) FAIL(DivisionByZero());
        if (b == -1) {  // the one quotient that overflows
          if (ip->op == Op::kDivS || ip->op == Op::kFloorDiv) {
            if (a == INT64_MIN || (ip->imm == 32 && Overflows32(-a))) FAIL(Overflow());
            DST.i = -a;
          } else {
            DST.i = 0;
          }
          NEXT;
        }
        const int64_t quotient = a / b, remainder = a % b;
        const bool adjust = remainder != 0 && ((remainder < 0) != (b < 0));
        switch (ip->op) {
          case Op::kDivS:
            DST.i = quotient;
            break;
          case Op::kModS:
            DST.i = remainder;
            break;
          case Op::kFloorDiv:
            DST.i = adjust ? quotient - 1 : quotient;
            break;
          default:
            DST.i = adjust ? remainder + b : remainder;
        }
        NEXT;
      }
      case Op::kDivU:
        if (B.i == 0) FAIL(DivisionByZero());
        DST.i = S(U(A) / U(B));
        NEXT;
      case Op::kModU:
        if (B.i == 0) FAIL(DivisionByZero());
        DST.i = S(U(A) % U(B));
        NEXT;
        INT(MinS, A.i < B.i ? A.i : B.i);
        INT(MaxS, A.i > B.i ? A.i : B.i);
        INT(MinU, U(A) < U(B) ? A.i : B.i);
        INT(MaxU, U(A) > U(B) ? A.i : B.i);
        INT(Eq, A.i == B.i);
        INT(Ne, A.i != B.i);
        INT(Lt, A.i < B.i);
        INT(Le, A.i <= B.i);
        INT(LtU, U(A) < U(B));
        INT(LeU, U(A) <= U(B));
        INT(And, A.i & B.i);
        INT(Or, A.i | B.i);
        INT(Xor, A.i ^ B.i);
        INT(Not, A.i == 0);
        INT(BitNot, ~A.i);
      case Op::kShl:
      case Op::kShrS:
      case Op::kShrU:
        if (U(B) >= static_cast<uint64_t>(ip->imm)) FAIL(absl::OutOfRangeError("shift by the width or more"));
        DST.i = ip->op == Op::kShl ? S(U(A) << B.i) : ip->op == Op::kShrS ? A.i >> B.i : S(U(A) >> B.i);
        NEXT;
      case Op::kAbsS: {
        const int64_t result = A.i < 0 ? S(-U(A)) : A.i;
        if ((ip->imm == 64 && result < 0) || (ip->imm == 32 && Overflows32(result))) FAIL(Overflow());
        DST.i = result;
        NEXT;
      }
        INT(Popcount, std::popcount(U(A)));
        INT(Clz, std::countl_zero(U(A)) - (64 - ip->imm));

        FLOAT(AddF32, F32(A) + F32(B));
        FLOAT(SubF32, F32(A) - F32(B));
        FLOAT(MulF32, F32(A) * F32(B));
        FLOAT(DivF32, F32(A) / F32(B));
        FLOAT(AddF, A.f + B.f);
        FLOAT(SubF, A.f - B.f);
        FLOAT(MulF, A.f * B.f);
        FLOAT(DivF, A.f / B.f);
        FLOAT(MinF, A.f < B.f ? A.f : B.f);
        FLOAT(MaxF, A.f > B.f ? A.f : B.f);
        INT(EqF, A.f == B.f);
        INT(NeF, A.f != B.f);
        INT(LtF, A.f < B.f);
        INT(LeF, A.f <= B.f);
        FLOAT(Round, RoundFast(code_.types[static_cast<size_t>(ip->imm)], A.f));
        FLOAT(Math1, code_.math1[static_cast<size_t>(ip->imm)](A.f));
        FLOAT(Math2, code_.math2[static_cast<size_t>(ip->imm)](A.f, B.f));
      case Op::kFma: {
        const DataType type = code_.types[static_cast<size_t>(ip->imm)];
        DST.f = type == DataType::Float(32) ? static_cast<double>(std::fmaf(F32(A), F32(B), F32(C)))
                                            : RoundFast(type, std::fma(A.f, B.f, C.f));
        NEXT;
      }
      case Op::kIntToF: {
        const DataType type = code_.types[static_cast<size_t>(ip->imm)];
        DST.f = type == DataType::Float(32) ? static_cast<double>(static_cast<float>(A.i))
                                            : RoundIntegerTo(type, DataType::Int(64), A.i);
        NEXT;
      }
      case Op::kUIntToF: {
        const DataType type = code_.types[static_cast<size_t>(ip->imm)];
        DST.f = type == DataType::Float(32) ? static_cast<double>(static_cast<float>(U(A)))
                                            : RoundIntegerTo(type, DataType::UInt(64), A.i);
        NEXT;
      }
      case Op::kFToInt:
        if (!FloatToInt(A.f, code_.types[static_cast<size_t>(ip->imm)], &DST.i)) {
          stop_at(ip);
          return Stop::kError;
        }
        NEXT;
        INT(FToBool, A.f != 0);
        INT(ToBits, S(ToBits(code_.types[static_cast<size_t>(ip->imm)], A.f)));
        FLOAT(FromBits, FromBits(code_.types[static_cast<size_t>(ip->imm)], U(A)));

      case Op::kJump:
        ip = code + ip->imm;
        continue;
      case Op::kJumpIfZero:
        ip = A.i == 0 ? code + ip->imm : ip + 1;
        continue;
      case Op::kJumpIfNotZero:
        ip = A.i != 0 ? code + ip->imm : ip + 1;
        continue;
      case Op::kJumpIfGe:
        ip = A.i >= B.i ? code + ip->imm : ip + 1;
        continue;
      case Op::kLoopNext:
        if (--steps_left_ == 0) FAIL(absl::ResourceExhaustedError("the program takes too many steps"));
        ip = ++DST.i < A.i ? code + ip->imm : ip + 1;
        continue;
      case Op::kCountStep:
        if (--steps_left_ == 0) FAIL(absl::ResourceExhaustedError("the program takes too many steps"));
        NEXT;
      case Op::kFail:
        FAIL(absl::FailedPreconditionError(code_.messages[static_cast<size_t>(ip->imm)]));
      case Op::kReturn:
        stop_at(ip);
        return Stop::kReturn;
      case Op::kFork:
        stop_at(ip);
        if (context.group != nullptr) return Stop::kFork;
        if (!RunGroup(context)) return Stop::kError;
        ip = code + ip->imm;
        continue;
      case Op::kThreadEnd:
        stop_at(ip);
        return Stop::kThreadEnd;
      case Op::kBarrier:
        if (context.group == nullptr) {
          NEXT;  // one thread waits for nobody
        }
        stop_at(ip);
        return Stop::kBarrier;

        LOAD(LoadI8, i, 1, ReadAs<int8_t>(from))
        LOAD(LoadI16, i, 2, ReadAs<int16_t>(from))
        LOAD(LoadI32, i, 4, ReadAs<int32_t>(from))
        LOAD(Load64, i, 8, ReadAs<int64_t>(from))
        LOAD(LoadU8, i, 1, ReadAs<uint8_t>(from))
        LOAD(LoadU16, i, 2, ReadAs<uint16_t>(from))
        LOAD(LoadU32, i, 4, ReadAs<uint32_t>(from))
        LOAD(LoadF32, f, 4, static_cast<double>(ReadAs<float>(from)))
        LOAD(LoadF16, f, 2, LoadFloat16(ReadAs<uint16_t>(from)))
        LOAD(LoadBF16, f, 2, LoadBFloat16(ReadAs<uint16_t>(from)))
        LOAD(LoadNarrow, f, 1, FromBits(code_.types[ip->t], ReadAs<uint8_t>(from)))
        STORE(Store8, 1, WriteAs(to, static_cast<uint8_t>(C.i)))
        STORE(Store16, 2, WriteAs(to, static_cast<uint16_t>(C.i)))
        STORE(Store32, 4, WriteAs(to, static_cast<uint32_t>(C.i)))
        STORE(Store64, 8, WriteAs(to, C.i))
        STORE(StoreF32, 4, WriteAs(to, F32(C)))
      case Op::kStoreNarrow: {
        const DataType type = code_.types[ip->t];
        std::byte* to = Element(&A, B.i, type.bytes());
        if (to == nullptr) return FailAccess(context, *ip);
        StoreScalar(type, to, C);
        NEXT;
      }
      case Op::kAllocate:
        if (!Allocate(context, *ip)) {
          stop_at(ip);
          return Stop::kError;
        }
        NEXT;
      case Op::kHandle:
        if (!MakePointer((&A)[2].i, B.i, ip->imm, &DST.i)) {
          stop_at(ip);
          return Stop::kError;
        }
        NEXT;
      case Op::kSlotFromHandle:
        SlotFromHandle(&DST, A.i);
        NEXT;
      case Op::kCallExtern:
        if (!CallExternal(context, code_.calls[static_cast<size_t>(ip->imm)])) {
          stop_at(ip);
          return Stop::kError;
        }
        NEXT;

      case Op::kCheckIndex:
        if (U(A) >= U(B)) return FailIndex(context, *ip);
        NEXT;
        INT(CheckRange, DST.i & static_cast<int64_t>(IsWithin(A.i, B.i, C.i)));
      case Op::kCheckDomain:
        if (!IsWithin(A.i, B.i, C.i)) {
          const BlockIterator& iterator = code_.iterators[static_cast<size_t>(ip->imm)];
          FAIL(absl::OutOfRangeError("iterator " + iterator.iterator + " of block \"" + iterator.block + "\" is " +
                                     std::to_string(A.i) + ", outside of its domain [" + std::to_string(B.i) + ", " +
                                     std::to_string(S(U(B) + U(C))) + ")"));
        }
        NEXT;
      case Op::kCheckRegion:
        if (A.i == 0) return FailRegion(context, *ip);
        NEXT;
      case Op::kCheckEqual:
        if (A.i != B.i) {
          FAIL(absl::InvalidArgumentError(code_.messages[static_cast<size_t>(ip->imm)] + ": " + std::to_string(A.i) +
                                          " and " + std::to_string(B.i)));
        }
        NEXT;
      case Op::kShadowRead:
        if (!CheckRead(context, *ip)) return Stop::kError;
        NEXT;
      case Op::kShadowWrite:
        if (!CheckWrite(context, *ip)) return Stop::kError;
        NEXT;
      case Op::kRegionBegin:
        context.regions.emplace_back(strands_.BeginRegion(ip->imm, B.i - A.i), context.strand);
        NEXT;
      case Op::kStrandNext:
        if (strands_.size() > kMaxStrands) {
          FAIL(absl::ResourceExhaustedError("too many parallel iterations for the race detector"));
        }
        context.strand = strands_.Add(context.regions.back().second, context.regions.back().first, A.i);
        NEXT;
      case Op::kRegionEnd:
        context.strand = context.regions.back().second;
        context.regions.pop_back();
        if (context.group == nullptr && context.regions.empty()) strands_.Forget();
        NEXT;
    }
  }
#undef DST
#undef A
#undef B
#undef C
#undef NEXT
#undef INT
#undef FLOAT
#undef FAIL
#undef CHECKED32
#undef CHECKED64
#undef LOAD
#undef STORE
#undef U
#undef S
#undef F32
}

}  // namespace tilewright::interp::internal

// Integer expressions of the host's part, compiled once and computed without allocation. Unsigned numbers and those of
// under 32 bits wrap to their type, as in the interpreter (ir/interp/interp.h).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/expr.h"

namespace tilewright::cuda {

// The position of a variable's value among those of a call.
using Slots = std::unordered_map<const VarNode*, int>;

// Whether the operator gives other bits for unsigned numbers of 64 bits than for signed ones.
bool DependsOnSign(BinaryOp op);
// Whether a result in 64 bits is wrapped to the type of the operands.
bool WrapsToType(BinaryOp op, DataType type);

class ScalarCode {
 public:
  ScalarCode() = default;  // computes 0
  // An error names what the host cannot compute.
  static absl::StatusOr<ScalarCode> Compile(const Expr& e, const Slots& slots);

  int64_t Run(const int64_t* values) const;

 private:
  enum class Op : uint8_t {
    kConstant,
    kSlot,
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kUnsignedDiv,  // of 64 bits
    kUnsignedMod,
    kFloorDiv,
    kFloorMod,
    kMin,
    kMax,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kAnd,
    kOr,
    kNot,
    kChoose,
    kWrap,
    kFlipSign,  // of 64 bits: signed comparisons then order unsigned numbers
  };
  struct Instruction {
    Op op;
    int64_t operand = 0;  // a constant, a slot, or the type to wrap to: its bits, negative where it is unsigned
  };
  absl::Status Add(const Expr& e, const Slots& slots);
  absl::Status AddBinary(const BinaryNode* binary, const Slots& slots);
  static int64_t Compute(Op op, int64_t a, int64_t b);

  std::vector<Instruction> code_;
  int depth_ = 0;
};

}  // namespace tilewright::cuda

// Integer expressions of the host's part, compiled once and computed without allocation.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/expr.h"

namespace tilewright::cuda {

// The position of a variable's value among those of a call.
using Slots = std::unordered_map<const VarNode*, int>;

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
  };
  struct Instruction {
    Op op;
    int64_t operand = 0;  // a constant, a slot, or the type to wrap to: its bits, negative where it is unsigned
  };
  absl::Status Add(const Expr& e, const Slots& slots);

  std::vector<Instruction> code_;
  int depth_ = 0;
};

}  // namespace tilewright::cuda

// The arguments of a call, checked as docs/abi.md says: what compiled functions of CPUs do in machine code.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "codegen/abi/function_abi.h"
#include "codegen/cuda/program.h"
#include "codegen/cuda/scalar_code.h"

namespace tilewright::cuda {

// Why a call is refused: a TwError and a sentence.
struct Refusal {
  TwError code = kTwOk;
  std::string message;
};

class CallArguments {
 public:
  // Gives slots to all variables of shapes, strides and scalar parameters.
  static absl::StatusOr<CallArguments> Compile(const DeviceFunction& function, Slots* slots);

  struct Array {
    void* data = nullptr;
    int64_t bytes = 0;
  };
  // One for each parameter; those of scalars hold nothing.
  using Arrays = absl::InlinedVector<Array, 16>;

  bool IsArray(int32_t number) const {
    return static_cast<size_t>(number) < parameters_.size() && parameters_[static_cast<size_t>(number)].is_array;
  }

  // Fills `values` (by slot) and `arrays`. `device`: where the arrays have to lie; scalars lie on the CPU.
  Refusal Bind(TwTensor* const* args, int32_t num_args, TwDeviceType device, int64_t* values, Arrays* arrays) const;

 private:
  // A variable that takes its value where it stands alone (`slot`), or an expression to compare with.
  struct Expected {
    int slot = -1;
    ScalarCode code;
  };
  struct Parameter {
    std::string label;  // "argument 0 (A)"
    bool is_array = false, written = false;
    DataType type;
    int slot = -1;  // of a scalar
    std::vector<Expected> shape, strides;
    int offset_slot = -1;  // of a variable for the offset of the first element, which is 0
    int alignment = 1;
  };
  Refusal BindScalar(const Parameter& parameter, const TwTensor& tensor, int64_t* values) const;
  Refusal CheckArray(const Parameter& parameter, const TwTensor& tensor, const int64_t* values, Array* array) const;

  std::string function_;
  std::vector<Parameter> parameters_;
};

}  // namespace tilewright::cuda

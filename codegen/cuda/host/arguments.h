// The arguments of a call of a launcher, checked as docs/abi.md says. Its sentences are those of
// codegen/cuda/call_arguments.h.
//
//   const Parameter kParameters[] = {{"A", {kTwFloat, 16, 1}, "float16", 2, true, false, 64},
//                                  {"n", {kTwInt, 32, 1}, "int32"}};
//   Arguments in(refusal, "main", kParameters, 2, args, num_args);
//   Int m = in.Extent(0, 0), n = in.Scalar(1);
//   void* A = in.Array(0, {m, 256}, {});
//   in.RefuseOverlaps();
//
// The first failure stays; what follows does nothing.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

#include "codegen/abi/function_abi.h"
#include "codegen/cuda/host/numbers.h"

namespace tilewright::cuda::host {

// The first failure of a call.
class Refusal {
 public:
  explicit Refusal(const TwCall* call) : call_(call) {}
  int code() const { return code_; }
  bool ok() const { return code_ == kTwOk; }
  int Refuse(int code, const std::string& sentence) {
    if (!ok()) return code_;
    code_ = code;
    if (call_ != nullptr && call_->message != nullptr && call_->message_bytes > 0) {
      std::snprintf(call_->message, static_cast<size_t>(call_->message_bytes), "%s", sentence.c_str());
    }
    return code_;
  }

 private:
  const TwCall* const call_;
  int code_ = kTwOk;
};

inline std::string Text(int64_t number) { return std::to_string(number); }

struct Parameter {
  const char* name;
  TwDataType type;
  const char* type_name;
  int32_t rank = 0;
  bool is_array = false, is_written = false;
  int64_t alignment = 1;
};

// Elements from one index of a dimension to the next.
inline int64_t StrideOf(const TwTensor& tensor, int32_t dimension) {
  if (tensor.strides != nullptr) return tensor.strides[dimension];
  int64_t stride = 1;
  for (int32_t d = tensor.ndim; d-- > dimension + 1;) stride *= tensor.shape[d];
  return stride;
}

// From the first element to behind the last.
inline int64_t BytesOf(const TwTensor& tensor) {
  int64_t last = 0;
  for (int32_t d = tensor.ndim; d-- > 0;) {
    if (tensor.shape[d] <= 0) return 0;
    last += (tensor.shape[d] - 1) * StrideOf(tensor, d);
  }
  return (last + 1) * ((tensor.dtype.bits + 7) / 8) * tensor.dtype.lanes;
}

inline char* FirstOf(const TwTensor& tensor) { return static_cast<char*>(tensor.data) + tensor.byte_offset; }

class Arguments {
 public:
  // Checks number, device, rank and type. Arrays lie on the GPU of number 0, scalars on the CPU.
  Arguments(Refusal& refusal, const char* function, const Parameter* parameters, int32_t count, TwTensor* const* args,
            int32_t num_args)
      : refusal_(refusal), parameters_(parameters), args_(args), arrays_(static_cast<size_t>(count)) {
    if (num_args != count) {
      refusal_.Refuse(kTwErrorArgumentCount,
                      std::string(function) + " takes " + Text(count) + " arguments, got " + Text(num_args));
      return;
    }
    for (int32_t i = 0; i < count && refusal_.ok(); ++i) CheckKind(i);
  }

  bool ok() const { return refusal_.ok(); }
  Int Extent(int32_t number, int32_t dimension) const { return args_[number]->shape[dimension]; }
  Int Stride(int32_t number, int32_t dimension) const { return StrideOf(*args_[number], dimension); }

  // A scalar's bits; floats narrower than 32 bits are given to kernels as those of 32.
  Int Scalar(int32_t number) const {
    const TwDataType type = parameters_[number].type;
    uint64_t bits = 0;
    std::memcpy(&bits, FirstOf(*args_[number]), static_cast<size_t>((type.bits + 7) / 8));
    if (type.code == kTwInt && type.bits < 64) {
      const int shift = 64 - type.bits;
      return static_cast<int64_t>(bits << shift) >> shift;
    }
    if (type.code == kTwFloat && type.bits == 16) return WidenFloat(bits, 5, 10, true);
    if (type.code == kTwBfloat) return WidenFloat(bits, 8, 7, true);
    if (type.code == kTwFloat8E4M3) return WidenFloat(bits, 4, 3, false);
    if (type.code == kTwFloat8E5M2) return WidenFloat(bits, 5, 2, true);
    return static_cast<int64_t>(bits);
  }

  // The elements of an array that must have this shape, and these strides where there are any.
  char* Array(int32_t number, std::initializer_list<Int> shape, std::initializer_list<Int> strides) {
    if (!ok()) return nullptr;
    const Parameter& parameter = parameters_[number];
    const TwTensor& tensor = *args_[number];
    bool empty = false;
    for (int32_t d = 0; d < parameter.rank; ++d) {
      const int64_t expected = shape.begin()[d].value, extent = tensor.shape[d];
      if (extent != expected || extent < 0) {
        Refuse(kTwErrorShape, number,
               ": dimension " + Text(d) + " has extent " + Text(extent) + ", expected " + Text(expected));
        return nullptr;
      }
      empty = empty || extent == 0;
    }
    int64_t compact = 1, last = 0;
    for (int32_t d = parameter.rank; d-- > 0;) {
      const int64_t expected = strides.size() == 0 ? compact : strides.begin()[d].value;
      const int64_t stride = StrideOf(tensor, d), extent = tensor.shape[d];
      if (stride != expected && extent > 1 && !empty) {
        Refuse(kTwErrorStrides, number,
               ": dimension " + Text(d) + " has stride " + Text(stride) + ", expected " + Text(expected));
        return nullptr;
      }
      last += (extent - 1) * expected;
      compact *= extent;
    }
    Memory& memory = arrays_[static_cast<size_t>(number)];
    memory = {FirstOf(tensor), empty ? 0 : (last + 1) * ((parameter.type.bits + 7) / 8) * parameter.type.lanes};
    if (tensor.data == nullptr && memory.bytes > 0) Refuse(kTwErrorNullArgument, number, " has no data");
    if (reinterpret_cast<uintptr_t>(memory.data) % static_cast<uintptr_t>(parameter.alignment) != 0) {
      Refuse(kTwErrorAlignment, number, " is not aligned to " + Text(parameter.alignment) + " bytes");
    }
    return memory.data;
  }

  // A tensor that is written overlaps no other.
  void RefuseOverlaps() {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      for (size_t j = i + 1; j < arrays_.size(); ++j) {
        if (!parameters_[i].is_written && !parameters_[j].is_written) continue;
        const Memory &a = arrays_[i], &b = arrays_[j];
        const auto first = reinterpret_cast<uintptr_t>(a.data), second = reinterpret_cast<uintptr_t>(b.data);
        if (a.bytes == 0 || b.bytes == 0) continue;
        if (first < second + static_cast<uintptr_t>(b.bytes) && second < first + static_cast<uintptr_t>(a.bytes)) {
          Refuse(kTwErrorAliasing, static_cast<int32_t>(i),
                 " and " + Label(static_cast<int32_t>(j)) + " overlap, and one of them is written");
        }
      }
    }
  }

 private:
  struct Memory {
    char* data = nullptr;
    int64_t bytes = 0;
  };

  std::string Label(int32_t number) const { return "argument " + Text(number) + " (" + parameters_[number].name + ")"; }
  void Refuse(int code, int32_t number, const std::string& what) { refusal_.Refuse(code, Label(number) + what); }

  void CheckKind(int32_t number) {
    const Parameter& parameter = parameters_[number];
    if (args_[number] == nullptr) return Refuse(kTwErrorNullArgument, number, " is null");
    const TwTensor& tensor = *args_[number];
    if (tensor.device.device_type != (parameter.is_array ? kTwCuda : kTwCpu)) {
      return Refuse(kTwErrorDevice, number,
                    " lies on a device of type " + Text(tensor.device.device_type) +
                        (parameter.is_array ? ", not on a GPU" : ", not on the CPU"));
    }
    if (parameter.is_array && tensor.device.device_id != 0) {
      return Refuse(kTwErrorDevice, number, " lies on GPU " + Text(tensor.device.device_id) + ", not on GPU 0");
    }
    if (tensor.ndim != parameter.rank) {
      return Refuse(kTwErrorRank, number,
                    " has " + Text(tensor.ndim) + " dimensions, expected " + Text(parameter.rank));
    }
    const TwDataType type = parameter.type;
    if (tensor.dtype.code != type.code || tensor.dtype.bits != type.bits || tensor.dtype.lanes != type.lanes) {
      return Refuse(kTwErrorType, number, std::string(" has another element type than ") + parameter.type_name);
    }
    if (!parameter.is_array && tensor.data == nullptr) Refuse(kTwErrorNullArgument, number, " has no data");
  }

  Refusal& refusal_;
  const Parameter* const parameters_;
  TwTensor* const* const args_;
  std::vector<Memory> arrays_;
};

}  // namespace tilewright::cuda::host

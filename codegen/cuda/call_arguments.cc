#include "codegen/cuda/call_arguments.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "ir/float_format.h"

namespace tilewright::cuda {
namespace {

bool IsOnCpu(const TwTensor& tensor) { return tensor.device.device_type == kTwCpu; }

template <class... Parts>
Refusal Refuse(TwError code, const Parts&... parts) {
  return {code, absl::StrCat(parts...)};
}

// Strides of compact row-major order where none are given.
int64_t StrideOf(const TwTensor& tensor, size_t dimension) {
  if (tensor.strides != nullptr) return tensor.strides[dimension];
  int64_t stride = 1;
  for (auto d = static_cast<size_t>(tensor.ndim); d-- > dimension + 1;) stride *= tensor.shape[d];
  return stride;
}

}  // namespace

absl::StatusOr<CallArguments> CallArguments::Compile(const DeviceFunction& function, Slots* slots) {
  CallArguments result;
  result.function_ = function.name;
  const std::vector<bool> written = WrittenParams(function);
  const auto slot_of = [&](const VarNode* var) {
    return slots->emplace(var, static_cast<int>(slots->size())).first->second;
  };
  // First all variables that stand alone, then what is computed from them.
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Param& param = function.params[i];
    Parameter parameter;
    parameter.is_array = static_cast<bool>(param.buffer);
    const std::string& name = param.buffer ? param.buffer->name : param.var.name();
    parameter.label = absl::StrCat("argument ", i, " (", name, ")");
    parameter.type = param.buffer ? param.buffer->dtype : param.var.dtype();
    if (parameter.type.is_handle() || (parameter.type.is_integer() && parameter.type.bits() % 8 != 0)) {
      return absl::UnimplementedError(
          absl::StrCat("function ", function.name, ": parameter ", name, " has type ", parameter.type.ToString()));
    }
    if (!param.buffer) {
      parameter.slot = slot_of(param.var.get());
      result.parameters_.push_back(std::move(parameter));
      continue;
    }
    parameter.written = written[i];
    parameter.alignment = std::max(param.buffer->alignment, 1);
    const auto bind = [&](const Expr& e) {
      Expected expected;
      const auto* var = dyn_cast<VarNode>(e);
      if (var != nullptr && !slots->contains(var)) expected.slot = slot_of(var);
      return expected;
    };
    for (const Expr& extent : param.buffer->shape) parameter.shape.push_back(bind(extent));
    for (const Expr& stride : param.buffer->strides) parameter.strides.push_back(bind(stride));
    if (param.buffer->elem_offset) parameter.offset_slot = bind(param.buffer->elem_offset).slot;
    result.parameters_.push_back(std::move(parameter));
  }
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Buffer& buffer = function.params[i].buffer;
    if (!buffer) continue;
    Parameter& parameter = result.parameters_[i];
    const auto compile = [&](const Expr& e, Expected& expected) {
      auto code = ScalarCode::Compile(e, *slots);
      if (code.ok()) expected.code = *std::move(code);
      return code.status();
    };
    for (size_t d = 0; d < parameter.shape.size(); ++d) {
      TW_RETURN_IF_ERROR(compile(buffer->shape[d], parameter.shape[d]));
    }
    for (size_t d = 0; d < parameter.strides.size(); ++d) {
      TW_RETURN_IF_ERROR(compile(buffer->strides[d], parameter.strides[d]));
    }
  }
  return result;
}

Refusal CallArguments::BindScalar(const Parameter& parameter, const TwTensor& tensor, int64_t* values) const {
  const auto* data = static_cast<const char*>(tensor.data) + tensor.byte_offset;
  uint64_t bits = 0;
  std::memcpy(&bits, data, static_cast<size_t>(parameter.type.bytes()));
  const DataType type = parameter.type;
  if (type.is_int() && type.bits() < 64) {
    const int shift = 64 - type.bits();
    values[parameter.slot] = static_cast<int64_t>(bits << shift) >> shift;
  } else if (type.is_float() && type.bits() < 32) {
    // Kernels take narrow numbers as floats.
    values[parameter.slot] = static_cast<int64_t>(ToBits(DataType::Float(32), FromBits(type, bits)));
  } else {
    values[parameter.slot] = static_cast<int64_t>(bits);
  }
  return {};
}

Refusal CallArguments::CheckArray(const Parameter& parameter, const TwTensor& tensor, const int64_t* values,
                                  Array* array) const {
  const auto rank = parameter.shape.size();
  bool empty = false;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t expected = parameter.shape[d].code.Run(values), extent = tensor.shape[d];
    if (extent != expected || extent < 0) {
      return Refuse(kTwErrorShape, parameter.label, ": dimension ", d, " has extent ", extent, ", expected ", expected);
    }
    empty = empty || extent == 0;
  }
  int64_t compact = 1, last = 0;
  for (size_t d = rank; d-- > 0;) {
    const int64_t expected = parameter.strides.empty() ? compact : parameter.strides[d].code.Run(values);
    const int64_t stride = StrideOf(tensor, d), extent = tensor.shape[d];
    if (stride != expected && extent > 1 && !empty) {
      return Refuse(kTwErrorStrides, parameter.label, ": dimension ", d, " has stride ", stride, ", expected ",
                    expected);
    }
    last += (extent - 1) * expected;
    compact *= extent;
  }
  array->bytes = empty ? 0 : (last + 1) * parameter.type.bytes() * parameter.type.lanes();
  array->data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (tensor.data == nullptr && array->bytes > 0) return Refuse(kTwErrorNullArgument, parameter.label, " has no data");
  if (reinterpret_cast<uintptr_t>(array->data) % static_cast<uintptr_t>(parameter.alignment) != 0) {
    return Refuse(kTwErrorAlignment, parameter.label, " is not aligned to ", parameter.alignment, " bytes");
  }
  return {};
}

Refusal CallArguments::Bind(TwTensor* const* args, int32_t num_args, TwDeviceType device, int64_t* values,
                            Arrays* arrays) const {
  if (num_args != static_cast<int32_t>(parameters_.size())) {
    return Refuse(kTwErrorArgumentCount, function_, " takes ", parameters_.size(), " arguments, got ", num_args);
  }
  arrays->resize(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (args[i] == nullptr) return Refuse(kTwErrorNullArgument, parameter.label, " is null");
    const TwTensor& tensor = *args[i];
    const bool right_device = parameter.is_array ? tensor.device.device_type == device : IsOnCpu(tensor);
    if (!right_device) {
      return Refuse(kTwErrorDevice, parameter.label, " lies on a device of type ", tensor.device.device_type,
                    device == kTwCuda && parameter.is_array ? ", not on a GPU" : ", not on the CPU");
    }
    if (tensor.ndim != static_cast<int32_t>(parameter.shape.size())) {
      return Refuse(kTwErrorRank, parameter.label, " has ", tensor.ndim, " dimensions, expected ",
                    parameter.shape.size());
    }
    const TwDataType type = AbiType(parameter.type);
    if (tensor.dtype.code != type.code || tensor.dtype.bits != type.bits || tensor.dtype.lanes != type.lanes) {
      return Refuse(kTwErrorType, parameter.label, " has another element type than ", parameter.type.ToString());
    }
    if (!parameter.is_array) {
      if (tensor.data == nullptr) return Refuse(kTwErrorNullArgument, parameter.label, " has no data");
      BindScalar(parameter, tensor, values);
      continue;
    }
    for (size_t d = 0; d < parameter.shape.size(); ++d) {
      if (parameter.shape[d].slot >= 0) values[parameter.shape[d].slot] = tensor.shape[d];
    }
    for (size_t d = 0; d < parameter.strides.size(); ++d) {
      if (parameter.strides[d].slot >= 0) values[parameter.strides[d].slot] = StrideOf(tensor, d);
    }
    if (parameter.offset_slot >= 0) values[parameter.offset_slot] = 0;
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].is_array) continue;
    Refusal refusal = CheckArray(parameters_[i], *args[i], values, &(*arrays)[i]);
    if (refusal.code != kTwOk) return refusal;
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    for (size_t j = i + 1; j < parameters_.size(); ++j) {
      if (!parameters_[i].written && !parameters_[j].written) continue;
      const Array &a = (*arrays)[i], &b = (*arrays)[j];
      const auto first = reinterpret_cast<uintptr_t>(a.data), second = reinterpret_cast<uintptr_t>(b.data);
      if (a.bytes == 0 || b.bytes == 0) continue;
      if (first < second + static_cast<uintptr_t>(b.bytes) && second < first + static_cast<uintptr_t>(a.bytes)) {
        return Refuse(kTwErrorAliasing, parameters_[i].label, " and ", parameters_[j].label,
                      " overlap, and one of them is written");
      }
    }
  }
  return {};
}

}  // namespace tilewright::cuda

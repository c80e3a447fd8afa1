// The data types that a benchmark runs in.
//
// One name stands for the types of all three tensors of an operator, because that is how hardware offers them:
//
//   name   activation  weight  output   products are summed in
//   f32    f32         f32     f32      f32
//   bf16   bf16        bf16    f32      f32
//   int8   u8          s8      s32      s32, exactly
//   s8s8   s8          s8      s32      s32, exactly
#ifndef TILEWRIGHT_BENCH_DTYPE_H_
#define TILEWRIGHT_BENCH_DTYPE_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/runtime/tensor_abi.h"

namespace tilewright::bench {

enum class DType { kF32, kBf16, kInt8, kS8S8 };

// Whether results are exact.
inline bool IsInteger(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kS8S8; }

std::string_view Name(DType dtype);

// "f32,bf16" -> {kF32, kBf16}.
absl::StatusOr<std::vector<DType>> ParseDTypes(std::string_view text);

TwDataType ActivationType(DType dtype);
TwDataType WeightType(DType dtype);
TwDataType OutputType(DType dtype);

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_DTYPE_H_

// The data types that a benchmark runs in.
//
// One name stands for the types of all three tensors of an operator, because that is how hardware offers them:
//
//   name   activation  weight  output   products are summed in
//   f32    f32         f32     f32      f32
//   bf16   bf16        bf16    f32      f32
//   f16    f16         f16     f16      f16
//   f16f32 f16         f16     f32      f32
//   f16h   f16         f16     f16      f32, then rounded
//   bf16h  bf16        bf16    bf16     f32, then rounded
//   e4m3   e4m3        e4m3    f32      f32
//   int8   u8          s8      s32      s32, exactly
//   s8s8   s8          s8      s32      s32, exactly
//   int8q  u8          s8      u8       s32, exactly, then requantized
//   s8s8q  s8          s8      s8       s32, exactly, then requantized
//
// ATT sums in f32 in all of them, and has no integers.
//
// CBR turns s32 sums into f32 and goes on there, so its output is f32 in int8 and s8s8. The row operators have no
// products; they compute in f32, integers standing for themselves. Their output is bf16 in bf16 and bf16h, f16 in f16,
// f16f32 and f16h, and f32 in e4m3, int8 and s8s8 (OutputType() in bench/operators/problem.h).
//
// f16h and bf16h are what cuBLASLt, cuDNN and PyTorch give: the types to compare with on a GPU.
//
// To requantize is to multiply by a scale, round to the nearest integer and clamp to the range of the output's type
// (bench/operators/requantization.h).
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/abi/tensor_abi.h"
#include "ir/data_type.h"

namespace tilewright::bench {

enum class DType { kF32, kBf16, kF16, kF16F32, kF16H, kBf16H, kE4M3, kInt8, kS8S8, kInt8Q, kS8S8Q };

// Whether products are summed exactly.
inline bool IsInteger(DType dtype) { return dtype >= DType::kInt8; }

// Whether the sums become 8-bit integers again.
inline bool IsRequantized(DType dtype) { return dtype == DType::kInt8Q || dtype == DType::kS8S8Q; }

std::string_view Name(DType dtype);

// "f32,bf16" -> {kF32, kBf16}.
absl::StatusOr<std::vector<DType>> ParseDTypes(std::string_view text);

TwDataType ActivationType(DType dtype);
TwDataType WeightType(DType dtype);
// The type that products are summed in.
TwDataType SumType(DType dtype);
// The type that sums of products are stored in.
TwDataType ResultType(DType dtype);

// What a tensor's type is called in a program.
DataType ProgramType(TwDataType dtype);

}  // namespace tilewright::bench

#include "bench/harness/dtype.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  TwDataType activation, weight, sum, result;
};

constexpr TwDataType kE4M3 = {kTwFloat8E4M3, 8, 1};
constexpr TwDataType kF32 = runtime::kFloat32, kF16 = runtime::kFloat16, kBf16 = runtime::kBfloat16;
constexpr TwDataType kU8 = runtime::kUInt8, kS8 = runtime::kInt8, kS32 = runtime::kInt32;

constexpr Row kRows[] = {
    {DType::kF32, "f32", kF32, kF32, kF32, kF32},     {DType::kBf16, "bf16", kBf16, kBf16, kF32, kF32},
    {DType::kF16, "f16", kF16, kF16, kF16, kF16},     {DType::kF16F32, "f16f32", kF16, kF16, kF32, kF32},
    {DType::kF16H, "f16h", kF16, kF16, kF32, kF16},   {DType::kBf16H, "bf16h", kBf16, kBf16, kF32, kBf16},
    {DType::kE4M3, "e4m3", kE4M3, kE4M3, kF32, kF32}, {DType::kInt8, "int8", kU8, kS8, kS32, kS32},
    {DType::kS8S8, "s8s8", kS8, kS8, kS32, kS32},     {DType::kInt8Q, "int8q", kU8, kS8, kS32, kU8},
    {DType::kS8S8Q, "s8s8q", kS8, kS8, kS32, kS8},
};

const Row& RowOf(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view Name(DType dtype) { return RowOf(dtype).name; }
TwDataType ActivationType(DType dtype) { return RowOf(dtype).activation; }
TwDataType WeightType(DType dtype) { return RowOf(dtype).weight; }
TwDataType SumType(DType dtype) { return RowOf(dtype).sum; }
TwDataType ResultType(DType dtype) { return RowOf(dtype).result; }

DataType ProgramType(TwDataType dtype) {
  switch (dtype.code) {
    case kTwFloat:
      return DataType::Float(dtype.bits);
    case kTwBfloat:
      return DataType::BFloat16();
    case kTwFloat8E4M3:
      return {TypeCode::kE4M3, 8};
    case kTwInt:
      return DataType::Int(dtype.bits);
    default:
      return DataType::UInt(dtype.bits);
  }
}

absl::StatusOr<std::vector<DType>> ParseDTypes(std::string_view text) {
  std::vector<DType> dtypes;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    const size_t before = dtypes.size();
    for (const Row& row : kRows) {
      if (row.name == word) dtypes.push_back(row.dtype);
    }
    if (dtypes.size() == before) {
      return absl::InvalidArgumentError(absl::StrCat("unknown data type '", word, "'; there are ",
                                                     absl::StrJoin(kRows, ", ", [](std::string* out, const Row& row) {
                                                       absl::StrAppend(out, std::string(row.name));
                                                     })));
    }
  }
  return dtypes;
}

}  // namespace tilewright::bench

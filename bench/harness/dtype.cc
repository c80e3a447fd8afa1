#include "bench/harness/dtype.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  TwDataType activation, weight, product;
};

constexpr Row kRows[] = {
    {DType::kF32, "f32", runtime::kFloat32, runtime::kFloat32, runtime::kFloat32},
    {DType::kBf16, "bf16", runtime::kBfloat16, runtime::kBfloat16, runtime::kFloat32},
    {DType::kInt8, "int8", runtime::kUInt8, runtime::kInt8, runtime::kInt32},
    {DType::kS8S8, "s8s8", runtime::kInt8, runtime::kInt8, runtime::kInt32},
    {DType::kInt8Q, "int8q", runtime::kUInt8, runtime::kInt8, runtime::kUInt8},
    {DType::kS8S8Q, "s8s8q", runtime::kInt8, runtime::kInt8, runtime::kInt8},
};

const Row& RowOf(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view Name(DType dtype) { return RowOf(dtype).name; }
TwDataType ActivationType(DType dtype) { return RowOf(dtype).activation; }
TwDataType WeightType(DType dtype) { return RowOf(dtype).weight; }
TwDataType ProductType(DType dtype) { return RowOf(dtype).product; }

absl::StatusOr<std::vector<DType>> ParseDTypes(std::string_view text) {
  std::vector<DType> dtypes;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    const size_t before = dtypes.size();
    for (const Row& row : kRows) {
      if (row.name == word) dtypes.push_back(row.dtype);
    }
    if (dtypes.size() == before) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown data type '", word, "'; there are f32, bf16, int8, s8s8, int8q and s8s8q"));
    }
  }
  return dtypes;
}

}  // namespace tilewright::bench

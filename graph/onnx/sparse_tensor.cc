#include "graph/onnx/sparse_tensor.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright::graph {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 32;

int64_t NumberAt(const TensorView& view, int64_t i) {
  int64_t number = 0;
  std::memcpy(&number, view.bytes.data() + static_cast<size_t>(i) * sizeof(number), sizeof(number));
  return number;
}

}  // namespace

absl::StatusOr<NDArray> DenseArray(ModelFile& file, const onnx::SparseTensorProto& sparse) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("sparse tensor \"", sparse.values().name(), "\": ", what));
  };
  TW_ASSIGN_OR_RETURN(const TensorView values, file.Tensor(sparse.values()));
  TW_ASSIGN_OR_RETURN(const TensorView places, file.Tensor(sparse.indices()));
  const std::vector<int64_t> shape(sparse.dims().begin(), sparse.dims().end());
  const int64_t width = values.dtype.bytes();
  int64_t bytes = width;
  for (int64_t extent : shape) {
    if (extent < 1 || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMostBytes) {
      return error("an extent is below 1, or all are too large");
    }
  }
  if (values.shape.size() != 1 || places.dtype != DataType::Int(64)) return error("values or indices of another form");
  const auto rank = static_cast<int64_t>(shape.size()), count = values.shape[0];
  const bool linear = places.shape == std::vector<int64_t>{count};
  if (!linear && places.shape != std::vector<int64_t>{count, rank}) return error("indices do not fit the values");
  NDArray array(values.dtype, shape);
  std::memset(array.data(), 0, static_cast<size_t>(bytes));
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = linear ? NumberAt(places, i) : 0;
    for (int64_t d = 0; !linear && d < rank; ++d) {
      const int64_t index = NumberAt(places, i * rank + d), extent = shape[static_cast<size_t>(d)];
      if (index < 0 || index >= extent) return error("an index is outside");
      position = position * extent + index;
    }
    if (position < 0 || position >= bytes / width) return error("an index is outside");
    std::memcpy(static_cast<std::byte*>(array.data()) + position * width, values.bytes.data() + i * width,
                static_cast<size_t>(width));
  }
  return array;
}

}  // namespace tilewright::graph

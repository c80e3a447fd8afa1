#include "graph/onnx/model_inputs.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/model_file.h"

namespace tilewright::graph {
namespace {

constexpr int64_t kMaxArrayBytes = int64_t{4} << 30;

}  // namespace

std::string ArrayPath(const std::string& folder, std::string name) {
  for (char& c : name) {
    if (c == '/' || c == ':') c = '_';
  }
  return absl::StrCat(folder, "/", name, ".npy");
}

absl::StatusOr<NDArray> RandomInput(const onnx::ValueInfoProto& input, const std::map<std::string, int64_t>& dims,
                                    uint64_t seed, int64_t below) {
  if (!input.type().has_tensor_type()) return absl::InvalidArgumentError("it is not a tensor, and no file gives it");
  const auto& type = input.type().tensor_type();
  TW_ASSIGN_OR_RETURN(const DataType dtype, ElementType(type.elem_type()));
  std::vector<int64_t> shape;
  int64_t bytes = dtype.bytes();
  for (const auto& dim : type.shape().dim()) {
    int64_t extent = dim.dim_value();
    if (!dim.has_dim_value()) {
      const std::string name = DimensionName(input, static_cast<int>(shape.size()));
      const auto bound = dims.find(name);
      if (bound == dims.end()) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", name, " needs a number: --dim ", name, "=NUMBER"));
      }
      extent = bound->second;
    }
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMaxArrayBytes) {
      return absl::InvalidArgumentError(absl::StrCat("an extent of ", extent, " is negative, or too large to run"));
    }
    shape.push_back(extent);
  }
  NDArray array(dtype, std::move(shape));
  if (dtype.is_float()) {
    FillUniform(array, seed);
  } else {
    FillUniform(array, seed, 0, static_cast<double>(below));
  }
  return array;
}

}  // namespace tilewright::graph

// Sparse tensors of a model, as dense arrays.
#pragma once

#include "absl/status/statusor.h"
#include "graph/onnx/model_file.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

// The elements at their places, zeros elsewhere. Places are row-major positions, or one row of indices an element.
absl::StatusOr<NDArray> DenseArray(ModelFile& file, const onnx::SparseTensorProto& sparse);

}  // namespace tilewright::graph

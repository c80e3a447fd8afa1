// Tensors as the table of cases writes them: TYPE:EXTENTS and how the elements come about (README.md).
//
//   64,128            numbers in [-1, 1)
//   i64:64,5~0..99    integers from 0 to 99
//   u8:()=128         a scalar
//   i64:6=i*5%6       a formula of the position
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/ndarray.h"
#include "onnx/onnx_pb.h"

namespace tilewright::bench {

// The elements of a tensor: drawn from [low, high] (integers) or [low, high) (numbers), given, or computed.
struct NodeTensor {
  int32_t type = onnx::TensorProto::FLOAT;
  std::vector<int64_t> shape;
  int batch_axis = -1;  // the extent that --symbolic makes a dimension
  double low = -1, high = 1;
  std::vector<std::string> values;  // as many as there are elements
  std::string formula;              // of the position `i`
};

absl::StatusOr<NodeTensor> ParseNodeTensor(absl::string_view text);
// Whether a text begins with the name of a type and a colon.
bool HasTypeName(absl::string_view text);
// Numbers and integers; elements of four bits take a byte each. Equal seeds give equal arrays.
NDArray ArrayOf(const NodeTensor& tensor, uint64_t seed);
// The same as a constant of a model, strings too.
onnx::TensorProto ProtoOf(const NodeTensor& tensor, const std::string& name, uint64_t seed);

}  // namespace tilewright::bench

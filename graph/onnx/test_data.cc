#include "graph/onnx/test_data.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "onnx/onnx-data_pb.h"

namespace tilewright::graph {
namespace {

absl::StatusOr<NDArray> ArrayOfTensor(const onnx::TensorProto& tensor) {
  TW_ASSIGN_OR_RETURN(const TensorView view, TensorOf(tensor));
  NDArray array(view.dtype, view.shape);
  std::memcpy(array.data(), view.bytes.data(), view.bytes.size());
  return array;
}

absl::Status AddSequence(const onnx::SequenceProto& sequence, TestValue* value) {
  for (const onnx::TensorProto& tensor : sequence.tensor_values()) {
    TW_ASSIGN_OR_RETURN(NDArray array, ArrayOfTensor(tensor));
    value->arrays.push_back(std::move(array));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TestValue> ReadTestValue(const std::string& path, const onnx::TypeProto& type) {
  TW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  TestValue value;
  if (type.has_sequence_type()) {
    onnx::SequenceProto sequence;
    if (!sequence.ParseFromString(text)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a sequence"));
    value.kind = Item::Kind::kSequence;
    TW_RETURN_IF_ERROR(AddSequence(sequence, &value));
    return value;
  }
  if (type.has_optional_type()) {
    onnx::OptionalProto optional;
    if (!optional.ParseFromString(text)) return absl::InvalidArgumentError(absl::StrCat(path, " is not an optional"));
    value.kind = Item::Kind::kOptional;
    if (optional.has_sequence_value()) TW_RETURN_IF_ERROR(AddSequence(optional.sequence_value(), &value));
    if (optional.has_tensor_value()) {
      TW_ASSIGN_OR_RETURN(NDArray array, ArrayOfTensor(optional.tensor_value()));
      value.arrays.push_back(std::move(array));
    }
    return value;
  }
  onnx::TensorProto tensor;
  if (!tensor.ParseFromString(text)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a tensor"));
  // The tests keep bfloat16 as uint16.
  if (type.tensor_type().elem_type() == onnx::TensorProto::BFLOAT16) tensor.set_data_type(onnx::TensorProto::BFLOAT16);
  TW_ASSIGN_OR_RETURN(NDArray array, ArrayOfTensor(tensor));
  value.arrays.push_back(std::move(array));
  return value;
}

}  // namespace tilewright::graph

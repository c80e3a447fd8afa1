// Finds the elements of tensors in the wire format of a model.
//
// A model is nested messages; a tensor's elements are the field raw_data, most of the file. `StripTensors` copies all
// but large raw_data, and leaves in its place an external-data entry that says where it lies:
//
//   TensorProto{dims: [64, 64], raw_data: <16384 bytes at 731>}
//   TensorProto{dims: [64, 64], data_location: EXTERNAL, external_data: [{location: kThisFile}, {offset: 731}, ...]}
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tilewright::graph {

// The location that stands for the model's own file. No file has that name.
inline constexpr char kThisFile[] = "\x01this file";

// The serialized model without its tensors' elements. Errors: what is not a well-formed message, with its byte.
absl::StatusOr<std::string> StripTensors(absl::Span<const std::byte> model);

}  // namespace tilewright::graph

// Attributes as the table of cases writes them: 2, 0.5, linear, "a,b->c", 1,1 or [1], f32:3=1,2,3 (README.md).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "onnx/onnx_pb.h"

namespace tilewright::bench {

// Adds what `text` says to the node: an integer, a number, a word, a list of one of these, or a tensor.
absl::Status AddAttribute(const std::string& name, const std::string& text, onnx::NodeProto& node);

}  // namespace tilewright::bench

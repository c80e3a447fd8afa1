// Outputs as a model declares them, beside what its nodes give.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/onnx/item.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// An item as messages show it: "R.Tensor((2, n), \"float32\")", "sequence of 3".
std::string Describe(const Item& item);

// An error where a tensor is declared with another type than `item` has. `from` says where the item is from:
// "node \"a\" (Add) gives". Declared extents are not compared: tools write those of an example, which other engines
// take for a hint as well.
absl::Status CheckDeclared(const onnx::ValueInfoProto& output, const Item& item, absl::string_view from);

}  // namespace tilewright::graph

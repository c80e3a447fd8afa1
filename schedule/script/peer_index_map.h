// Index maps in the peer's traces: graphs of nodes as JSON.
//
//   {"root_index": 9, "nodes": [{"type": "None"}, ..., {"type": "ffi.String", "data": "i"},
//     {"type": "ir.Var", "data": {"name": 2, ...}}, ...,                          ->    lambda i: (i // 4, i % 4)
//     {"type": "prim.FloorDiv", "data": {"a": 3, "b": 7}}, ...,
//     {"type": "tirx.IndexMap", "data": {"initial_indices": 4, "final_indices": 8, ...}}]}
//
// The fields of a node are numbers of other nodes.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tilewright {

// The text of the lambda. With `typed_constants`, constants that are not int32 name their type (values of padding);
// without, they take the type of the indices.
absl::StatusOr<std::string> LambdaOfPeerIndexMap(std::string_view json, bool typed_constants);

}  // namespace tilewright

// A line of the table of cases (cases.txt): a small model, its inputs, and how far results may be apart.
//
//   Conv x=n1,64,56,56 w=64,64,3,3 pads=1,1,1,1
//
// The syntax is in README.md.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/models/nodes/node_tensor.h"
#include "ir/ndarray.h"
#include "onnx/onnx_pb.h"

namespace tilewright::bench {

struct NodeInput {
  std::string name;
  NodeTensor tensor;
};

struct NodeCase {
  std::string text;
  double tolerance = 1e-3;
  // Domain and name of each operator, also of bodies.
  std::set<std::pair<std::string, std::string>> operators;
  std::vector<NodeInput> inputs;
  onnx::ModelProto model;

  // Whether an extent is marked as that of the batch.
  bool has_batch() const;
  // The size of the batch by the name of its dimension in the symbolic model; none where there is no batch.
  std::map<std::string, int64_t> Batch() const;
  // The model with that dimension in place of each marked extent.
  onnx::ModelProto Symbolic() const;
  // One array for each input; equal seeds give equal ones.
  std::vector<NDArray> Arrays(uint64_t seed) const;
};

// Errors name the word that cannot be read.
absl::StatusOr<NodeCase> ParseNodeCase(absl::string_view line);
// The cases of a table; empty lines and those that begin with # are left out. Errors name the line's number.
absl::StatusOr<std::vector<NodeCase>> ParseNodeCases(absl::string_view text);

}  // namespace tilewright::bench

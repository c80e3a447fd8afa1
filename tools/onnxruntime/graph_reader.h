// A graph of ONNX Runtime as messages of ONNX.
//
//   TW_ASSIGN_OR_RETURN(const GivenGraph graph, ReadGraph(api, ort_graph));
//   const SetModel model = ModelOf(graph, {0, 1, 4});        // of some of its nodes
//   std::string bytes = model.Bytes();                       // constants copied once
//
// Constants stay in ONNX Runtime's memory until Bytes() is called.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "tools/onnxruntime/ort_abi.h"

namespace tilewright::onnxruntime {

// A constant: a tensor without its elements, which lie at `data`.
struct GivenConstant {
  onnx::TensorProto tensor;
  const void* data = nullptr;
  size_t bytes = 0;
};

struct GivenNode {
  const OrtNode* handle = nullptr;
  onnx::NodeProto node;         // its name is no other node's
  std::set<std::string> reads;  // its inputs, and what its bodies read from around them
  std::string obstacle;         // why the messages cannot say what it is; empty: they do
};

struct GivenGraph {
  onnx::ModelProto head;         // versions
  std::vector<GivenNode> nodes;  // each after those whose results it reads
  // Tensors by name. What is not here is a sequence, an optional or a map.
  std::map<std::string, onnx::ValueInfoProto> tensors;
  std::map<std::string, GivenConstant> constants;
  std::set<std::string> outputs;
  std::map<std::string, size_t> node_numbers;  // by name, those in the nodes' bodies too
};

absl::StatusOr<GivenGraph> ReadGraph(const Ort& api, const OrtGraph* graph);

// Names of a list of values: a graph's inputs, a node's outputs. Empty where an optional one is not given.
absl::StatusOr<std::vector<std::string>> NamesOf(const Ort& api, const std::vector<const OrtValueInfo*>& values);
absl::StatusOr<std::vector<const OrtValueInfo*>> InputsOf(const Ort& api, const OrtNode* node);
absl::StatusOr<std::vector<const OrtValueInfo*>> OutputsOf(const Ort& api, const OrtNode* node);
absl::StatusOr<std::vector<const OrtNode*>> NodesOf(const Ort& api, const OrtGraph* graph);

struct SetModel {
  onnx::ModelProto model;  // without constants
  std::vector<const GivenConstant*> constants;
  // Nodes that read or write, across the border of the set, what is not a tensor of a known rank and a type that both
  // sides store alike; and why.
  std::map<size_t, std::string> obstacles;

  std::string Bytes() const;
};

// The nodes, by number, in order. Outputs are the values that others need.
SetModel ModelOf(const GivenGraph& graph, const std::vector<size_t>& nodes);

}  // namespace tilewright::onnxruntime

// Loops whose bodies are imported once for each iteration.
//
//   Scan of [3, n]                 three copies of the body, each with a slice of the sequence; what they give for a
//                                  result is put one after the other
//
// For sequences and optionals, whose lengths are then known, and for libraries where the number of iterations is known
// when the model is imported: what an iteration computes may then depend on its number.
#pragma once

#include "absl/status/status.h"
#include "graph/onnx/node.h"

namespace tilewright::graph {

// Whether a library's Loop or Scan is imported so; elsewhere its body is a function.
bool UnrollsLoop(OnnxNode& n, const onnx::GraphProto& graph, const Items& carried);
bool UnrollsScan(OnnxNode& n, const Item& sequence);

// A Loop; `carried` are the initial values.
absl::Status UnrollLoop(OnnxNode& n, const onnx::GraphProto& graph, Items carried);

// What a Scan iterates over, and the results that it puts together: each along its first dimension, from the end where
// it is reversed.
struct ScanSequences {
  Items items;
  std::vector<bool> reversed, results_reversed;
};
// Carried results, then those that were put together. Nothing where nodes of the body cannot be imported.
absl::StatusOr<Items> UnrollScan(OnnxNode& n, const onnx::GraphProto& graph, Items carried,
                                 const ScanSequences& sequences);

}  // namespace tilewright::graph

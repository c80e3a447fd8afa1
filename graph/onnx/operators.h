// The table of operators: one function for each operator and range of opsets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tilewright::graph {

class OnnxNode;

struct OnnxOperator {
  const char* name;
  int64_t since;  // the first opset of this meaning
  absl::Status (*import)(OnnxNode&);
  const char* domain = "";
};
using OnnxOperators = std::vector<OnnxOperator>;

// The rows of each file.
OnnxOperators AttentionOperators();
OnnxOperators ElementwiseOperators();
OnnxOperators ShapeOperators();
OnnxOperators MovementOperators();
OnnxOperators IndexingOperators();
OnnxOperators ProductOperators();
OnnxOperators WindowOperators();
OnnxOperators ReductionOperators();
OnnxOperators NormalizationOperators();
OnnxOperators QuantizationOperators();
OnnxOperators RecurrentOperators();
OnnxOperators ResizeOperators();
OnnxOperators SamplingOperators();
OnnxOperators SequenceOperators();
OnnxOperators ControlOperators();
OnnxOperators SignalOperators();
OnnxOperators LossOperators();
OnnxOperators TrainingOperators();

// The row of an operator for an opset of its domain: the one with the largest `since` that is not above it. Null where
// there is none.
const OnnxOperator* FindOperator(std::string_view domain, std::string_view name, int64_t opset);
// Whether some opset has it.
bool IsKnownOperator(std::string_view domain, std::string_view name);

}  // namespace tilewright::graph

// The table of operators: one function for each operator and range of opsets, and what its operands are.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/element_types.h"

namespace tilewright::graph {

class OnnxNode;

// A set of inputs, by number.
using InputSet = uint32_t;
constexpr InputSet Inputs(std::initializer_list<int> inputs) {
  InputSet set = 0;
  for (int i : inputs) set |= InputSet{1} << i;
  return set;
}

// What ONNX limits of an operator's operands: its program is written for these. How many there are is in signatures.h.
struct OnnxOperands {
  Elements elements = Elements::kAny;  // of the first input
  InputSet integers = 0;               // inputs behind the first that hold positions, sizes or axes
  InputSet booleans = 0;               // the same for conditions
  bool reads_shape_only = false;       // results do not depend on elements
  const char* required = "";           // attributes that a node has to have, separated by blanks
  const char* only = "";               // attributes of which one value is supported: "causal=1 quant_type=int"

  Elements ElementsOf(size_t input) const;
};

struct OnnxOperator {
  const char* name;
  int64_t since;  // the first opset of this meaning
  absl::Status (*import)(OnnxNode&);
  OnnxOperands operands = {};
  const char* domain = "";
};
// An error where a node's operands are not what the row says.
absl::Status CheckOperands(const OnnxOperands& operands, const OnnxNode& node);

inline constexpr const char* kMicrosoft = "com.microsoft";
inline constexpr const char* kMachineLearning = "ai.onnx.ml";
using OnnxOperators = std::vector<OnnxOperator>;

// The rows of each file.
OnnxOperators AttentionOperators();
OnnxOperators CachedAttentionOperators();
OnnxOperators CastOperators();
OnnxOperators ExpertOperators();
OnnxOperators FusedOperators();
OnnxOperators PackedOperators();
OnnxOperators RotaryOperators();
OnnxOperators DeformOperators();
OnnxOperators ElementwiseOperators();
OnnxOperators ShapeOperators();
OnnxOperators MachineLearningOperators();
OnnxOperators MovementOperators();
OnnxOperators IndexingOperators();
OnnxOperators ProductOperators();
OnnxOperators WindowOperators();
OnnxOperators ReductionOperators();
OnnxOperators NormalizationOperators();
OnnxOperators QuantizationOperators();
OnnxOperators RandomOperators();
OnnxOperators RecurrentOperators();
OnnxOperators ResizeOperators();
OnnxOperators SamplingOperators();
OnnxOperators SequenceOperators();
OnnxOperators ControlOperators();
OnnxOperators SignalOperators();
OnnxOperators LossOperators();
OnnxOperators TrainingOperators();
OnnxOperators TreeOperators();

// The row of an operator for an opset of its domain: the one with the largest `since` that is not above it. Null where
// there is none.
const OnnxOperator* FindOperator(std::string_view domain, std::string_view name, int64_t opset);
// Whether some opset has it.
bool IsKnownOperator(std::string_view domain, std::string_view name);

}  // namespace tilewright::graph

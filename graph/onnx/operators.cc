#include "graph/onnx/operators.h"

#include <map>
#include <utility>

namespace tilewright::graph {
namespace {

// All rows by domain and name, by rising `since`.
using Table = std::map<std::pair<std::string, std::string>, std::map<int64_t, OnnxOperator>, std::less<>>;

const Table& AllOperators() {
  static const auto* const table = [] {
    auto* result = new Table;
    for (auto* rows : {AttentionOperators, ControlOperators, ElementwiseOperators, IndexingOperators, LossOperators,
                       MovementOperators, NormalizationOperators, ProductOperators, QuantizationOperators,
                       RecurrentOperators, ReductionOperators, ResizeOperators, SamplingOperators, SequenceOperators,
                       ShapeOperators, SignalOperators, TrainingOperators, WindowOperators}) {
      for (const OnnxOperator& op : rows()) (*result)[{op.domain, op.name}][op.since] = op;
    }
    return result;
  }();
  return *table;
}

}  // namespace

Elements OnnxOperands::ElementsOf(size_t input) const {
  if (input == 0) return elements;
  if (input >= 32) return Elements::kAny;
  const InputSet bit = InputSet{1} << input;
  if ((integers & bit) != 0) return Elements::kIntegers;
  return (booleans & bit) != 0 ? Elements::kBooleans : Elements::kAny;
}

const OnnxOperator* FindOperator(std::string_view domain, std::string_view name, int64_t opset) {
  auto versions = AllOperators().find(std::pair(std::string(domain), std::string(name)));
  if (versions == AllOperators().end()) return nullptr;
  auto after = versions->second.upper_bound(opset);
  return after == versions->second.begin() ? nullptr : &std::prev(after)->second;
}

bool IsKnownOperator(std::string_view domain, std::string_view name) {
  return AllOperators().contains(std::pair(std::string(domain), std::string(name)));
}

}  // namespace tilewright::graph

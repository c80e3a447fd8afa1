#include "graph/onnx/operators.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operator_list.h"

namespace tilewright::graph {
namespace {

// All rows by domain and name, by rising `since`.
using Table = std::map<std::pair<std::string, std::string>, std::map<int64_t, OnnxOperator>, std::less<>>;

const Table& AllOperators() {
  static const auto* const table = [] {
    auto* result = new Table;
    for (auto* rows : {AttentionOperators,     CachedAttentionOperators, CastOperators,
                       ControlOperators,       DeformOperators,          ElementwiseOperators,
                       ExpertOperators,        FusedOperators,           IndexingOperators,
                       LossOperators,          MachineLearningOperators, MovementOperators,
                       NormalizationOperators, PackedOperators,          ProductOperators,
                       QuantizationOperators,  RandomOperators,          RecurrentOperators,
                       ReductionOperators,     ResizeOperators,          RotaryOperators,
                       SamplingOperators,      SequenceOperators,        ShapeOperators,
                       SignalOperators,        TrainingOperators,        TreeOperators,
                       WindowOperators}) {
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

absl::Status CheckOperands(const OnnxOperands& operands, const OnnxNode& node) {
  const Items& inputs = node.in();
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(operands.required, ' ', absl::SkipEmpty()))) {
    if (node.Attr(name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("it has no attribute ", name));
    }
  }
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(operands.only, ' ', absl::SkipEmpty()))) {
    const std::pair<std::string, std::string> wanted = absl::StrSplit(word, '=');
    const onnx::AttributeProto* attribute = node.Attr(wanted.first);
    if (attribute == nullptr) continue;
    const std::string value = attribute->has_s() ? attribute->s() : absl::StrCat(attribute->i());
    if (value == wanted.second) continue;
    return absl::UnimplementedError(
        absl::StrCat("the attribute ", wanted.first, " is ", value, ", and only ", wanted.second, " is supported"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor() || TakesElements(operands.ElementsOf(i), inputs[i].dtype)) continue;
    const std::string which = i == 0 ? "" : absl::StrCat(" as input ", i);
    return absl::UnimplementedError(absl::StrCat("elements of this type are not supported", which));
  }
  return absl::OkStatus();
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

std::set<std::pair<std::string, std::string>> OperatorNames() {
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& [name, versions] : AllOperators()) names.insert(name);
  return names;
}

}  // namespace tilewright::graph

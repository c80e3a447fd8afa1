#include "graph/onnx/signatures.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/onnx/operators.h"

namespace tilewright::graph {
namespace {

using Words = std::vector<absl::string_view>;

int64_t NumberOf(absl::string_view text) {
  if (text == "*") return std::numeric_limits<int64_t>::max();
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : 0;
}

// "2-3" as the two numbers, "2" as the same twice, "2-" as 2 and `otherwise`.
std::pair<int64_t, int64_t> RangeOf(absl::string_view text, int64_t otherwise) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  const int64_t first = NumberOf(ends.first);
  if (!absl::StrContains(text, '-')) return {first, first};
  return {first, ends.second.empty() ? otherwise : NumberOf(ends.second)};
}

// The least and the largest number of operands at an opset.
std::pair<int64_t, int64_t> CountsAt(const char* column, int64_t opset) {
  std::pair<int64_t, int64_t> counts;
  for (const absl::string_view word : Words(absl::StrSplit(column, ' '))) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('@', 1));
    // The first word holds for older opsets too: the table has what ONNX has changed since.
    if (!parts.second.empty() && NumberOf(parts.second) > opset) break;
    counts = RangeOf(parts.first, 0);
  }
  return counts;
}

std::vector<std::string> AttributesAt(const char* column, int64_t opset) {
  std::vector<std::string> names;
  for (const absl::string_view word : Words(absl::StrSplit(column, ' ', absl::SkipEmpty()))) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('@', 1));
    const auto [first, last] = RangeOf(parts.second.empty() ? "0-" : parts.second, std::numeric_limits<int64_t>::max());
    if (first <= opset && opset <= last) names.emplace_back(parts.first);
  }
  return names;
}

absl::Status CheckCount(const char* column, int64_t opset, int64_t count, absl::string_view what,
                        absl::string_view verb) {
  const auto [least, most] = CountsAt(column, opset);
  if (count > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has more ", what, " than the operator ", verb, ": ", count, ", at most ", most));
  }
  if (count < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has fewer ", what, " than the operator ", verb, ": ", count, ", at least ", least));
  }
  return absl::OkStatus();
}

// Whether the value is 0 or empty.
bool IsZero(const onnx::AttributeProto& attribute) {
  return attribute.i() == 0 && attribute.f() == 0 && attribute.s().empty() && !attribute.has_t() &&
         !attribute.has_g() && attribute.ints().empty() && attribute.floats().empty() && attribute.strings().empty() &&
         attribute.tensors().empty() && attribute.graphs().empty();
}

}  // namespace

const SignatureRow* FindSignature(absl::string_view domain, absl::string_view name) {
  const std::span<const SignatureRow> rows = SignatureTable();
  const auto key = std::pair(domain, name);
  const auto at = std::lower_bound(rows.begin(), rows.end(), key, [](const SignatureRow& row, const auto& wanted) {
    return std::pair<absl::string_view, absl::string_view>(row.domain, row.name) < wanted;
  });
  return at == rows.end() || at->domain != domain || at->name != name ? nullptr : &*at;
}

absl::Status CheckAttributesAreUnique(const onnx::NodeProto& node) {
  std::set<absl::string_view> names;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (names.insert(attribute.name()).second) continue;
    return absl::InvalidArgumentError(absl::StrCat("it has the attribute ", attribute.name(), " twice"));
  }
  return absl::OkStatus();
}

absl::Status CheckNodeForm(absl::string_view domain, const onnx::NodeProto& node, int64_t opset) {
  const SignatureRow* row = FindSignature(domain, node.op_type());
  if (row == nullptr) return absl::OkStatus();
  const std::vector<std::string> names = AttributesAt(row->attributes, opset);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (std::find(names.begin(), names.end(), attribute.name()) != names.end()) continue;
    if (absl::StartsWith(attribute.name(), "__") || (domain == kMicrosoft && IsZero(attribute))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the attribute ", attribute.name(), " is not one of ", node.op_type(), "'s at opset ", opset,
                     ", which are: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  TW_RETURN_IF_ERROR(CheckCount(row->inputs, opset, node.input_size(), "inputs", "takes"));
  // Results behind the last one that is named are read by nobody.
  const int64_t outputs = std::max<int64_t>(node.output_size(), CountsAt(row->outputs, opset).first);
  return CheckCount(row->outputs, opset, outputs, "outputs", "gives");
}

}  // namespace tilewright::graph

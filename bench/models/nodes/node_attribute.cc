#include "bench/models/nodes/node_attribute.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "bench/models/nodes/formula.h"
#include "bench/models/nodes/node_tensor.h"

namespace tilewright::bench {
namespace {

using onnx::AttributeProto;

bool IsInteger(const std::string& text) {
  int64_t value;
  return absl::SimpleAtoi(text, &value);
}

// "nan" and "inf" are words, as some operators name their modes.
bool IsNumber(const std::string& text) {
  float value;
  return absl::SimpleAtof(text, &value) && text.find_first_of("0123456789") != std::string::npos;
}

float NumberOf(const std::string& text) {
  float value = 0;
  return absl::SimpleAtof(text, &value) ? value : 0;
}

void SetSingle(const std::string& text, AttributeProto& attribute) {
  if (IsInteger(text)) {
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(std::stoll(text));
  } else if (IsNumber(text)) {
    attribute.set_type(AttributeProto::FLOAT);
    attribute.set_f(NumberOf(text));
  } else {
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(text);
  }
}

void SetList(const std::vector<std::string>& parts, AttributeProto& attribute) {
  if (std::ranges::all_of(parts, IsInteger)) {
    attribute.set_type(AttributeProto::INTS);
    for (const std::string& part : parts) attribute.add_ints(std::stoll(part));
  } else if (std::ranges::all_of(parts, IsNumber)) {
    attribute.set_type(AttributeProto::FLOATS);
    for (const std::string& part : parts) attribute.add_floats(NumberOf(part));
  } else {
    attribute.set_type(AttributeProto::STRINGS);
    for (const std::string& part : parts) attribute.add_strings(part);
  }
}

// COUNT~LOW..HIGH: numbers that are drawn. COUNT=FORMULA: integers. COUNT=FORMULA:WORD,WORD: the word of that number.
absl::StatusOr<std::vector<std::string>> LongList(absl::string_view text) {
  const size_t end = text.find_first_of("~=");
  int64_t count;
  if (!absl::SimpleAtoi(text.substr(0, end), &count) || count < 0 || count > (1 << 24)) {
    return absl::InvalidArgumentError("a long list begins with the number of its elements");
  }
  std::vector<std::string> parts;
  if (text[end] == '~') {
    TW_ASSIGN_OR_RETURN(const NodeTensor tensor, ParseNodeTensor(text));
    const NDArray drawn = ArrayOf(tensor, static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count; ++i) parts.push_back(absl::StrFormat("%.6f", drawn.Get(i)));
    return parts;
  }
  const std::vector<std::string> sides = absl::StrSplit(text.substr(end + 1), absl::MaxSplits(':', 1));
  std::vector<std::string> words;
  if (sides.size() == 2) words = absl::StrSplit(sides[1], ',');
  for (int64_t i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(const int64_t value, EvaluateFormula(sides[0], i));
    if (words.empty()) {
      parts.push_back(absl::StrCat(value));
    } else if (value >= 0 && value < static_cast<int64_t>(words.size())) {
      parts.push_back(words[static_cast<size_t>(value)]);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("there is no word ", value));
    }
  }
  return parts;
}

}  // namespace

absl::Status AddAttribute(const std::string& name, const std::string& text, onnx::NodeProto& node) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  if (text.size() > 1 && text.starts_with('"') && text.ends_with('"')) {
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(text.substr(1, text.size() - 2));
  } else if (HasTypeName(text)) {
    TW_ASSIGN_OR_RETURN(const NodeTensor tensor, ParseNodeTensor(text));
    attribute.set_type(AttributeProto::TENSOR);
    *attribute.mutable_t() = ProtoOf(tensor, name, /*seed=*/1);
  } else if (text.starts_with('[') && text.ends_with(']')) {
    const std::string inside = text.substr(1, text.size() - 2);
    std::vector<std::string> parts = absl::StrSplit(inside, ',', absl::SkipEmpty());
    if (inside.find_first_of("~=") != std::string::npos) {
      TW_ASSIGN_OR_RETURN(parts, LongList(inside));
    }
    SetList(parts, attribute);
  } else if (text.find(',') != std::string::npos) {
    SetList(absl::StrSplit(text, ','), attribute);
  } else {
    SetSingle(text, attribute);
  }
  return absl::OkStatus();
}

}  // namespace tilewright::bench

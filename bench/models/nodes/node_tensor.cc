#include "bench/models/nodes/node_tensor.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "bench/models/nodes/formula.h"
#include "graph/onnx/model_file.h"

namespace tilewright::bench {
namespace {

using onnx::TensorProto;

struct TypeRow {
  absl::string_view name;
  int32_t type;
  double low, high;  // of elements that are drawn
  bool is_float = false;
};
// The last two have no name in the messages of ONNX 1.14.
constexpr int32_t kUInt4 = 21, kInt4 = 22;
constexpr TypeRow kTypes[] = {
    {"f32", TensorProto::FLOAT, -1, 1, true},
    {"f16", TensorProto::FLOAT16, -1, 1, true},
    {"bf16", TensorProto::BFLOAT16, -1, 1, true},
    {"f64", TensorProto::DOUBLE, -1, 1, true},
    {"e4m3", 17, -1, 1, true},
    {"e5m2", 19, -1, 1, true},
    {"i8", TensorProto::INT8, -128, 127},
    {"i16", TensorProto::INT16, 0, 99},
    {"i32", TensorProto::INT32, 0, 99},
    {"i64", TensorProto::INT64, 0, 99},
    {"u8", TensorProto::UINT8, 0, 255},
    {"u16", TensorProto::UINT16, 0, 99},
    {"u32", TensorProto::UINT32, 0, 99},
    {"u64", TensorProto::UINT64, 0, 99},
    {"bool", TensorProto::BOOL, 0, 1},
    {"str", TensorProto::STRING, 0, 0},
    {"u4", kUInt4, 0, 15},
    {"i4", kInt4, -8, 7},
};

const TypeRow* RowOf(absl::string_view name) {
  const auto* row = std::ranges::find(kTypes, name, &TypeRow::name);
  return row == std::end(kTypes) ? nullptr : row;
}

const TypeRow& RowOf(int32_t type) { return *std::ranges::find(kTypes, type, &TypeRow::type); }

int64_t SizeOf(const NodeTensor& tensor) {
  int64_t size = 1;
  for (int64_t extent : tensor.shape) size *= extent;
  return size;
}

absl::Status ParseExtents(absl::string_view text, NodeTensor& tensor) {
  if (text == "()") return absl::OkStatus();
  constexpr int64_t kMost = int64_t{1} << 28;
  int64_t size = 1;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    if (absl::ConsumePrefix(&part, "n")) tensor.batch_axis = static_cast<int>(tensor.shape.size());
    int64_t extent;
    if (!absl::SimpleAtoi(part, &extent) || extent < 0 || extent > kMost || (size *= extent) > kMost) {
      return absl::InvalidArgumentError(absl::StrCat("\"", part, "\" is not an extent"));
    }
    tensor.shape.push_back(extent);
  }
  return absl::OkStatus();
}

absl::Status ParseRange(absl::string_view text, NodeTensor& tensor) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, "..");
  if (ends.size() == 2 && absl::SimpleAtod(ends[0], &tensor.low) && absl::SimpleAtod(ends[1], &tensor.high) &&
      tensor.low <= tensor.high) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a range LOW..HIGH"));
}

absl::Status ParseValues(absl::string_view text, NodeTensor& tensor) {
  const bool is_formula = tensor.type != TensorProto::STRING && text.find('i') != absl::string_view::npos &&
                          text.find("inf") == absl::string_view::npos;
  if (is_formula) {
    tensor.formula = std::string(text);
    return EvaluateFormula(text, 0).status();
  }
  tensor.values = absl::StrSplit(text, ',');
  double value;
  for (const std::string& one : tensor.values) {
    if (tensor.type != TensorProto::STRING && !absl::SimpleAtod(one, &value)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", one, "\" is not a number"));
    }
  }
  if (static_cast<int64_t>(tensor.values.size()) == SizeOf(tensor)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(tensor.values.size(), " elements for a tensor of ", SizeOf(tensor), ": \"", text, "\""));
}

// Two elements of four bits in a byte, the first in the low half.
std::string PackFours(const NDArray& array) {
  std::string packed(static_cast<size_t>((array.size() + 1) / 2), '\0');
  for (int64_t i = 0; i < array.size(); ++i) {
    const auto half = static_cast<unsigned>(array.GetInt(i)) & 15u;
    char& byte = packed[static_cast<size_t>(i / 2)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) | half << (i % 2 * 4));
  }
  return packed;
}

}  // namespace

bool HasTypeName(absl::string_view text) {
  const size_t colon = text.find(':');
  return colon != absl::string_view::npos && RowOf(text.substr(0, colon)) != nullptr;
}

absl::StatusOr<NodeTensor> ParseNodeTensor(absl::string_view text) {
  NodeTensor tensor;
  if (const size_t colon = text.find(':'); colon != absl::string_view::npos) {
    const TypeRow* row = RowOf(text.substr(0, colon));
    if (row == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text.substr(0, colon), "\" is not a type"));
    }
    tensor.type = row->type;
    tensor.low = row->low;
    tensor.high = row->high;
    text.remove_prefix(colon + 1);
  }
  const size_t end = std::min(text.find_first_of("~="), text.size());
  TW_RETURN_IF_ERROR(ParseExtents(text.substr(0, end), tensor));
  if (end < text.size() && text[end] == '~') TW_RETURN_IF_ERROR(ParseRange(text.substr(end + 1), tensor));
  if (end < text.size() && text[end] == '=') TW_RETURN_IF_ERROR(ParseValues(text.substr(end + 1), tensor));
  return tensor;
}

NDArray ArrayOf(const NodeTensor& tensor, uint64_t seed) {
  NDArray array(*graph::ElementType(tensor.type), tensor.shape);
  const bool is_float = RowOf(tensor.type).is_float;
  if (!tensor.formula.empty()) {
    for (int64_t i = 0; i < array.size(); ++i) {
      const int64_t value = EvaluateFormula(tensor.formula, i).value_or(0);
      if (is_float) {
        array.Set(i, static_cast<double>(value));
      } else {
        array.SetInt(i, value);
      }
    }
  } else if (!tensor.values.empty()) {
    for (int64_t i = 0; i < array.size(); ++i) {
      const std::string& text = tensor.values[static_cast<size_t>(i)];
      if (is_float) {
        array.Set(i, std::strtod(text.c_str(), nullptr));
      } else {
        array.SetInt(i, std::strtoll(text.c_str(), nullptr, 10));
      }
    }
  } else {
    FillUniform(array, seed, tensor.low, is_float ? tensor.high : tensor.high + 1);
  }
  return array;
}

TensorProto ProtoOf(const NodeTensor& tensor, const std::string& name, uint64_t seed) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(tensor.type);
  for (int64_t extent : tensor.shape) proto.add_dims(extent);
  if (tensor.type == TensorProto::STRING) {
    for (const std::string& word : tensor.values) proto.add_string_data(word);
    return proto;
  }
  const NDArray array = ArrayOf(tensor, seed);
  if (tensor.type == kUInt4 || tensor.type == kInt4) {
    proto.set_raw_data(PackFours(array));
  } else {
    proto.set_raw_data(array.data(), static_cast<size_t>(array.bytes()));
  }
  return proto;
}

}  // namespace tilewright::bench

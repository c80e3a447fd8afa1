#include "graph/onnx/wire_scan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright::graph {
namespace {

// Shorter elements are copied with the message.
constexpr size_t kLarge = 128;
constexpr int kMaxDepth = 90;  // of nested messages; protobuf itself stops at 100

enum class Message { kModel, kGraph, kNode, kAttribute, kFunction, kTensor, kSparseTensor, kOther };

// The message in a length-delimited field, kOther where it has no tensors inside.
Message FieldOf(Message message, uint64_t field) {
  switch (message) {
    case Message::kModel:
      return field == 7 ? Message::kGraph : field == 25 ? Message::kFunction : Message::kOther;
    case Message::kGraph:
      if (field == 1) return Message::kNode;
      if (field == 5) return Message::kTensor;
      return field == 15 ? Message::kSparseTensor : Message::kOther;
    case Message::kFunction:
      if (field == 7) return Message::kNode;
      return field == 11 ? Message::kAttribute : Message::kOther;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kOther;
    case Message::kAttribute:
      if (field == 5 || field == 10) return Message::kTensor;
      if (field == 6 || field == 11) return Message::kGraph;
      return field == 22 || field == 23 ? Message::kSparseTensor : Message::kOther;
    case Message::kSparseTensor:
      return field == 1 || field == 2 ? Message::kTensor : Message::kOther;
    case Message::kTensor:
    case Message::kOther:
      return Message::kOther;
  }
  return Message::kOther;
}

// Whether the message has at most one of the field: further ones are merged into the first.
bool IsSingular(Message message, uint64_t field) {
  switch (message) {
    case Message::kModel:
      return field == 7;
    case Message::kAttribute:
      return field == 5 || field == 6 || field == 22;
    case Message::kSparseTensor:
      return true;
    default:
      return false;
  }
}

constexpr uint64_t kRawData = 9, kExternalData = 13, kDataLocation = 14;
constexpr uint64_t kExternal = 1;  // a value of kDataLocation

void AppendVarint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}
void AppendField(std::string* out, uint64_t field, std::string_view content) {
  AppendVarint(out, field << 3 | 2);
  AppendVarint(out, content.size());
  out->append(content);
}

class Scanner {
 public:
  explicit Scanner(absl::Span<const std::byte> bytes) : bytes_(bytes) {}

  // Bytes of the file.
  struct Part {
    size_t begin, end;
  };

  // The message is what the parts say one after the other: of a field that it has once, the last one holds.
  absl::Status Copy(Message message, const std::vector<Part>& parts, int depth, std::string* out) {
    if (depth > kMaxDepth) return Error(parts[0].begin, "messages are nested too deeply");
    Pending pending;
    for (const Part& part : parts) {
      TW_RETURN_IF_ERROR(CopyPart(message, part, depth, &pending, out));
    }
    for (const auto& [field, inner] : pending.merged) {
      TW_RETURN_IF_ERROR(CopyInner(message, field, inner, depth, out));
    }
    if (!pending.elements) return absl::OkStatus();
    // A tensor may have said that its elements are elsewhere.
    const auto [begin, end] = *pending.elements;
    if (end - begin < kLarge) {
      AppendField(out, kRawData, Text(begin, end - begin));
    } else if (pending.location != kExternal) {
      AppendPlace(begin, end - begin, out);
    }
    return absl::OkStatus();
  }

 private:
  // What is decided at a message's end.
  struct Pending {
    std::optional<Part> elements;  // of a tensor
    uint64_t location = 0;         // where it says that they are
    std::map<uint64_t, std::vector<Part>> merged;
  };

  absl::Status CopyPart(Message message, const Part& part, int depth, Pending* pending, std::string* out) {
    size_t at = part.begin;
    const size_t end = part.end;
    while (at < end) {
      const size_t field_begin = at;
      uint64_t tag = 0, length = 0;
      if (!ReadVarint(&at, end, &tag)) return Error(field_begin, "a field's tag is cut off");
      const uint64_t field = tag >> 3;
      if (field == 0) return Error(field_begin, "a field has number 0");
      switch (tag & 7) {
        case 0:
          if (!ReadVarint(&at, end, &length)) return Error(field_begin, "a number is cut off");
          if (field == kDataLocation) pending->location = length;
          break;
        case 1:
        case 5: {
          const size_t width = (tag & 7) == 1 ? 8 : 4;
          if (end - at < width) return Error(field_begin, "a number is cut off");
          at += width;
          break;
        }
        case 2: {
          if (!ReadVarint(&at, end, &length)) return Error(field_begin, "a length is cut off");
          if (length > end - at) {
            return Error(field_begin, absl::StrCat("a field of ", length, " bytes does not fit into the remaining ",
                                                   end - at, " of its message"));
          }
          const Part content = {at, at + length};
          at += length;
          if (message == Message::kTensor && field == kRawData) {
            pending->elements = content;
          } else if (IsSingular(message, field)) {
            pending->merged[field].push_back(content);
          } else if (FieldOf(message, field) != Message::kOther) {
            TW_RETURN_IF_ERROR(CopyInner(message, field, {content}, depth, out));
          } else if (message == Message::kTensor && field == kExternalData &&
                     Text(content.begin, length).find(kThisFile) != std::string_view::npos) {
            return Error(field_begin, "external data lies at a reserved location");
          } else {
            break;
          }
          continue;
        }
        default:
          return Error(field_begin, absl::StrCat("a field has the unknown wire type ", std::to_string(tag & 7)));
      }
      out->append(Text(field_begin, at - field_begin));
    }
    return absl::OkStatus();
  }

  absl::Status CopyInner(Message message, uint64_t field, const std::vector<Part>& parts, int depth, std::string* out) {
    std::string content;
    TW_RETURN_IF_ERROR(Copy(FieldOf(message, field), parts, depth + 1, &content));
    AppendField(out, field, content);
    return absl::OkStatus();
  }

  // External data at [at, at + length) of this file.
  static void AppendPlace(size_t at, size_t length, std::string* out) {
    const std::pair<std::string, std::string> entries[] = {
        {"location", kThisFile}, {"offset", std::to_string(at)}, {"length", std::to_string(length)}};
    for (const auto& [key, value] : entries) {
      std::string entry;
      AppendField(&entry, 1, key);
      AppendField(&entry, 2, value);
      AppendField(out, kExternalData, entry);
    }
    AppendVarint(out, kDataLocation << 3);
    AppendVarint(out, kExternal);
  }

  bool ReadVarint(size_t* at, size_t end, uint64_t* value) const {
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
      const auto byte = static_cast<uint64_t>(bytes_[(*at)++]);
      *value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  std::string_view Text(size_t at, size_t length) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, length};
  }
  static absl::Status Error(size_t at, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("byte ", at, ": ", what));
  }

  const absl::Span<const std::byte> bytes_;
};

}  // namespace

absl::StatusOr<std::string> StripTensors(absl::Span<const std::byte> model) {
  std::string out;
  Scanner scanner(model);
  TW_RETURN_IF_ERROR(scanner.Copy(Message::kModel, {{0, model.size()}}, 0, &out));
  return out;
}

}  // namespace tilewright::graph

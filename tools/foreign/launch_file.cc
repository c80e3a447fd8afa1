#include "tools/foreign/launch_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMost32 = std::numeric_limits<uint32_t>::max();
constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();

// Keeps the reason why a text is not JSON, with its position.
class Tree : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit Tree(Json& root) : json_sax_dom_parser(root, false) {}
  template <class Exception>
  bool parse_error(size_t position, const std::string& /*token*/, const Exception& error) {
    position_ = position;
    message_ = error.what();
    return false;
  }
  std::string Reason() const {
    const size_t colon = message_.find("parse error");
    return colon == std::string::npos ? absl::StrCat("byte ", position_) : message_.substr(colon);
  }

 private:
  size_t position_ = 0;
  std::string message_;
};

// An object of the file, whose fields are taken one by one; those that nobody takes are errors.
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  std::string PathOf(std::string_view name) const {
    return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", std::string(name));
  }
  absl::Status Refuse(std::string_view name, const std::string& reason) const {
    return absl::InvalidArgumentError(absl::StrCat(PathOf(name), " ", reason));
  }
  const Json* Take(const char* name) {
    taken_.emplace_back(name);
    const auto at = json_.find(name);
    return at == json_.end() ? nullptr : &*at;
  }
  bool Has(const char* name) const { return json_.contains(name); }

  absl::Status Text(const char* name, std::string* to);
  absl::Status Flag(const char* name, bool* to);
  absl::Status Whole(const char* name, int64_t least, int64_t most, int64_t* to);
  absl::Status Wholes(const char* name, int64_t least, int64_t most, size_t most_count, std::vector<int64_t>* to);
  absl::Status Texts(const char* name, std::vector<std::string>* to);
  absl::Status Dtype(const char* name, DataType* to);
  absl::Status Number(const char* name, std::optional<LaunchNumber>* to);
  absl::Status Rest() const;

 private:
  const Json& json_;
  const std::string path_;
  std::vector<std::string> taken_;
};

absl::Status Fields::Text(const char* name, std::string* to) {
  const Json* value = Take(name);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_string() || value->get<std::string>().empty()) return Refuse(name, "is not a text");
  *to = value->get<std::string>();
  return absl::OkStatus();
}

absl::Status Fields::Flag(const char* name, bool* to) {
  const Json* value = Take(name);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_boolean()) return Refuse(name, "is not true or false");
  *to = value->get<bool>();
  return absl::OkStatus();
}

std::optional<int64_t> WholeOf(const Json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(kMost64)) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<int64_t>();
}

std::string RangeText(int64_t least, int64_t most) {
  return most == kMost64 ? absl::StrCat("is not a whole number of at least ", least)
                         : absl::StrCat("is not a whole number from ", least, " to ", most);
}

absl::Status Fields::Whole(const char* name, int64_t least, int64_t most, int64_t* to) {
  const Json* value = Take(name);
  if (value == nullptr) return absl::OkStatus();
  const auto number = WholeOf(*value);
  if (!number || *number < least || *number > most) return Refuse(name, RangeText(least, most));
  *to = *number;
  return absl::OkStatus();
}

// A list of numbers; one number is a list of one.
absl::Status Fields::Wholes(const char* name, int64_t least, int64_t most, size_t most_count,
                            std::vector<int64_t>* to) {
  const Json* value = Take(name);
  if (value == nullptr) return absl::OkStatus();
  // Nothing is copied, which takes stack for each level of what may nest a million deep.
  const bool is_list = value->is_array();
  const size_t count = is_list ? value->size() : 1;
  if (count > most_count) return Refuse(name, absl::StrCat("has more than ", most_count, " numbers"));
  for (size_t i = 0; i < count; ++i) {
    const auto number = WholeOf(is_list ? (*value)[i] : *value);
    if (!number || *number < least || *number > most) {
      const std::string at = is_list ? absl::StrCat(name, "[", i, "]") : std::string(name);
      return Refuse(at, RangeText(least, most));
    }
    to->push_back(*number);
  }
  return absl::OkStatus();
}

absl::Status Fields::Texts(const char* name, std::vector<std::string>* to) {
  const Json* value = Take(name);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_array()) return Refuse(name, "is not a list of texts");
  for (const Json& text : *value) {
    if (!text.is_string() || text.get<std::string>().empty()) return Refuse(name, "is not a list of texts");
    to->push_back(text.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status Fields::Dtype(const char* name, DataType* to) {
  std::string text;
  TW_RETURN_IF_ERROR(Text(name, &text));
  if (text.empty()) return absl::OkStatus();
  const auto dtype = DataType::Parse(text);
  if (!dtype || !dtype->is_scalar() || dtype->bytes() <= 0 || dtype->is_handle() || dtype->bits() < 8) {
    const std::vector<std::string> names = {"float32", "float64", "float16", "bfloat16", "int8",   "int16",
                                            "int32",   "int64",   "uint8",   "uint16",   "uint32", "uint64"};
    return Refuse(name, absl::StrCat("is \"", text, "\", which is not a type of elements", DidYouMean(text, names)));
  }
  *to = *dtype;
  return absl::OkStatus();
}

std::optional<LaunchNumber> NumberOf(const Json& value) {
  if (value.is_boolean()) return LaunchNumber{true, value.get<bool>(), value.get<bool>() ? 1.0 : 0.0};
  if (value.is_number_float()) return LaunchNumber{false, 0, value.get<double>()};
  if (!value.is_number()) return std::nullopt;
  // The bits of an unsigned number of 64 bits, too.
  const int64_t integer =
      value.is_number_unsigned() ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>();
  return LaunchNumber{true, integer, value.get<double>()};
}

absl::Status Fields::Number(const char* name, std::optional<LaunchNumber>* to) {
  const Json* value = Take(name);
  if (value == nullptr) return absl::OkStatus();
  *to = NumberOf(*value);
  return *to ? absl::OkStatus() : Refuse(name, "is not a number");
}

absl::Status Fields::Rest() const {
  for (const auto& [name, value] : json_.items()) {
    if (std::ranges::find(taken_, name) != taken_.end()) continue;
    return Refuse(name, absl::StrCat("is not a field of it", DidYouMean(name, taken_)));
  }
  return absl::OkStatus();
}

absl::Status ReadTensorMap(const Json& json, const std::string& path, LaunchTensorMap* map) {
  if (!json.is_object()) return absl::InvalidArgumentError(path + " is not an object");
  Fields fields(json, path);
  TW_RETURN_IF_ERROR(fields.Text("array", &map->array));
  if (map->array.empty()) return fields.Refuse("array", "is missing: the name of the array that the map describes");
  TW_RETURN_IF_ERROR(fields.Dtype("dtype", &map->dtype));
  TW_RETURN_IF_ERROR(fields.Wholes("extents", 1, int64_t{1} << 32, 5, &map->extents));
  TW_RETURN_IF_ERROR(fields.Wholes("strides", 0, kMost64, 4, &map->strides));
  TW_RETURN_IF_ERROR(fields.Wholes("box", 1, 256, 5, &map->box));
  TW_RETURN_IF_ERROR(fields.Wholes("steps", 1, 8, 5, &map->steps));
  TW_RETURN_IF_ERROR(fields.Whole("swizzle", 0, 128, &map->swizzle));
  TW_RETURN_IF_ERROR(fields.Flag("fill_nan", &map->fill_nan));
  TW_RETURN_IF_ERROR(fields.Wholes("lower", -32768, 32767, 3, &map->lower));
  TW_RETURN_IF_ERROR(fields.Wholes("upper", -32768, 32767, 3, &map->upper));
  TW_RETURN_IF_ERROR(fields.Whole("channels", 1, 256, &map->channels));
  TW_RETURN_IF_ERROR(fields.Whole("pixels", 1, 1024, &map->pixels));
  map->im2col = fields.Has("channels") || fields.Has("pixels") || fields.Has("lower") || fields.Has("upper");
  if (map->box.empty() && !map->im2col) {
    return fields.Refuse("box", "is missing: the extents of a box, innermost first");
  }
  if (!map->box.empty() && map->im2col) return fields.Refuse("box", "is not a field of a map with channels and pixels");
  return fields.Rest();
}

absl::Status ReadArray(Fields& fields, LaunchArgument* argument) {
  argument->kind = LaunchArgument::Kind::kArray;
  TW_RETURN_IF_ERROR(fields.Dtype("dtype", &argument->dtype));
  if (!fields.Has("dtype")) return fields.Refuse("dtype", "is missing: the type of the elements, \"float32\"");
  TW_RETURN_IF_ERROR(fields.Wholes("shape", 0, int64_t{1} << 40, 16, &argument->shape));
  if (fields.Has("seed")) {
    argument->seed = 0;
    TW_RETURN_IF_ERROR(fields.Whole("seed", 0, kMost64, &*argument->seed));
  }
  if (fields.Has("file")) {
    argument->file = "";
    TW_RETURN_IF_ERROR(fields.Text("file", &*argument->file));
  }
  TW_RETURN_IF_ERROR(fields.Number("fill", &argument->fill));
  TW_RETURN_IF_ERROR(fields.Flag("output", &argument->output));
  if (argument->seed.has_value() + argument->file.has_value() + argument->fill.has_value() > 1) {
    return fields.Refuse(argument->seed ? "seed" : "file", "stands beside another of seed, file and fill");
  }
  return absl::OkStatus();
}

// What the fields of an argument say that it is.
absl::Status ReadArgument(const Json& json, const std::string& path, bool only_arrays, LaunchArgument* argument) {
  if (!json.is_object()) return absl::InvalidArgumentError(path + " is not an object");
  Fields fields(json, path);
  argument->field = path;
  TW_RETURN_IF_ERROR(fields.Text("name", &argument->name));
  if (only_arrays || fields.Has("shape")) {
    if (!fields.Has("shape")) return fields.Refuse("shape", "is missing");
    TW_RETURN_IF_ERROR(ReadArray(fields, argument));
  } else if (fields.Has("value")) {
    argument->kind = LaunchArgument::Kind::kScalar;
    argument->dtype = DataType::Void();
    TW_RETURN_IF_ERROR(fields.Dtype("dtype", &argument->dtype));
    std::optional<LaunchNumber> number;
    TW_RETURN_IF_ERROR(fields.Number("value", &number));
    argument->value = *number;
  } else if (const Json* list = fields.Take("struct")) {
    argument->kind = LaunchArgument::Kind::kStruct;
    if (!list->is_array()) return fields.Refuse("struct", "is not a list of numbers");
    for (size_t i = 0; i < list->size(); ++i) {
      const auto number = NumberOf((*list)[i]);
      if (!number) return fields.Refuse(absl::StrCat("struct[", i, "]"), "is not a number");
      argument->fields.push_back(*number);
    }
  } else if (const Json* map = fields.Take("tensor_map")) {
    argument->kind = LaunchArgument::Kind::kTensorMap;
    TW_RETURN_IF_ERROR(ReadTensorMap(*map, fields.PathOf("tensor_map"), &argument->map));
  } else if (fields.Has("array")) {
    argument->kind = LaunchArgument::Kind::kPointer;
    TW_RETURN_IF_ERROR(fields.Text("array", &argument->array));
    TW_RETURN_IF_ERROR(fields.Whole("offset", 0, kMost64, &argument->offset));
  } else if (fields.Has("null")) {
    bool null = false;
    TW_RETURN_IF_ERROR(fields.Flag("null", &null));
    if (!null) return fields.Refuse("null", "is not true");
    argument->kind = LaunchArgument::Kind::kNull;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " has none of shape (an array), value (a number), struct, tensor_map, array (a pointer into one) and null"));
  }
  return fields.Rest();
}

absl::Status ReadArguments(Fields& fields, const char* name, bool only_arrays, std::vector<LaunchArgument>* to) {
  const Json* list = fields.Take(name);
  if (list == nullptr) return absl::OkStatus();
  if (!list->is_array()) return fields.Refuse(name, "is not a list");
  for (size_t i = 0; i < list->size(); ++i) {
    to->emplace_back();
    TW_RETURN_IF_ERROR(ReadArgument((*list)[i], absl::StrCat(name, "[", i, "]"), only_arrays, &to->back()));
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const LaunchFile& file) {
  std::vector<std::string> arrays;
  const auto add = [&](const std::vector<LaunchArgument>& arguments) -> absl::Status {
    for (const LaunchArgument& argument : arguments) {
      if (argument.kind != LaunchArgument::Kind::kArray || argument.name.empty()) continue;
      if (std::ranges::find(arrays, argument.name) != arrays.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(argument.field, ".name is \"", argument.name, "\", as that of another array"));
      }
      arrays.push_back(argument.name);
    }
    return absl::OkStatus();
  };
  TW_RETURN_IF_ERROR(add(file.arguments));
  TW_RETURN_IF_ERROR(add(file.arrays));
  for (const LaunchArgument& argument : file.arguments) {
    const bool is_map = argument.kind == LaunchArgument::Kind::kTensorMap;
    const std::string& name = is_map ? argument.map.array : argument.array;
    if (name.empty() || std::ranges::find(arrays, name) != arrays.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(argument.field, is_map ? ".tensor_map" : "", ".array is \"", name,
                                                   "\", which is not the name of an array", DidYouMean(name, arrays)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LaunchFile> ParseLaunchFile(std::string_view text) {
  Json json;
  Tree tree(json);
  if (!Json::sax_parse(text, &tree)) {
    return absl::InvalidArgumentError(absl::StrCat("the text is not JSON: ", tree.Reason()));
  }
  if (!json.is_object()) return absl::InvalidArgumentError("the text is not a JSON object");
  LaunchFile file;
  Fields fields(json, "");
  TW_RETURN_IF_ERROR(fields.Text("kernel", &file.kernel));
  TW_RETURN_IF_ERROR(fields.Wholes("grid", 1, kMost32, 3, &file.grid));
  TW_RETURN_IF_ERROR(fields.Wholes("block", 1, kMost32, 3, &file.block));
  TW_RETURN_IF_ERROR(fields.Wholes("cluster", 1, 16, 3, &file.cluster));
  for (const auto& [name, list] : {std::pair("grid", &file.grid), std::pair("block", &file.block)}) {
    if (list->empty()) return fields.Refuse(name, "is missing: one to three extents, [8, 8]");
  }
  TW_RETURN_IF_ERROR(fields.Whole("shared_bytes", 0, int64_t{1} << 24, &file.shared_bytes));
  TW_RETURN_IF_ERROR(fields.Text("target", &file.target));
  TW_RETURN_IF_ERROR(fields.Whole("seed", 0, kMost64, &file.seed));
  TW_RETURN_IF_ERROR(fields.Whole("budget", 1, kMost64, &file.budget));
  TW_RETURN_IF_ERROR(fields.Whole("concurrent_clusters", 1, 1024, &file.concurrent_clusters));
  TW_RETURN_IF_ERROR(fields.Texts("define", &file.define));
  TW_RETURN_IF_ERROR(fields.Texts("include", &file.include));
  TW_RETURN_IF_ERROR(ReadArguments(fields, "arguments", false, &file.arguments));
  TW_RETURN_IF_ERROR(ReadArguments(fields, "arrays", true, &file.arrays));
  TW_RETURN_IF_ERROR(fields.Rest());
  TW_RETURN_IF_ERROR(CheckNames(file));
  return file;
}

}  // namespace tilewright

#include "autoschedule/measure/protocol/protocol.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "target/target_json.h"

namespace tilewright {
namespace {

using Json = nlohmann::json;

std::string Line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json ToJson(const std::vector<TensorSpec>& tensors) {
  Json list = Json::array();
  for (const TensorSpec& tensor : tensors) {
    list.push_back(
        {{"name", tensor.name},
         {"dtype", tensor.dtype.ToString()},
         {"shape", tensor.shape},
         {"written", tensor.written},
         {"constant", tensor.constant},
         {"strides", tensor.strides},
         {"range", tensor.range ? Json({tensor.range->low, tensor.range->high, int64_t{tensor.range->sorted}})
                                : Json::array()}});
  }
  return list;
}

Json ToJson(const Target& target) { return Json::parse(TargetToJson(target)); }

// Reads members of an object; what is missing or of another type is remembered, and the value left as it was.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  template <class T>
  void Read(const char* name, T* value) {
    const auto member = json_.find(name);
    if (member == json_.end() || !Get(*member, value)) wrong_ = name;
  }
  absl::Status status() const {
    if (wrong_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("\"", wrong_, "\" is missing or of the wrong type"));
  }

 private:
  static bool Get(const Json& json, bool* value) { return json.is_boolean() && (*value = json.get<bool>(), true); }
  static bool Get(const Json& json, int64_t* value) {
    return json.is_number_integer() && (*value = json.get<int64_t>(), true);
  }
  static bool Get(const Json& json, uint64_t* value) {
    return json.is_number_integer() && (*value = json.get<uint64_t>(), true);
  }
  static bool Get(const Json& json, int* value) { return json.is_number_integer() && (*value = json.get<int>(), true); }
  static bool Get(const Json& json, double* value) { return json.is_number() && (*value = json.get<double>(), true); }
  static bool Get(const Json& json, std::string* value) {
    return json.is_string() && (*value = json.get<std::string>(), true);
  }
  template <class T>
  static bool Get(const Json& json, std::vector<T>* values) {
    if (!json.is_array()) return false;
    for (const Json& entry : json) {
      values->emplace_back();
      if (!Get(entry, &values->back())) return false;
    }
    return true;
  }
  static bool Get(const Json& json, Counters* counters) {
    if (!json.is_object()) return false;
    for (const auto& [name, count] : json.items()) {
      if (!Get(count, &(*counters)[name])) return false;
    }
    return true;
  }
  static bool Get(const Json& json, TensorSpec* tensor) {
    if (!json.is_object()) return false;
    Reader reader(json);
    std::string dtype;
    reader.Read("name", &tensor->name);
    reader.Read("dtype", &dtype);
    reader.Read("shape", &tensor->shape);
    reader.Read("written", &tensor->written);
    reader.Read("constant", &tensor->constant);
    reader.Read("strides", &tensor->strides);
    std::vector<int64_t> range;
    reader.Read("range", &range);
    if (range.size() == 3) tensor->range = InputRange{range[0], range[1], range[2] != 0};
    const std::optional<DataType> type = DataType::Parse(dtype);
    if (!reader.wrong_.empty() || !type) return false;
    tensor->dtype = *type;
    return true;
  }
  static bool Get(const Json& json, Target* target) {
    absl::StatusOr<Target> read = TargetFromJson(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    return read.ok() && (*target = *std::move(read), true);
  }

  const Json& json_;
  std::string wrong_;
};

absl::StatusOr<Json> ParseObject(std::string_view line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("a line of the protocol is a JSON object");
  return json;
}

}  // namespace

int64_t TensorSpec::bytes() const {
  int64_t bytes = dtype.bytes();
  for (int64_t extent : shape) bytes *= extent;
  return bytes;
}

std::string ToLine(const CompileRequest& request) {
  return Line({{"do", request.reference ? "reference" : "compile"},
               {"program", request.program},
               {"hash", request.hash},
               {"target", ToJson(request.target)},
               {"library", request.library},
               {"tensors", ToJson(request.tensors)},
               {"seed", request.seed},
               {"folder", request.folder},
               {"project", request.project}});
}

std::string ToLine(const MeasureRequest& request) {
  return Line({{"do", "measure"},
               {"library", request.library},
               {"prepack_library", request.prepack_library},
               {"function", request.function},
               {"prepack_function", request.prepack_function},
               {"tensors", ToJson(request.tensors)},
               {"num_params", request.num_params},
               {"main", request.main},
               {"prepack", request.prepack},
               {"seed", request.seed},
               {"folder", request.folder},
               {"threads", request.threads},
               {"half_width", request.half_width},
               {"most_ns", request.most_nanoseconds},
               {"least_ns", request.least_nanoseconds},
               {"most_samples", request.most_samples},
               {"give_up_ns", request.give_up_nanoseconds},
               {"caches", CachesName(request.caches)},
               {"command", request.command},
               {"libraries", request.libraries},
               {"ns_per_instruction", request.nanoseconds_per_instruction}});
}

std::string ToLine(const WorkerAnswer& answer) {
  if (!answer.ok) return Line({{"ok", false}, {"reason", answer.reason}, {"error", answer.error}});
  return Line({{"ok", true},
               {"error", answer.error},
               {"code_bytes", answer.code_bytes},
               {"counters", answer.counters},
               {"seconds", answer.seconds},
               {"ns", answer.nanoseconds},
               {"max_error", answer.max_error}});
}

absl::StatusOr<CompileRequest> ReadCompileRequest(std::string_view line) {
  TW_ASSIGN_OR_RETURN(const auto json, ParseObject(line));
  CompileRequest request;
  std::string what;
  Reader reader(json);
  reader.Read("do", &what);
  reader.Read("program", &request.program);
  reader.Read("hash", &request.hash);
  reader.Read("target", &request.target);
  reader.Read("library", &request.library);
  reader.Read("tensors", &request.tensors);
  reader.Read("seed", &request.seed);
  reader.Read("folder", &request.folder);
  reader.Read("project", &request.project);
  request.reference = what == "reference";
  if (!reader.status().ok()) return reader.status();
  return request;
}

absl::StatusOr<MeasureRequest> ReadMeasureRequest(std::string_view line) {
  TW_ASSIGN_OR_RETURN(const auto json, ParseObject(line));
  MeasureRequest request;
  Reader reader(json);
  reader.Read("library", &request.library);
  reader.Read("prepack_library", &request.prepack_library);
  reader.Read("function", &request.function);
  reader.Read("prepack_function", &request.prepack_function);
  reader.Read("tensors", &request.tensors);
  reader.Read("num_params", &request.num_params);
  reader.Read("main", &request.main);
  reader.Read("prepack", &request.prepack);
  reader.Read("seed", &request.seed);
  reader.Read("folder", &request.folder);
  reader.Read("threads", &request.threads);
  reader.Read("half_width", &request.half_width);
  reader.Read("most_ns", &request.most_nanoseconds);
  reader.Read("least_ns", &request.least_nanoseconds);
  reader.Read("most_samples", &request.most_samples);
  reader.Read("give_up_ns", &request.give_up_nanoseconds);
  reader.Read("command", &request.command);
  reader.Read("libraries", &request.libraries);
  reader.Read("ns_per_instruction", &request.nanoseconds_per_instruction);
  std::string caches;
  reader.Read("caches", &caches);
  if (!reader.status().ok()) return reader.status();
  const std::optional<Caches> known = ParseCaches(caches);
  if (!known) return absl::InvalidArgumentError(absl::StrCat("\"caches\" cannot be \"", caches, "\""));
  request.caches = *known;
  if (request.num_params < 0 || request.num_params > static_cast<int64_t>(request.tensors.size())) {
    return absl::InvalidArgumentError("\"num_params\" is more than there are tensors");
  }
  for (const std::vector<int64_t>* indices : {&request.main, &request.prepack}) {
    for (int64_t index : *indices) {
      if (index < 0 || index >= static_cast<int64_t>(request.tensors.size())) {
        return absl::InvalidArgumentError(absl::StrCat("there is no tensor ", index));
      }
    }
  }
  return request;
}

absl::StatusOr<WorkerAnswer> ReadWorkerAnswer(std::string_view line) {
  TW_ASSIGN_OR_RETURN(const auto json, ParseObject(line));
  WorkerAnswer answer;
  Reader reader(json);
  reader.Read("ok", &answer.ok);
  if (answer.ok) {
    reader.Read("code_bytes", &answer.code_bytes);
    reader.Read("counters", &answer.counters);
    reader.Read("seconds", &answer.seconds);
    reader.Read("ns", &answer.nanoseconds);
    reader.Read("max_error", &answer.max_error);
  } else {
    reader.Read("reason", &answer.reason);
  }
  reader.Read("error", &answer.error);
  if (!reader.status().ok()) return reader.status();
  return answer;
}

}  // namespace tilewright

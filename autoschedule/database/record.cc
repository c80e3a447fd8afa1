#include "autoschedule/database/record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/statistics.h"

namespace tilewright {
namespace {

using Json = nlohmann::json;

absl::StatusOr<std::vector<DimensionRange>> ReadDimensions(const Json& json) {
  const absl::Status error = absl::InvalidArgumentError("dimension ranges are an object of pairs of integers");
  if (!json.is_object()) return error;
  std::vector<DimensionRange> ranges;
  for (const auto& [name, range] : json.items()) {
    if (!range.is_array() || range.size() != 2 || !range[0].is_number_integer() || !range[1].is_number_integer()) {
      return error;
    }
    ranges.push_back({name, range[0].get<int64_t>(), range[1].get<int64_t>()});
  }
  return ranges;
}

Json WriteDimensions(const std::vector<DimensionRange>& ranges) {
  Json json = Json::object();
  for (const DimensionRange& range : ranges) json[range.name] = {range.least, range.greatest};
  return json;
}

// Text of any bytes: what is not UTF-8 in it is replaced.
std::string OneLine(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Reads the members of an object; the first one that is wrong decides the status.
class MemberReader {
 public:
  explicit MemberReader(const Json& object) : object_(object) {}

  void Read(const char* name, std::string* value) {
    if (const Json* member = Find(name, &Json::is_string)) *value = member->get<std::string>();
  }
  void Read(const char* name, int64_t* value) {
    if (const Json* member = Find(name, &Json::is_number_integer)) *value = member->get<int64_t>();
  }
  void Read(const char* name, bool* value) {
    if (const Json* member = Find(name, &Json::is_boolean)) *value = member->get<bool>();
  }
  void Read(const char* name, Caches* value) {
    std::string text;
    Read(name, &text);
    if (!status_.ok()) return;
    if (const std::optional<Caches> caches = ParseCaches(text)) {
      *value = *caches;
    } else {
      Fail(name);
    }
  }
  void ReadHash(const char* name, uint64_t* value) {
    std::string text;
    Read(name, &text);
    if (!status_.ok()) return;
    auto hash = ParseHash(text);
    if (hash.ok()) {
      *value = *hash;
    } else {
      Fail(name);
    }
  }
  void ReadBytes(const char* name, std::string* value) {
    std::string text;
    Read(name, &text);
    if (!absl::Base64Unescape(text, value)) Fail(name);
  }
  void Read(const char* name, std::vector<double>* values) {
    const Json* member = Find(name, &Json::is_array);
    if (member == nullptr) return;
    for (const Json& entry : *member) {
      if (!entry.is_number()) return Fail(name);
      values->push_back(entry.get<double>());
    }
  }
  void Read(const char* name, std::vector<DimensionRange>* ranges) {
    const Json* member = Find(name, &Json::is_object);
    if (member == nullptr) return;
    auto read = ReadDimensions(*member);
    if (!read.ok()) return Fail(name);
    *ranges = *std::move(read);
  }
  const absl::Status& status() const { return status_; }

 private:
  const Json* Find(const char* name, bool (Json::*is_type)() const noexcept) {
    const auto member = object_.find(name);
    if (member != object_.end() && ((*member).*is_type)()) return &*member;
    Fail(name);
    return nullptr;
  }
  void Fail(const char* name) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat("a record's \"", name, "\" is missing or of the wrong type"));
  }

  const Json& object_;
  absl::Status status_;
};

}  // namespace

double TuningRecord::MedianSeconds() const {
  if (failed() || seconds.empty()) return std::numeric_limits<double>::infinity();
  return Median(seconds);
}

std::string TargetKey(const Target& target, bool emulated) {
  return absl::StrCat(target.cpu, " ", target.FeatureString(), emulated ? " emulated" : "");
}

std::string HashText(uint64_t hash) { return absl::StrCat(absl::Hex(hash, absl::kZeroPad16)); }

absl::StatusOr<uint64_t> ParseHash(std::string_view text) {
  uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text), "\" is not a hash of 16 hexadecimal digits"));
  }
  return hash;
}

std::string DimensionsText(const std::vector<DimensionRange>& ranges) { return OneLine(WriteDimensions(ranges)); }

absl::StatusOr<std::vector<DimensionRange>> ParseDimensions(std::string_view text) {
  return ReadDimensions(Json::parse(text, nullptr, /*allow_exceptions=*/false));
}

std::string ToJson(const TuningRecord& record) {
  const Json json = {{"uid", record.uid},
                     {"workload", HashText(record.workload)},
                     {"program", record.program},
                     {"target", record.target},
                     {"threads", record.threads},
                     {"dimensions", WriteDimensions(record.dimensions)},
                     {"trace", record.trace},
                     {"scheduled", HashText(record.scheduled)},
                     {"features", absl::Base64Escape(record.features)},
                     {"seconds", record.seconds},
                     {"caches", CachesName(record.caches)},
                     {"final", record.final},
                     {"failure", record.failure},
                     {"message", record.message},
                     {"version", record.version},
                     {"time", record.unix_time}};
  return OneLine(json);
}

absl::StatusOr<TuningRecord> RecordFromJson(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("a record is a JSON object");
  TuningRecord record;
  MemberReader reader(json);
  int64_t threads = 0;
  reader.Read("uid", &record.uid);
  reader.ReadHash("workload", &record.workload);
  reader.Read("program", &record.program);
  reader.Read("target", &record.target);
  reader.Read("threads", &threads);
  reader.Read("dimensions", &record.dimensions);
  reader.Read("trace", &record.trace);
  reader.ReadHash("scheduled", &record.scheduled);
  reader.ReadBytes("features", &record.features);
  reader.Read("seconds", &record.seconds);
  reader.Read("caches", &record.caches);
  reader.Read("final", &record.final);
  reader.Read("failure", &record.failure);
  reader.Read("message", &record.message);
  reader.Read("version", &record.version);
  reader.Read("time", &record.unix_time);
  if (!reader.status().ok()) return reader.status();
  record.threads = static_cast<int>(std::clamp<int64_t>(threads, 0, std::numeric_limits<int>::max()));
  return record;
}

}  // namespace tilewright

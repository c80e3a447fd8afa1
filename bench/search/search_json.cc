#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/search/search_run.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {

std::string ToJson(const SearchGroup& group) {
  nlohmann::ordered_json json = {{"task", group.task}, {"seed", group.seed}, {"seconds", group.seconds}};
  json["runs"] = nlohmann::ordered_json::array();
  for (const SearchRun& run : group.runs) {
    json["runs"].push_back({{"variant", run.variant},
                            {"ms", run.milliseconds},
                            {"spent", run.spent},
                            {"measured", run.measured},
                            {"tries", run.tries},
                            {"progress", run.progress}});
  }
  json["ranks"] = {{"candidates", group.ranks.candidates},
                   {"speed_of_light", group.ranks.speed_of_light},
                   {"projected", group.ranks.projected},
                   {"other_tasks", group.ranks.other_tasks},
                   {"learned", group.ranks.learned}};
  return json.dump();
}

absl::StatusOr<SearchGroup> SearchGroupFromJson(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("not JSON");
  SearchGroup group;
  try {
    group.task = json.at("task").get<std::string>();
    group.seed = json.at("seed").get<uint64_t>();
    group.seconds = json.at("seconds").get<double>();
    for (const nlohmann::json& entry : json.at("runs")) {
      SearchRun& run = group.runs.emplace_back();
      run.variant = entry.at("variant").get<std::string>();
      run.milliseconds = entry.at("ms").get<double>();
      run.spent = entry.at("spent").get<double>();
      run.measured = entry.at("measured").get<int64_t>();
      run.tries = entry.at("tries").get<int64_t>();
      run.progress = entry.at("progress").get<std::vector<std::pair<double, double>>>();
    }
    const nlohmann::json& ranks = json.at("ranks");
    group.ranks = {ranks.at("candidates").get<int64_t>(), ranks.at("speed_of_light").get<double>(),
                   ranks.at("projected").get<double>(), ranks.at("other_tasks").get<double>(),
                   ranks.at("learned").get<double>()};
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not the runs of a search: ", error.what()));
  }
  return group;
}

}  // namespace tilewright::bench

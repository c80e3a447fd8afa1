// The part of a report's JSON that says where its numbers come from.
#pragma once

#include "bench/report/report.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {

// machine, peak, commit, command, other_load.
nlohmann::ordered_json HeadJson(const Report& report);

}  // namespace tilewright::bench

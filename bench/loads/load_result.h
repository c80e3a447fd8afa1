// One model loaded by one implementation, and a finished run as text, JSON or HTML.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/machine.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {

// A load in a process of its own, from the file to the first outputs.
struct OneLoad {
  double seconds = 0;
  double cpu_seconds = 0;  // of all threads; 0: not told
  double peak_mib = 0;
};

struct LoadResult {
  std::string model;
  std::string implementation;
  OneLoad first;          // nothing is kept from before
  OneLoad second;         // kernels that the first one kept are there; zeros where there is no such thing
  int kernels = 0;        // that were compiled
  nlohmann::json phases;  // processor seconds of the first load by phase, where they are told
  std::string error;      // it does not load; empty where it does
};

struct LoadReportHead {
  Machine machine;
  std::string commit, command;
};

std::string ToText(const LoadReportHead& head, const std::vector<LoadResult>& results);
std::string ToJson(const LoadReportHead& head, const std::vector<LoadResult>& results);
// A page with bars: first loads, beside those of peers, and the phases of ours.
std::string ToHtml(const LoadReportHead& head, const std::vector<LoadResult>& results);

}  // namespace tilewright::bench

// A finished run as text, JSON or HTML.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/machine.h"
#include "bench/harness/peak.h"
#include "bench/operators/result.h"

namespace tilewright::bench {

struct Report {
  Machine machine;
  Peak peak;
  std::string peak_source = "measured on all threads before the results";
  std::string commit;
  std::string command;
  double other_load = 0;  // See OtherLoad::Share().
  std::vector<Result> results;
};

// How one implementation compares over all workloads on which both it and another peer ran.
struct Comparison {
  std::string implementation;
  double mean_ratio = 0;  // Geometric mean of RatioToBestPeer().
  int workloads = 0;
};
std::vector<Comparison> Compare(const std::vector<Result>& results);

// "Peak: ..." on one line.
std::string PeakText(const Peak& peak);

// What every report begins with: machine, peak, commit.
std::string HeadText(const Report& report);

// A table with one line per implementation and variant, the best peer marked, and geometric means.
std::string ToText(const Report& report);

// The JSON that README.md documents.
std::string ToJson(const Report& report);

// A page of its own, with bars that end at the machine's peak.
std::string ToHtml(const Report& report);

}  // namespace tilewright::bench

// What //bench:nodes found out: the slowest cases, means and counts.
#pragma once

#include <string>
#include <vector>

#include "bench/models/model_report.h"
#include "bench/report/report.h"

namespace tilewright::bench {

// One case, from the results of its implementations.
struct NodeRow {
  std::string text;
  const ModelResult* own = nullptr;
  const ModelResult* symbolic = nullptr;  // null where it is not measured
  const ModelResult* fastest = nullptr;   // of the peers that can be compared; null where there is none
  double ratio = 0;                       // time of the fastest over ours; 0 where one of them is missing
  double symbolic_ratio = 0;              // time of constant extents over that of a symbolic batch
};

// Rows by rising ratio; cases without one are last. They point into `results`.
std::vector<NodeRow> NodeRows(const std::vector<ModelResult>& results);

// The `slowest` cases, each peer's geometric mean and count of slower cases, and what is refused, wrong or not
// compared. `head` gives machine and command.
std::string NodesToText(const Report& head, const std::vector<ModelResult>& results, int slowest);
// The same as a page in Markdown, with a remark on how it was measured.
std::string NodesToMarkdown(const Report& head, const std::vector<ModelResult>& results, int slowest,
                            const std::string& remark);

}  // namespace tilewright::bench

#include "bench/models/nodes/node_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "bench/harness/statistics.h"
#include "bench/operators/result.h"

namespace tilewright::bench {
namespace {

// A case below this ratio counts as slow.
constexpr double kSlow = 0.9;

double Ratio(const ModelResult* other, const ModelResult* own) {
  if (other == nullptr || own == nullptr || !other->comparable() || !own->comparable()) return 0;
  return own->timing.median_ms > 0 ? other->timing.median_ms / own->timing.median_ms : 0;
}

// Long lists of attributes would fill a page.
std::string Short(const std::string& text) {
  constexpr size_t kMost = 110;
  return text.size() <= kMost ? text : absl::StrCat(text.substr(0, kMost - 3), "...");
}

std::string Times(const Timing& timing) {
  return absl::StrFormat("%.4f (%.4f to %.4f)", timing.median_ms, timing.p10_ms, timing.p90_ms);
}

// Our time against that of each peer, over all cases.
std::string Means(const std::vector<ModelResult>& results, const std::vector<NodeRow>& rows) {
  std::map<std::string, const ModelResult*> own_of;
  for (const NodeRow& row : rows) own_of[row.text] = row.own;
  std::map<std::string, std::vector<double>> ratios;
  for (const ModelResult& result : results) {
    const double ratio = result.own() ? 0 : Ratio(&result, own_of[result.model]);
    if (ratio > 0) ratios[absl::StrCat("time of ", result.implementation, " over ours")].push_back(ratio);
  }
  for (const NodeRow& row : rows) {
    if (row.ratio > 0) ratios["time of the fastest peer over ours"].push_back(row.ratio);
    if (row.symbolic_ratio > 0) ratios["time of constant extents over a symbolic batch"].push_back(row.symbolic_ratio);
  }
  std::string text;
  for (const auto& [name, all] : ratios) {
    absl::StrAppendFormat(&text, "%s: geometric mean %.3f over %d cases, %d below %.1f\n", name, GeometricMean(all),
                          all.size(), std::ranges::count_if(all, [](double r) { return r < kSlow; }), kSlow);
  }
  return text;
}

// Why cases have no ratio: a line each, or one for several with the same reason.
std::vector<std::string> Missing(const std::vector<ModelResult>& results, const std::vector<NodeRow>& rows) {
  constexpr size_t kNamed = 3;
  std::map<std::string, std::vector<std::string>> cases_of;  // by implementation and reason
  for (const NodeRow& row : rows) {
    for (const ModelResult& result : results) {
      if (result.model != row.text || result.comparable()) continue;
      if (!result.own() && (row.own == nullptr || !row.own->ok())) continue;
      const std::string why = !result.ok()   ? result.error
                              : result.wrong ? absl::StrFormat("inexact: %.1e", result.max_rel_error)
                                             : result.not_compared;
      cases_of[absl::StrCat(result.implementation, ": ", why)].push_back(Short(row.text));
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, cases] : cases_of) {
    lines.push_back(absl::StrCat(
        reason, ": ", cases.size() > kNamed ? absl::StrCat(cases.size(), " cases") : absl::StrJoin(cases, "; ")));
  }
  return lines;
}

// Cases of which a symbolic batch takes longest next to constant extents, at most so many.
std::string SlowestSymbolic(std::vector<NodeRow> rows, int slowest) {
  std::erase_if(rows, [](const NodeRow& row) { return row.symbolic_ratio == 0; });
  std::ranges::sort(rows, {}, [](const NodeRow& row) { return std::pair(row.symbolic_ratio, row.text); });
  if (rows.size() > static_cast<size_t>(slowest)) rows.resize(static_cast<size_t>(slowest));
  if (rows.empty()) return "";
  std::string text = absl::StrFormat("\n%7s %11s %11s  %s\n", "ratio", "constant ms", "symbolic ms", "case");
  for (const NodeRow& row : rows) {
    absl::StrAppendFormat(&text, "%7.3f %11.4f %11.4f  %s\n", row.symbolic_ratio, row.own->timing.median_ms,
                          row.symbolic->timing.median_ms, Short(row.text));
  }
  return text;
}

}  // namespace

std::vector<NodeRow> NodeRows(const std::vector<ModelResult>& results) {
  std::map<std::string, NodeRow> by_text;
  for (const ModelResult& result : results) {
    NodeRow& row = by_text[result.model];
    row.text = result.model;
    if (result.implementation == kOwnName) {
      row.own = &result;
    } else if (result.own()) {
      row.symbolic = &result;
    } else if (result.comparable() &&
               (row.fastest == nullptr || result.timing.median_ms < row.fastest->timing.median_ms)) {
      row.fastest = &result;
    }
  }
  std::vector<NodeRow> rows;
  for (auto& [text, row] : by_text) {
    row.ratio = Ratio(row.fastest, row.own);
    row.symbolic_ratio = Ratio(row.own, row.symbolic);
    rows.push_back(row);
  }
  static constexpr double kLast = 1e30;
  std::ranges::sort(rows, {},
                    [](const NodeRow& row) { return std::pair(row.ratio > 0 ? row.ratio : kLast, row.text); });
  return rows;
}

std::string NodesToText(const Report& head, const std::vector<ModelResult>& results, int slowest) {
  const std::vector<NodeRow> rows = NodeRows(results);
  const std::string symbolic = SlowestSymbolic(rows, slowest);
  std::string text = HeadText(head);
  absl::StrAppendFormat(&text, "%7s %10s %10s  %-12s %s\n", "ratio", "our ms", "peer ms", "peer", "case");
  for (const NodeRow& row : rows) {
    if (row.ratio == 0 || slowest-- <= 0) break;
    absl::StrAppendFormat(&text, "%7.3f %10.4f %10.4f  %-12s %s\n", row.ratio, row.own->timing.median_ms,
                          row.fastest->timing.median_ms, row.fastest->implementation, Short(row.text));
  }
  absl::StrAppend(&text, "\nRatio: time of the fastest peer over ours.\n", symbolic);
  if (!symbolic.empty()) absl::StrAppend(&text, "\nRatio: time of constant extents over a symbolic batch.\n");
  absl::StrAppend(&text, "\n", Means(results, rows));
  const std::vector<std::string> missing = Missing(results, rows);
  if (!missing.empty()) absl::StrAppend(&text, "\nNot measured, or not compared:\n");
  for (const std::string& line : missing) absl::StrAppend(&text, "  ", line, "\n");
  return text;
}

std::string NodesToMarkdown(const Report& head, const std::vector<ModelResult>& results, int slowest,
                            const std::string& remark) {
  const std::vector<NodeRow> rows = NodeRows(results);
  std::string text = absl::StrCat(
      "# Operators one by one\n\nModels of one node, beside other engines on the same file. Written by\n\n    ",
      head.command, "\n\n", remark.empty() ? "" : absl::StrCat(remark, "\n\n"), "```\n", HeadText(head), "```\n\n");
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(Means(results, rows), '\n'))) {
    if (!line.empty()) absl::StrAppend(&text, "* ", line, "\n");
  }
  absl::StrAppend(&text, "\n## The slowest\n\nMilliseconds: median, and the 10th to the 90th percentile.\n\n",
                  "| case | ratio | ours | fastest peer | peer |\n|---|---|---|---|---|\n");
  for (const NodeRow& row : rows) {
    if (row.ratio == 0 || slowest-- <= 0) break;
    absl::StrAppendFormat(&text, "| `%s` | %.2f | %s | %s | %s |\n", absl::StrReplaceAll(Short(row.text), {{"|", "/"}}),
                          row.ratio, Times(row.own->timing), Times(row.fastest->timing), row.fastest->implementation);
  }
  return text;
}

}  // namespace tilewright::bench

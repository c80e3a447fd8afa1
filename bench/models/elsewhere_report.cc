#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/models/elsewhere.h"
#include "bench/operators/result.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::ordered_json;

std::string TitleOf(const ElsewhereResult& result) {
  std::string title = result.model;
  if (result.batch > 0) absl::StrAppend(&title, " batch=", result.batch, " ", result.dtype);
  for (const auto& [name, value] : result.dims) absl::StrAppend(&title, " ", name, "=", value);
  return title;
}

// What was run, in words.
std::string EmulatedText(const ElsewhereResult& r) {
  if (!r.not_emulated.empty()) return absl::StrCat("not emulated: ", r.not_emulated);
  if (r.emulated.empty()) return "not emulated";
  std::string text = absl::StrFormat("right at %s: error %.1e", r.emulated, r.max_rel_error);
  if (r.counts.runs > 0) {
    absl::StrAppend(&text, ", a run is ", r.counts.launches, " launches, ", r.counts.allocations, " allocations, ",
                    r.counts.copies_in, " copies in, ", r.counts.copies_out, " out");
  }
  if (r.instructions > 0) absl::StrAppend(&text, ", ", r.instructions, " instructions");
  return text;
}

// Our instructions over the peer's; 0 where one of them is not known.
double RatioTo(const EmulatedPeer& peer, const ElsewhereResult& r) {
  if (!r.ok() || r.instructions <= 0 || peer.instructions <= 0) return 0;
  return static_cast<double>(r.instructions) / static_cast<double>(peer.instructions);
}

// Whether the peer computes what was asked for; nobody is compared with it otherwise.
bool IsExact(const EmulatedPeer& peer, const ElsewhereResult& r) {
  return peer.error.empty() && peer.max_rel_error <= r.tolerance;
}

std::string PeerText(const EmulatedPeer& peer, const ElsewhereResult& r) {
  if (!peer.error.empty()) return absl::StrCat(peer.name, ": ", peer.error);
  std::string text = absl::StrFormat("%s %s: %d instructions, error %.1e", peer.name, peer.version, peer.instructions,
                                     peer.max_rel_error);
  if (const double ratio = RatioTo(peer, r); ratio > 0 && IsExact(peer, r)) {
    absl::StrAppendFormat(&text, ", ours are %.3f of them", ratio);
  }
  return text;
}

// A line for each peer that results were compared with.
std::string MeansText(const std::vector<ElsewhereResult>& results) {
  struct Compared {
    double logarithms = 0, greatest = 0;
    int models = 0;
  };
  std::map<std::string, Compared> by_peer;
  for (const ElsewhereResult& r : results) {
    for (const EmulatedPeer& peer : r.peers) {
      const double ratio = IsExact(peer, r) ? RatioTo(peer, r) : 0;
      if (ratio <= 0) continue;
      Compared& compared = by_peer[absl::StrCat(peer.name, " ", peer.version)];
      compared.logarithms += std::log(ratio);
      compared.greatest = std::max(compared.greatest, ratio);
      ++compared.models;
    }
  }
  std::string text;
  for (const auto& [name, compared] : by_peer) {
    absl::StrAppendFormat(&text, "%s: our instructions over its: geometric mean %.3f, greatest %.3f, %d models\n", name,
                          std::exp(compared.logarithms / compared.models), compared.greatest, compared.models);
  }
  return text;
}

ordered_json ToJson(const ElsewhereResult& r) {
  ordered_json json = {{"model", r.model}, {"batch", r.batch},   {"dims", r.dims},
                       {"dtype", r.dtype}, {"target", r.target}, {"impl", kOwnName}};
  if (!r.ok()) json["error"] = r.error;
  json["functions"] = r.functions;
  json["launches"] = r.launches;
  json["projected_ms"] = r.projected_ms;
  if (!r.emulated.empty()) {
    json["emulated"] = {{"model", r.emulated},
                        {"plan_launches", r.reduced_launches},
                        {"launches", r.counts.launches},
                        {"graphs", r.counts.runs},
                        {"allocations", r.counts.allocations},
                        {"copies_in", r.counts.copies_in},
                        {"copies_out", r.counts.copies_out},
                        {"instructions", r.instructions},
                        {"max_rel_error", r.max_rel_error},
                        {"tolerance", r.tolerance},
                        {"checked", true}};
  }
  for (const EmulatedPeer& peer : r.peers) {
    ordered_json one = {{"impl", peer.name}, {"version", peer.version}, {"instructions", peer.instructions}};
    one["max_rel_error"] = peer.max_rel_error;
    if (!peer.error.empty()) one["error"] = peer.error;
    if (IsExact(peer, r)) one["ratio"] = RatioTo(peer, r);
    json["peers"].push_back(std::move(one));
  }
  if (!r.not_emulated.empty()) json["not_emulated"] = r.not_emulated;
  if (!r.compiler.empty()) {
    json["kernels"] = {{"compiler", r.compiler}, {"compiled", r.compiled}, {"refused", r.refused}};
  }
  for (const KernelTime& time : r.profile) {
    json["profile"].push_back({{"program", time.value}, {"kernel", time.kernel}, {"projected_ms", time.ms}});
  }
  return json;
}

}  // namespace

std::string ElsewhereText(const std::vector<ElsewhereResult>& results, const std::vector<std::string>& missing) {
  std::string text = "Projected: times are those of the cost model; nothing was measured.\n\n";
  absl::StrAppendFormat(&text, "%-32s %9s %8s %14s\n", "", "functions", "launches", "projected ms");
  for (const ElsewhereResult& r : results) {
    absl::StrAppendFormat(&text, "%-32s %9d %8d %14.3f  %s\n", TitleOf(r), r.functions, r.launches, r.projected_ms,
                          r.ok() ? EmulatedText(r) : absl::StrCat("error: ", r.error));
    for (const EmulatedPeer& peer : r.peers) absl::StrAppend(&text, "  ", PeerText(peer, r), "\n");
    if (r.compiler.empty()) continue;
    absl::StrAppend(&text, "  ", r.compiled, " kernels by ", r.compiler, ", ", r.refused.size(), " refused\n");
    for (const std::string& refused : r.refused) absl::StrAppend(&text, "  refused: ", refused, "\n");
  }
  text += MeansText(results);
  for (const std::string& peer : missing) absl::StrAppend(&text, peer, "\n");
  return text;
}

std::string ElsewhereJson(const std::vector<ElsewhereResult>& results, const std::vector<std::string>& missing,
                          const std::string& commit, const std::string& command) {
  ordered_json json = {{"commit", commit}, {"command", command}, {"source", "projected"}, {"peers", missing}};
  json["results"] = ordered_json::array();
  for (const ElsewhereResult& result : results) json["results"].push_back(ToJson(result));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tilewright::bench

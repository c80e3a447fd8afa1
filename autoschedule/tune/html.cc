#include "autoschedule/tune/html.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace tilewright {
namespace {

constexpr char kStyle[] = R"(body { font: 14px sans-serif; max-width: 1000px; margin: 2em auto; }
text { font: 13px sans-serif; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
td, th { padding: 2px 12px 2px 0; text-align: left; vertical-align: top; } td.number { text-align: right; }
)";

// More ticks than these stand too close for their numbers.
constexpr size_t kMostTicks = 12;

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string PageBegin(std::string_view title, std::string_view style) {
  return absl::StrCat("<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>", EscapeHtml(title),
                      "</title><style>\n", kStyle, std::string(style), "</style></head><body>\n<h1>", EscapeHtml(title),
                      "</h1>\n");
}

std::string FactsTable(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string rows;
  for (const auto& [name, value] : facts) {
    absl::StrAppend(&rows, "<tr><th>", EscapeHtml(name), "</th><td>", EscapeHtml(value), "</td></tr>\n");
  }
  return absl::StrCat("<table>\n", rows, "</table>\n");
}

std::vector<double> RoundTicks(double least, double most, int wanted) {
  if (!(most > least) || wanted < 1) return {};
  const double rough = (most - least) / wanted, power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double digit : {5, 2, 1}) {
    if (digit * power >= rough) step = digit * power;
  }
  std::vector<double> ticks;
  for (double i = std::ceil(least / step); i * step <= most * (1 + 1e-12); ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> RoundTicksOfLogarithm(double least, double most) {
  if (!(most > least) || least <= 0) return {};
  std::vector<double> powers, all;
  for (double power = std::pow(10.0, std::floor(std::log10(least))); power <= most; power *= 10) {
    for (const double digit : {1, 2, 5}) {
      const double tick = digit * power;
      if (tick < least || tick > most) continue;
      all.push_back(tick);
      if (digit == 1) powers.push_back(tick);
    }
  }
  // One decade or less: steps of the same size say more.
  if (all.size() < 3) return RoundTicks(least, most, 4);
  return all.size() > kMostTicks ? powers : all;
}

}  // namespace tilewright

#include "base/nearest_names.h"

#include <algorithm>
#include <utility>

namespace tilewright {
namespace {

// Longer texts are not misspelt names.
constexpr size_t kLongestName = 100;
// A beginning as short as this says nothing.
constexpr size_t kShortestBeginning = 3;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between beginnings of `a` and of `b`: the current one and the two before it.
  std::vector<int> two_before, before(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    two_before = std::exchange(before, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> names, size_t most) {
  if (name.empty() || name.size() > kLongestName) return {};
  const std::string wanted = Lower(name);
  const int allowed = std::max(1, static_cast<int>(name.size()) / 3);
  std::vector<std::pair<int, size_t>> near;  // distance and position
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].size() > kLongestName) continue;
    const std::string known = Lower(names[i]);
    const int distance = EditDistance(wanted, known);
    const bool begins = std::min(wanted.size(), known.size()) >= kShortestBeginning &&
                        (known.starts_with(wanted) || wanted.starts_with(known));
    if (distance > allowed && !begins) continue;
    near.emplace_back(distance, i);
  }
  std::ranges::sort(near);
  std::vector<std::string> nearest;
  for (const auto& [distance, i] : near) {
    const bool is_new = std::ranges::find(nearest, names[i]) == nearest.end();
    if (nearest.size() < most && is_new) nearest.push_back(names[i]);
  }
  return nearest;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> names) {
  const std::vector<std::string> nearest = NearestNames(name, names);
  if (nearest.empty()) return "";
  std::string text = "; did you mean ";
  for (size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += i + 1 == nearest.size() ? " or " : ", ";
    text += nearest[i];
  }
  return text + "?";
}

}  // namespace tilewright

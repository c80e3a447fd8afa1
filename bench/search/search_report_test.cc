#include "bench/search/search_report.h"

#include <gtest/gtest.h>

namespace tilewright::bench {
namespace {

// A group in which variant v takes times[v] milliseconds, and met its best after v + 1 seconds.
SearchGroup Group(const char* task, uint64_t seed, const std::vector<double>& times) {
  SearchGroup group{.task = task, .seed = seed, .seconds = 6, .ranks = {40, 0.25, 0.5, 0.6, 0.75}};
  for (size_t v = 0; v < times.size(); ++v) {
    group.runs.push_back({.variant = Variants()[v].name,
                          .milliseconds = times[v],
                          .spent = 6,
                          .measured = 50,
                          .tries = 600,
                          .progress = {{0.5, 2 * times[v]}, {static_cast<double>(v) + 1, times[v]}}});
  }
  return group;
}

TEST(SearchReport, JsonRoundTrip) {
  const SearchGroup group = Group("GMM:1,8,8,8 f32", 3, {1, 2, 1.5});
  const absl::StatusOr<SearchGroup> read = SearchGroupFromJson(ToJson(group));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(*read), ToJson(group));
  EXPECT_EQ(read->runs[1].progress[1], std::pair(2.0, 2.0));
  EXPECT_EQ(SearchGroupFromJson("{\"task\": \"GM").status().message(), "not JSON");
  EXPECT_EQ(SearchGroupFromJson("{\"task\": 1}").status().message().substr(0, 26), "not the runs of a search: ");
}

TEST(SearchReport, CountsTasksInWhichTheFullSearchIsAhead) {
  const std::vector<SearchGroup> groups = {
      Group("A", 1, {1, 2, 1, 1, 1, 1}),
      Group("A", 2, {1, 4, 1, 1, 1, 1}),  // the median over the seeds: 3 against 1
      Group("B", 1, {1, 1.001, 1, 1, 1, 1}),
      Group("C", 1, {1, 0.9, 1, 1, 1, 1}),
  };
  const std::string tables = SearchTables(groups);
  EXPECT_NE(tables.find("| random | 1 | 1 | 1 | 1.393 | 6.0 | 50 | 2.0 (50%) | 2.0 (50%) |"), std::string::npos)
      << tables;
  // By 0.5 s each had measured twice its best; by 2 s these two their best.
  EXPECT_NE(tables.find("| 0.25 | 0, 3, 0 |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| 0.5 | 1, 1, 1 |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| 1 | 3, 0, 0 |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| 2 | 1, 1, 1 |"), std::string::npos) << tables;
  // Random search met its best a second later, of 6: in C it is at 1.13 on average, the full one at 1.12.
  EXPECT_NE(tables.find("| mean | 3, 0, 0 |"), std::string::npos) << tables;
  // In C the full search never comes within 10% of the random one, nor does any other.
  EXPECT_NE(tables.find("| 10% | 2, 0, 1 | 2, 1, 0 | 2, 1, 0 | 2, 1, 0 |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| A | 1.0000 | 3.0000 |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| mean | 160 | 0.25 | 0.50 | 0.60 | 0.75 |"), std::string::npos) << tables;
}

TEST(SearchReport, PlotsHaveALineAndAPointForEachVariant) {
  const std::vector<SearchGroup> groups = {Group("A", 1, {1, 2, 1, 1, 1, 1})};
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(ProgressPlot(groups), "<polyline"), Variants().size());
  EXPECT_EQ(count(TaskPlot(groups), "<circle"), Variants().size());
}

}  // namespace
}  // namespace tilewright::bench

// What runs of searches say (bench/search/search_run.h): tables in Markdown and plots in SVG.
//
// The runs of all seeds of a task count: a variant's time is the median over the seeds, and a variant is ahead of
// another one where it is more than kNoise faster.
#pragma once

#include <string>
#include <vector>

#include "bench/search/search_run.h"

namespace tilewright::bench {

inline constexpr double kNoise = 0.005;

// The full search against each variant: in how many tasks it is ahead, level and behind, and the geometric mean of the
// times; in how many it is ahead, level and behind by what each preferred at moments before the end, and by who is the
// first to come within a part of the best; the times of each task; the rank correlations of the models.
std::string SearchTables(const std::vector<SearchGroup>& groups);

// How far the best candidate of each variant is from the best that any found, over the time of the search: geometric
// means over tasks and seeds.
std::string ProgressPlot(const std::vector<SearchGroup>& groups);
// The time of each variant on each task over that of the full search.
std::string TaskPlot(const std::vector<SearchGroup>& groups);

}  // namespace tilewright::bench

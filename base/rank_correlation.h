// How well one list of numbers orders things that another list orders.
#pragma once

#include <span>

namespace tilewright {

// Spearman's coefficient: 1 when both lists order alike, -1 when the other way round, 0 for no relation or when one of
// them has only equal numbers. Equal numbers share the mean of their ranks. The lists have the same length.
double RankCorrelation(std::span<const double> a, std::span<const double> b);

}  // namespace tilewright

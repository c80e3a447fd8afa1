// Pieces of pages that stand alone: no scripts, nothing loaded from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

// Text as it stands between tags and in attributes.
std::string EscapeHtml(std::string_view text);

// A page up to the beginning of its body. `style`: rules beside those that all pages share.
std::string PageBegin(std::string_view title, std::string_view style);

// A table of names and values.
std::string FactsTable(const std::vector<std::pair<std::string, std::string>>& facts);

// Round values between two others, about as many as asked for: of {0.3, 47}: {10, 20, 30, 40}.
std::vector<double> RoundTicks(double least, double most, int wanted);
// The same where an axis is logarithmic: 1, 2, 5, 10, 20, 50, ...; only powers of ten where there are many.
std::vector<double> RoundTicksOfLogarithm(double least, double most);

}  // namespace tilewright

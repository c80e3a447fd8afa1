// Arrays as commands print them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "ir/ndarray.h"
#include "nlohmann/json.hpp"

namespace tilewright {

// One line: type, shape, sum, least, largest and first elements.
void PrintArray(std::ostream& out, const std::string& name, const NDArray& array);
nlohmann::json ToJson(const std::string& name, const NDArray& array);
// JSON does not have infinities and NaN: null in their place.
nlohmann::json OrNull(double value);

// "median 1.2 ms, 1.1 to 1.4 in 20 runs" (the tenth and the ninetieth percent), and the same as JSON, of at least one
// time.
std::string TimesText(std::vector<double> seconds);
nlohmann::json TimesJson(std::vector<double> seconds);

}  // namespace tilewright

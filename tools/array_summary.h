// Arrays as commands print them.
#pragma once

#include <iosfwd>
#include <string>

#include "ir/ndarray.h"
#include "nlohmann/json.hpp"

namespace tilewright {

// One line: type, shape, sum, least, largest and first elements.
void PrintArray(std::ostream& out, const std::string& name, const NDArray& array);
nlohmann::json ToJson(const std::string& name, const NDArray& array);
// JSON does not have infinities and NaN: null in their place.
nlohmann::json OrNull(double value);

}  // namespace tilewright

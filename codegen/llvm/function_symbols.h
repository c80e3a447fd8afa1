// The addresses of an object's functions once it is loaded, also of those that are not exported.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "codegen/runtime/perf_map.h"

namespace tilewright::codegen {

// `address_of` tells where an exported function was loaded (0: nowhere): the others of its section lie as far from it
// as in the object.
std::vector<runtime::CodeSymbol> FunctionsOf(std::string_view object,
                                             const std::function<uint64_t(std::string_view)>& address_of);

}  // namespace tilewright::codegen

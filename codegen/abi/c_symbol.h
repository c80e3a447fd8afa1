// The names under which compiled functions are exported (docs/abi.md).
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

// The name that C calls a function by: its own, with `tw_` in front where C has another use for that name. These are
// main, keywords, functions of the C library (which compiled code may call itself), names that C reserves, and those
// that a library of compiled functions has besides its functions.
std::string CSymbol(std::string_view function);

// `text` with what C identifiers do not have replaced by '_'.
std::string CIdentifier(std::string text);

}  // namespace tilewright

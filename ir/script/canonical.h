// For tests: the canonical text of a program.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

// `text` as it is printed. Expects that this reads back to an equal program of the same hash and prints the same again.
std::string Canonical(std::string_view text);

}  // namespace tilewright

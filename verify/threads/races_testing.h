// What tests of races share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::testing {

// The reasons of CheckRaces (verify/threads/races.h) for the function of a text.
std::vector<std::string> Races(std::string_view text);

// The text with the first `from`, which it must hold, replaced.
std::string Replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace tilewright::testing

// Damaged files.
#pragma once

#include <random>
#include <string>

namespace tilewright::graph {

// One to four changes: a byte or a bit another one, bytes gone, repeated, a number as long as can be, or the end cut off.
std::string Damaged(std::string bytes, std::mt19937_64& random);

}  // namespace tilewright::graph

// Which names a misspelt one may stand for.
//
//   NearestNames("lvlm", {"interp", "llvm", "cuda"})   {"llvm"}
//   DidYouMean("lvlm", names)                          "; did you mean llvm?"
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// The least number of steps from one text to the other; a step inserts, deletes or replaces a byte, or swaps two
// neighbours that no other step touches.
int EditDistance(std::string_view a, std::string_view b);

// The names that differ from `name` by at most a third of its bytes (one at least), or that begin with it or it with
// them; nearest first, alike ones in order, at most `most`. Upper and lower case are alike.
std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> names, size_t most = 3);

// "; did you mean a, b or c?", or nothing where no name is near.
std::string DidYouMean(std::string_view name, std::span<const std::string> names);

}  // namespace tilewright

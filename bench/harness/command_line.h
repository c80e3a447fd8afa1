// The command line as the flag library can take it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::bench {

// Abseil keeps only the last value of a flag that is given several times. This joins them:
//
//   {"--shape=GMM:1,2,3,4", "--seconds=1", "--shape", "GMM:5,6,7,8"}
//     -> {"--seconds=1", "--shape=GMM:1,2,3,4;GMM:5,6,7,8"}
std::vector<std::string> JoinRepeatedFlag(const std::vector<std::string>& arguments, std::string_view flag);

}  // namespace tilewright::bench

#include "codegen/cuda/ptxas_log.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

namespace tilewright::cuda {
namespace {

// The number in front of the words, at each place where they stand; calls add(number).
template <class Add>
void EachNumberBefore(std::string_view log, std::string_view words, Add&& add) {
  for (size_t at = log.find(words); at != log.npos; at = log.find(words, at + 1)) {
    size_t first = at;
    while (first > 0 && std::isdigit(static_cast<unsigned char>(log[first - 1])) != 0) --first;
    if (first < at) add(std::atoll(std::string(log.substr(first, at - first)).c_str()));
  }
}

}  // namespace

Counters CountersOfLog(std::string_view log) {
  Counters counters;
  EachNumberBefore(log, " registers",
                   [&](int64_t n) { counters[kRegistersCounter] = std::max(counters[kRegistersCounter], n); });
  EachNumberBefore(log, " bytes stack frame", [&](int64_t n) { counters[kStackBytesCounter] += n; });
  for (std::string_view spills : {" bytes spill stores", " bytes spill loads"}) {
    EachNumberBefore(log, spills, [&](int64_t n) { counters[kSpillBytesCounter] += n; });
  }
  int64_t warnings = 0;
  for (size_t at = log.find("(C75"); at != log.npos; at = log.find("(C75", at + 1)) ++warnings;
  counters[kPtxasWarningsCounter] = warnings;
  return counters;
}

}  // namespace tilewright::cuda

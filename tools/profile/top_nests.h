// The nests of loops at the top of a function, told apart so that each can be timed.
//
//   for i in T.parallel(m): ...           read_clock(times[0]); for i in T.parallel(m): ...; read_clock(times[1])
//   for i in T.parallel(m): ...     ->    read_clock(times[2]); for i in T.parallel(m): ...; read_clock(times[3])
//
// A CPU runs nests one after the other, so their times and what is between them add up to the call's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct TopNest {
  std::string name;   // the blocks inside, "matmul, relu"; what it stores to where there is none
  std::string place;  // "for i_0", or "-" for a statement without a loop
  Function alone;     // the function with this nest only
};

// Temporaries, names and assertions around nests are not nests; a statement without a loop is one.
std::vector<TopNest> TopNestsOf(const Function& function);

// The function with a last parameter more, `int64[2 * nests, 2]`, that receives seconds and nanoseconds of the C
// library's monotonic clock before and after each nest.
Function WithClock(const Function& function);

}  // namespace tilewright

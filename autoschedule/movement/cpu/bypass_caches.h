// Programs whose data is larger than the caches: what loops ask of these (codegen/lower/cpu/cache_hints.h).
#pragma once

#include <string>
#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// If the parameters of the function that the loop lies in are more than three eighths of the last-level cache, which
// others use too: the choice NAME.stream, whether what the loop stores to them goes past the caches. Later, they would
// be gone from these anyway.
Outcome<std::monostate> ChooseStreaming(Schedule& sch, LoopRv loop, const std::string& name, const Target& target,
                                        Choices& choices);

// If they are more than the second-level caches of all cores: the choice NAME.prefetch, whether an iteration that
// reads a row more than once fetches the next one meanwhile.
Outcome<std::monostate> ChoosePrefetching(Schedule& sch, LoopRv loop, const std::string& name, const Target& target,
                                          Choices& choices);

}  // namespace tilewright

// set_scope: moves a buffer to another memory scope.
//
//   A2 = T.alloc_buffer((64, 64))              A2_shared = T.alloc_buffer((64, 64), scope="shared")
//   ... A2[vi, vj] = ...               ->      ... A2_shared[vi, vj] = ...
//
// Conditions: the block writes a region with that number; the buffer is allocated by a block (a parameter's memory is
// the caller's, a matched sub-buffer lies where its source does). Parts that blocks match move along. Nothing changes
// when the buffer is in that scope already. All ids survive.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct SetScopeResult {
  Function function;
};

Outcome<SetScopeResult> SetScope(const Function& function, uint32_t block, int write_index, std::string_view scope);

}  // namespace tilewright

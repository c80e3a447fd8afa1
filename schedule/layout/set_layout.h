// set_layout: the elements of a buffer lie in memory as a named layout says.
//
//   with T.block("A_shared"):                    with T.block("A_shared"):
//       vi, vj = ...                   ->            T.block_attr({"buffer_layout": [[0, "swizzle_128B"]]})
//       A_shared[vi, vj] = A[vi, vj]                 A_shared[vi, vj] = A[vi, vj]
//
// Why: instructions that read tiles from shared memory expect their elements at certain places, and others read columns
// without conflicts of banks (ir/named_layouts.h has the names). Addresses change, and no value does. The annotation is
// on the block that writes; what it says about the same buffer before is replaced. Whether the shape that is allocated
// fits the layout is known to lowering.
//
// Conditions: the layout is known; a block allocates the buffer, which has two dimensions or more.
//
// Ids: all survive.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> SetLayout(const Function& function, uint32_t block, int write_index, std::string_view layout);

}  // namespace tilewright

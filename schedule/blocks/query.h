// Queries: finding loops and blocks. They leave the program alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// The block of that name, the root where it is one of several; refused when there is none, or more than one below it.
Outcome<uint32_t> GetBlock(const Function& function, std::string_view name);
// The loops between the block and its scope, outermost first.
Outcome<std::vector<uint32_t>> GetLoops(const Function& function, uint32_t block);
// The blocks directly below a loop or in a block.
Outcome<std::vector<uint32_t>> GetChildBlocks(const Function& function, uint32_t id);
// Blocks of the same scope that write what the block reads or writes, and come before it, in the order of its reads;
// the reverse, in the order of the program.
Outcome<std::vector<uint32_t>> GetProducers(const Function& function, uint32_t block);
Outcome<std::vector<uint32_t>> GetConsumers(const Function& function, uint32_t block);
// The children of a block that write buffers which it does not allocate.
Outcome<std::vector<uint32_t>> GetOutputBlocks(const Function& function, uint32_t scope_block);

}  // namespace tilewright

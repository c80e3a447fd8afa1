// What it means to run a reduction block without its init.
#pragma once

#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// The read regions of the block as an update: what it writes, since it accumulates, then what it reads. A block with an
// init leaves the former out.
std::vector<BufferRegion> ReadsOfUpdate(const BlockNode& block);

}  // namespace tilewright

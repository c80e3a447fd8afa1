// Random programs over every construct of the IR that the script can write. The same seed gives the same program.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace tilewright {

Module RandomProgram(uint64_t seed);

}  // namespace tilewright

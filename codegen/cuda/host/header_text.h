// The headers that the text of a launcher includes, as text within this library.
#pragma once

#include <span>

#include "codegen/cuda/device_text.h"

namespace tilewright::cuda {

std::span<const DeviceHeader> HostHeaders();

}  // namespace tilewright::cuda

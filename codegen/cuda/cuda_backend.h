// CUDA as a back end (codegen/backend.h): text for people and NVRTC, and kernels that run on a GPU or in emulation.
#pragma once

#include <memory>

#include "codegen/backend.h"

namespace tilewright {

std::unique_ptr<Backend> MakeCudaBackend();

}  // namespace tilewright

// LLVM as a back end: code for CPUs.
#pragma once

#include <memory>

#include "codegen/backend.h"

namespace tilewright {

// It writes objects, shared libraries, assembly and LLVM IR. It counts spills in code for x86.
std::unique_ptr<Backend> MakeLlvmBackend();

}  // namespace tilewright

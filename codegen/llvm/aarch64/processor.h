// AArch64 processors.
#pragma once

#include "codegen/llvm/processor/processor.h"

namespace tilewright::codegen::aarch64 {

const Processor& TheProcessor();

}  // namespace tilewright::codegen::aarch64

// x86 processors.
#pragma once

#include "codegen/llvm/processor/processor.h"

namespace tilewright::codegen::x86 {

const Processor& TheProcessor();

}  // namespace tilewright::codegen::x86

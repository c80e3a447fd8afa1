// Which family of processors a target belongs to.
#pragma once

#include "codegen/llvm/processor/processor.h"

namespace tilewright::codegen {

// For CPUs.
const Processor& ProcessorOf(const Target& target);

}  // namespace tilewright::codegen

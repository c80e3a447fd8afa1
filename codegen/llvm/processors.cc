#include "codegen/llvm/processors.h"

#include "codegen/llvm/aarch64/processor.h"
#include "codegen/llvm/x86/processor.h"

namespace tilewright::codegen {

const Processor& ProcessorOf(const Target& target) {
  return target.kind == TargetKind::kX86 ? x86::TheProcessor() : aarch64::TheProcessor();
}

}  // namespace tilewright::codegen

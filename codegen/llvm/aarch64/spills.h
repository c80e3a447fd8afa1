// Vector registers that a compiled loop writes to the stack, as codegen/llvm/x86/spills.h has it.
#pragma once

#include <string_view>

namespace tilewright::aarch64 {

// Moves of vector registers to or from the stack inside of innermost loops, in AArch64 assembly as EmitAssembly gives
// it. Loops that store vectors elsewhere, which are not sums, may have some for each of these.
int CountInnerLoopVectorSpills(std::string_view assembly);

}  // namespace tilewright::aarch64

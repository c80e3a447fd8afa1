// Vector registers that a compiled loop writes to the stack.
//
// A register tile that does not fit costs a factor of two: the compiler then keeps some accumulators on the stack and
// moves them in every iteration. Whether it does depends on the register allocator, so it is counted in the assembly.
#pragma once

#include <string_view>

namespace tilewright {

// Moves of vector registers to or from the stack inside of innermost loops, in x86 assembly as EmitAssembly gives it.
// Loops that store vectors elsewhere, which are not sums, may have some for each of these.
int CountInnerLoopVectorSpills(std::string_view assembly);

}  // namespace tilewright

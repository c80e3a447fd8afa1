// Attributes by which implementations of intrinsics say which instruction of the GPU does what their body says.
//
//   with T.attr(0, "cuda.instruction", T.cuda.ldmatrix_x4(...)):      the call does what the body does
//   with T.attr(0, "cuda.value", T.cuda.dp4a(...)):                   what the one store in the body stores
//   with T.attr(0, "cuda.registers", 8):                              the iterations of the loop in it are registers of
//                                                                     the lane, from this one on
//
// Analyses look at the bodies, which are exact; codegen/lower/gpu/select_instructions.h takes the instructions at the
// end.
#pragma once

#include "ir/stmt.h"
#include "target/target.h"

namespace tilewright {

bool IsInstruction(const Stmt& s);
// What the program says without instructions.
Stmt WithoutInstructions(const Stmt& s);

// From one version of a buffer to the next: what its strides, or its shape, say.
Expr ElementsOf(const Buffer& buffer);

// A tvm_access_ptr into `from`, moved to `data` and on by `elements` elements of `from`. Pointers into fragments count
// the registers of a lane.
Expr MovedPointer(const CallNode* pointer, const Buffer& from, const Var& data, const Expr& elements,
                  const GpuTarget& gpu);

// Threads that hold memory of this scope together, of a warp or a warpgroup.
int64_t LanesOf(const Scope& scope, const GpuTarget& gpu);

}  // namespace tilewright

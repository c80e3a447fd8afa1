// hoist_prepack: moves the packing of constant operands into a function that runs once, ahead of time.
//
// Why: weights do not change from call to call, so the time to bring them into the layout that the kernel reads is paid
// once. The parameters that are constant are named by the attribute "tilewright.constant_params", their positions.
//
//   @T.prim_func                                       @T.prim_func
//   def main(A, B, C):                                 def main(A, B_packed, C):
//       T.func_attr({"tilewright.constant_params": [1]})     for i, j, k: C[...] += A[...] * B_packed[...]
//       B_packed = T.alloc_buffer(...)             ->
//       for j, k: B_packed[...] = B[k, j]              @T.prim_func
//       for i, j, k: C[...] += A[...] * B_packed[...]  def main_prepack(B, B_packed):
//                                                          T.func_attr({"tilewright.prepack_of": "main"})
//                                                          for j, k: B_packed[...] = B[k, j]
//
// Parameters with the same name in both functions are the same tensor: a caller runs main_prepack once and passes what
// it wrote to every call of main. The packed buffer takes the place of the constant parameter when nothing else of main
// uses it, else it comes last.
//
// A function main_prepack that is there already does the work of both: the block comes after what it holds, and reads
// parameters that have the names of its own there.
//
// A buffer whose name is that of a parameter gets a number behind it.
//
// Conditions: the outermost of the block's loops in the block around it contains no other blocks; the block writes one
// buffer, which a block around it allocates in global memory and nobody else writes, and reads constant parameters
// only; what it depends on besides, symbolic extents, are extents of these, and not what changes around it: steps of a
// recurrence read the weights that the first one reads; it is not the only block; the body of a main_prepack that is
// there is a block.
//
// Ids: the block and its loops die in main (they live on in main_prepack with the same ids); all others survive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// `function` with the given parameters marked constant.
Function MarkConstant(const Function& function, const std::vector<int>& params);

// Whether `buffer` is a parameter that is marked constant.
bool IsConstantParam(const Function& function, const Buffer& buffer);

struct HoistPrepackResult {
  Function function;
  Function prepack;  // of the name PrepackName; the attribute kPrepackOf says for which function it packs
};

// What the function that packs for `function` is called.
std::string PrepackName(const FunctionNode& function);

// `prepack`: the function of that name that is there, or null.
Outcome<HoistPrepackResult> HoistPrepack(const Function& function, uint32_t block, const Function& prepack = {});

}  // namespace tilewright

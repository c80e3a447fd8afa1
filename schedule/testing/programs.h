// Small programs that tests of primitives work on.
#pragma once

#include <string_view>

#include "ir/builder.h"
#include "ir/function.h"

namespace tilewright::testing {

// for i, j, k in T.grid(m, n, l): block "C": C[vi, vj] += A[vi, vk] * B[vj, vk], with init. Loops and iterators are
// named i, j, k and vi, vj, vk.
Function Matmul(int m, int n, int l, DataType dtype = DataType::Float(32));

// B[vi, vj] = A[vi, vj] * 2 in block "B", then C[vi, vj] = B[vi, vj] + 1 in block "C"; each under its own loops i, j.
// B is allocated by the root block.
Function ElementwiseChain(int m, int n);

// As ElementwiseChain, with both blocks under the same loops; block "C" reads B[vi, vj - shift] (vj >= shift; else 0).
Function ElementwiseInOneNest(int m, int n, int shift);

// B[vi, vj] = A[vi, vj] in block "B" over 8 x 8 elements, under its own loops i, j; then C[vi, vj] = B[vi, vj] in block
// "C", whose loop j runs `length` times, in terms of i: "i + 1" copies a triangle.
Function PartialCopy(std::string_view length);

// The ids, which the function must have once.
uint32_t BlockNamed(const Function& function, std::string_view name);
// The ids of the loops above the block with that name, outermost first.
std::vector<uint32_t> LoopsOf(const Function& function, std::string_view block_name);
// The names of their variables.
std::vector<std::string> LoopNamesOf(const Function& function, std::string_view block_name);

}  // namespace tilewright::testing

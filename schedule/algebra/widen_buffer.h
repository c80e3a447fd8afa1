// widen_buffer: a buffer that a block writes holds its elements in a wider type.
//
//   B = T.alloc_buffer((16,), "float16")                 B = T.alloc_buffer((16,))
//   B[vi] = A[vi]                                  ->    B[vi] = T.Cast("float32", A[vi])
//   C[vi] = C[vi] + T.Cast("float32", B[vi])             C[vi] = C[vi] + B[vi]
//
// Why: elements that are used often are converted once, and instructions that multiply the wider type take them as they
// are.
//
// No value changes: what is stored is a number of the narrower type, which the wider one holds, and where an element is
// used in the narrower type it is converted back, which rounds nothing.
//
// Conditions: a block allocates the buffer; it holds floating-point numbers, of fewer bits than the type, which is
// float32 or float64, or integers of fewer bits than the type, which holds all of them; no block takes the address of
// the buffer or of a part of it, and no access is a vector's. Parts that blocks match change with it.
//
// Ids: all survive.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// `write_index` counts the block's written regions.
Outcome<Function> WidenBuffer(const Function& function, uint32_t block, int write_index, std::string_view dtype);

}  // namespace tilewright

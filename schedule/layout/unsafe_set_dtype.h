// Unsafe set dtype: a buffer that a block writes holds elements of another type.
//
//   B = T.alloc_buffer((16,))                     B = T.alloc_buffer((16,), "float16")
//   B[vi] = A[vi] + T.float32(1)         ->       B[vi] = T.Cast("float16", A[vi] + T.float32(1))
//   C[vi] = B[vi] * T.float32(2)                  C[vi] = T.Cast("float32", B[vi]) * T.float32(2)
//
// Unsafe, since results change where the new type cannot hold a value: the one primitive that may change what a program
// computes.
//
// Conditions: a block allocates the buffer; the type is a scalar number type; no block takes the address of the buffer
// or of a part of it, and no access is a vector's. Parts that blocks match get the new type.
//
// Ids: all survive.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> UnsafeSetDtype(const Function& function, uint32_t block, int write_index, std::string_view dtype);

}  // namespace tilewright

// Programs whose floats are stored in 16 bits, and computed and summed in 32 as before.
//
//   C[i, j] += A[i, k] * B[k, j]    ->    sum[i, j] += float32(A[i, k]) * float32(B[k, j])     A, B, C: bfloat16
//                                         C[i, j] = bfloat16(sum[i, j])
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/value.h"
#include "ir/function.h"

namespace tilewright::graph {

// What a program does with the floats that it reads.
enum class FloatRole : uint8_t {
  kMultiplies,  // adds up products of them
  kFollows,     // moves, compares, adds, and multiplies by others: results are about as large and as precise
  kOther,       // sums, powers, exponentials, quotients: 16 bits might not hold the result
};
FloatRole FloatRoleOf(const PrimFunc& program);

// Positions of the parameters whose elements are factors of the sums, directly or as a block has moved them.
std::vector<size_t> FactorsOfSums(const PrimFunc& program);

enum class Narrowing : uint8_t {
  kNone,
  kStored,  // elements lie in memory in 16 bits
  kRead,    // elements lie in memory in 32 bits; the program makes 16 bits of them
};

// The program with `of[i]` for parameter i; `type` is float16 or bfloat16. Parameters that are not kNone are buffers of
// float32, kRead stands for those that are read alone. Temporaries that hold factors of sums have 16 bits. The program
// is regular (program_form.h).
PrimFunc Narrowed(const PrimFunc& program, const std::vector<Narrowing>& of, DataType type);

// The program whose temporaries of that type have float32 where they hold rounded numbers that no sum of products
// reads: what lies between kernels that were joined.
PrimFunc WithoutRoundings(const PrimFunc& program, DataType type);

}  // namespace tilewright::graph

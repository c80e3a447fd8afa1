// Programs of the graph in the form that fusion and scheduling know best. Each function gives a program that computes
// the same elements; programs whose blocks hold anything but loads, stores and plain statements come back as they are.
#pragma once

#include <map>
#include <vector>

#include "graph/ir/value.h"
#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

// Whether a program is loops around blocks with spatial and reduction iterators, and these hold stores (under loops,
// conditions and lets) of what they load.
bool IsRegular(const PrimFunc& program);

// Parameters of one element that are constants become numbers in the program, by position, and go. What follows from
// them without a change of any result goes too: pow(x, 2) -> x * x, x / 4 -> x * 0.25, x * 1 -> x.
PrimFunc WithScalars(const PrimFunc& program, const std::map<size_t, NDArray>& scalars);

// Dimensions of extent one of temporaries, and loops and spatial iterators of extent one, go:
//
//   mean = T.alloc_buffer((1, 256, 1))                           mean = T.alloc_buffer((256,))
//   for i, j, k in T.grid(1, 256, 1): mean[i, j, k] = ...   ->   for j in range(256): mean[j] = ...
//
// A program that multiplies one row of small integers stays as it is: its row is one of an instruction's tile.
PrimFunc WithoutUnitDimensions(const PrimFunc& program);

// Loops, iterators and indices of one integer type: of 32 bits where everything fits, else of 64. Indices are
// simplified, comparisons of them too:
//
//   for i in range(T.int64(96)): B[i] = A[T.Cast("int32", i // T.int64(24) * T.int64(24) + i % T.int64(24))]   ->
//   for i in range(96): B[i] = A[i]
//
// Programs that were written for different operators mix types, and indices that went through conversions are not
// recognized as what they are.
PrimFunc WithOneIndexType(const PrimFunc& program);
// The same in a type that the caller knows to be wide enough.
PrimFunc WithIndexType(const PrimFunc& program, DataType type);

// What `facts` know of symbols simplifies extents, loops and indices. The program is the same where that holds, and
// reads nothing outside of buffers of constant extents where it does not. `facts` may be null, knows afterwards what it
// knew before, and serves many programs: conditions are proven once, when they are assumed.
PrimFunc WithFacts(const PrimFunc& program, arith::Analyzer* facts);

// Dimension d of parameter p is stored as dimension permutations[p][d] of the old one; an empty permutation keeps it.
// Temporaries of the same rank as a result take its permutation; loops and iterators follow the order of the dimensions
// that their block writes.
//
//   Y[n, o, y, x] += X[n, c, y + r, x + s] * W[o, c, r, s]  ->   Y[n, y, x, o] += X[n, y + r, x + s, c] * W[r, s, c, o]
using Permutation = std::vector<int>;
PrimFunc Permuted(const PrimFunc& program, const std::vector<Permutation>& permutations,
                  const std::map<const BufferNode*, Permutation>& temporaries);

// A vector rearranged: element d of the result is element permutation[d].
template <class T>
std::vector<T> Permute(const std::vector<T>& values, const Permutation& permutation) {
  if (permutation.empty()) return values;
  std::vector<T> result;
  for (int d : permutation) result.push_back(values[static_cast<size_t>(d)]);
  return result;
}

}  // namespace tilewright::graph

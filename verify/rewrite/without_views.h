// A program whose memory has one name each, for checks that look at buffers one by one.
//
//   S = T.alloc_buffer((96,), "float32")
//   V = T.decl_buffer((8, 12), "float32", data=S.data)
//   S[v] = A[v]                                                 S[v] = A[v]
//   B[vi, vj] = V[vi, vj]                               ->      B[vi, vj] = S[vi * 12 + vj]
//
// Names of another type of the same width read the same bits. Where widths differ the memory is an array of its
// narrowest parts, of which a wider element is several: an int64 over float32 reads and writes two elements. An array
// whose elements overlap is one without dimensions.
//
// What blocks declare of such memory is found again from their bodies.
#pragma once

#include <optional>

#include "ir/function.h"

namespace tilewright {

// The function itself where all memory has one name; nothing where an access cannot be followed: by symbolic strides,
// in a matched part of another type or shape, by vectors of parts, or inside of what blocks hide from their bodies.
std::optional<Function> WithoutViews(const Function& function);

}  // namespace tilewright

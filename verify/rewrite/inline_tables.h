// Values in place of tables of indices, for checks of places.
//
//   with T.block("at"):                              with T.block("at"):
//       v = T.axis.spatial(8, i)                         v = T.axis.spatial(8, i)
//       at[v] = v * 2 - 1                   ->           at[v] = v * 2 - 1
//   with T.block("B"):                               with T.block("B"):
//       vi = T.axis.spatial(8, i)                        vi = T.axis.spatial(8, i)
//       B[vi] = A[at[vi]]                                B[vi] = A[vi * 2 - 1]
//
// A table is a buffer with known contents (known_contents.h) that one store fills, at places made of different
// variables, with a value made of these variables alone. What is loaded from it is that value, or was never written,
// which other checks refuse. A load whose own place is not proven inside of the table, or that its block does not
// declare, stays: it has to be refused.
#pragma once

#include "ir/function.h"

namespace tilewright {

// The function itself where it has no such tables.
Function InlineTables(const Function& function);

}  // namespace tilewright

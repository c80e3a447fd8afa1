// A scope whose blocks of blocks are taken apart, for proofs that their signatures are too coarse for.
//
//   with T.block("B_o"):                                   for i, j in T.grid(n, 6):
//       vo = T.axis.spatial(1, 0)                              with T.block("B"):
//       T.writes(B[0:(n + 1) // 2, 0:6, 0:2])                      vo = T.axis.spatial(1, 0)
//       for i, j in T.grid(n, 6):                     =>           vi, vj = T.axis.remap("SS", [i, j])
//           with T.block("B"):                                     T.writes(B[vi // 2, vj, vi % 2])
//               vi, vj = T.axis.remap("SS", [i, j])                B[vi // 2, vj, vi % 2] = A[vi, vj]
//               B[vi // 2, vj, vi % 2] = A[vi, vj]
//
// For odd n, B_o does not write all of the box that it declares. Of the blocks inside it is known what they write.
#pragma once

#include "ir/stmt.h"

namespace tilewright {

// The block, with the blocks in its scope that hold nothing but loops and blocks replaced by their bodies, which take
// over their iterators and predicates. Blocks with an init, buffers or matched parts of their own stay. The same block
// when there is none to take apart. Ids stay as they are.
Block FlatScope(const Block& block);

}  // namespace tilewright

// The operators of the peer's dialect that graphs are written with: elementwise ones with broadcasting, matrix
// products, reductions and movement. Their lowering is in graph/rewrite/basic_lowering.h.
//
//   add, subtract, multiply, divide, maximum, minimum   (a, b), Numpy's broadcasting
//   ewise_fma (a, b, c)                                 a * b + c, broadcasting
//   negative, abs, exp, sqrt, tanh, sigmoid, nn.relu    (x)
//   astype (x), dtype
//   matmul (a, b), out_dtype                            as Numpy: vectors, batch dimensions broadcast; "void" as the
//                                                       type of the result (and of sums) stands for that of the
//                                                       operands
//   permute_dims (x), axes                              reverses the axes where none are given
//   reshape (x, shape)                                  one extent may be -1
//   concat (xs...), axis
//   split (x), indices_or_sections, axis                           a tuple of the parts between the indices
//   sum, max, min, mean (x), axis, keepdims             all axes where none are given
//   broadcast_to (x, shape)
//   shape_to_tensor (shape)                             extents as an int64 tensor, with known values
#pragma once

#include "graph/ir/op.h"

namespace tilewright::graph {

void AddBasicOps(OpTable* ops);

}  // namespace tilewright::graph

// Schedules for blocks that have no tensor form: elementwise, broadcasting and copying blocks, reductions, pooling,
// stencils and depthwise convolutions.
//
// The vector axis is the spatial iterator along which the block stores neighbouring elements.
//
// Without a reduction: the other loops run in parallel, the vector axis as vectors. Where all buffers are accessed in
// their own order, everything is one loop first.
//
//   for i, j: B[i, j] = f(A[i, j])       ->      for ij_0 in T.parallel(...): for ij_1 in T.vectorized(...): ...
//
// Where neighbouring instances load the same elements (stencils), a small tile of them is computed at once, so that
// each element is loaded less often:
//
//   for i, j: B[i, j] = A[i - 1, j] + A[i + 1, j]      ->      for i_0 in T.parallel(...), j_0:
//                                                                  for i_1 in T.unroll(4): for j_1 in T.vectorized(16)
//
// With a reduction that reads along the vector axis, a tile of the output stays in vector registers:
//
//   for n, h0, c0, w0 (outer ones parallel; c0 elsewhere too):
//       C_register[tile of h, w x vectors of c] = init
//       for kh, kw (unrolled where they are few):
//           C_register[...] += A[...] * W[...]
//       C[tile] = C_register                             elementwise consumers computed here
//
// Windows that are padded and large have tiles of one row, and the loop over kh stays one: an iteration of it loads
// from inside of the image or has nothing to do.
//
// Every other reduction (along the contiguous dimension, say) has its spatial loops in parallel.
//
// Choices, each after the block's name:
//   NAME.vectors         vectors of one iteration of an elementwise block
//   NAME.rows, .planes   sides of a stencil's tile, along the innermost iterator that shares loads and the one before
//   NAME.window_tile     the tile in registers, by its rank in the estimate of autoschedule/tensorize/window_tile.h
//   NAME.vector_loop     of tiles: between the loops over rows and columns (0), outermost (1), innermost (2)
//   NAME.parallel_loops  outermost loops that are fused into the parallel one; 0: serial
//   NAME.stream          of autoschedule/movement/cpu/bypass_caches.h
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A refusal of "plain_rule" for blocks that share loops with others or whose iterators are not bound to loops of their
// own; on it the steps before stay applied.
Outcome<std::monostate> SchedulePlain(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

// For blocks in loops that a user arranged: keeps the order, runs the outermost loop that allows it in parallel, and
// the innermost one as vectors where it is the vector axis.
void KeepLoops(Schedule& sch, BlockRv block);

}  // namespace tilewright

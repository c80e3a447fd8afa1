// Schedules for blocks that a single tensor intrinsic of any shape computes, such as a user's own.
//
//   C[i, j] += A[i, k] * B[j, k]  with an intrinsic tile of 16 x 16 x 16 in special memory:
//
//   A_reindex, B_reindex = A, B as [.., fused i, fused k], [.., fused j, fused k], padded to multiples of the tile
//   for i0, j0 (outer ones parallel):
//       C_reindex = 0                                   in the scope that the intrinsic wants
//       for k0:
//           A_special, B_special = tiles of A_reindex, B_reindex
//           intrinsic(C_reindex, A_special, B_special)
//       C[...] = C_reindex
//
// Steps: the mapping (autoschedule/tensorize/tensor_mapping.h) gives each operand a layout by reindex and
// transform_layout and the block its iterators by transform_block_layout; pad_einsum_in_place; tiles; blockize; cache
// reads and compute_at; decompose_reduction; tensorize. Copies of constant operands are made ahead of time.
//
// Choices, each after the block's name:
//   NAME.mapping           which of the mappings, least waste first
//   NAME.block_ITERATOR    tiles along a spatial iterator of the intrinsic that follow each other before the others
//   NAME.parallel_loops    outermost loops that are fused into the parallel one; 0: serial
#pragma once

#include <variant>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/tensorize/tensor_mapping.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// `mappings` are those of the block with intrinsics that the schedule's registry knows; not empty. On a refusal
// the steps before it stay applied.
Outcome<std::monostate> ScheduleTensorized(Schedule& sch, BlockRv block, const std::vector<TensorMapping>& mappings,
                                           const Target& target, Choices& choices);

}  // namespace tilewright

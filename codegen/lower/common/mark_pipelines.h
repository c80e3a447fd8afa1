// Marks the statements of loops that are software pipelines, while blocks still tell them apart.
//
//   for i in T.serial(16, annotations={                     for i in T.serial(16, annotations={...}):
//           "software_pipeline_stage": [0, 1],                  X = T.allocate((8,))
//           "software_pipeline_order": [0, 1]}):        =>      with T.attr("X", "software_pipeline_statement", 0):
//       X = T.allocate((8,))                                        for j in range(8):
//       for j in range(8):                                              with T.block("X"): ...
//           with T.block("X"): ...                              with T.attr("B", "software_pipeline_statement", 1):
//       for j in range(8):                                          for j in range(8):
//           with T.block("B"): ...                                      with T.block("B"): ...
//
// The statements of a loop are those of the sequence it holds, also inside of a block without a predicate that is alone
// in it. software_pipeline.h says what stages and orders mean.
//
// A loop without these annotations in which a buffer lies that is double-buffered (its block has the annotation
// double_buffer_scope) becomes a pipeline of two stages: what writes such buffers belongs to the first, all else to the
// second. So the next part is loaded while the present one is used.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

// Refuses loops that are neither serial nor unrolled, lists that are not one number for each statement, orders that are
// no permutation, negative stages, asynchronous stages that no statement has, and double-buffered buffers that do not
// belong to the iterations of a loop.
absl::StatusOr<Function> MarkPipelines(const Function& function);

}  // namespace tilewright

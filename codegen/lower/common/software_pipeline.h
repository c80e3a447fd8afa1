// Overlaps the iterations of loops that are annotated as software pipelines.
//
//   for i in T.serial(16, annotations={              X = T.allocate((2, 8))
//           "software_pipeline_stage": [0, 1],       for j in range(8): X[0, j] = A[0, j]                # prologue
//           "software_pipeline_order": [0, 1]}):     for i in range(15):                                # body
//       X = T.allocate((8,))                     =>      for j in range(8): X[(i + 1) % 2, j] = A[i + 1, j]
//       for j in range(8): X[j] = A[i, j]                for j in range(8): B[i, j] = X[i % 2, j] * 2
//       for j in range(8): B[i, j] = X[j] * 2        for j in range(8): B[15, j] = X[1, j] * 2           # epilogue
//
// In step t of the pipeline the statement of stage s executes iteration t - s, where there is one; the statements of a
// step run in their given order. So a statement of a later stage uses what earlier stages computed some steps ago, and
// loads of the next iterations overlap with the use of the present one. A loop of n iterations whose last stage is S
// takes n + S steps: S of prologue and S of epilogue, written out, and a loop of n - S between them. With fewer
// iterations than stages that loop has none, and conditions select what there is.
//
// A buffer that is allocated in the loop gets as many versions as iterations use it at the same time, and moves out of
// the loop; a double-buffered one (storage_annotations.h) has at least two.
//
// A pipeline with roles (software_pipeline_roles) that runs several times, in loops around it, takes the versions of
// its buffers in turn over all of its runs: copies of the next run may begin while the last of this one are used.
//
// Programs mean what they mean without the annotations. Refused is an order that could change that: when two statements
// that touch the same memory, one of them writing, would change their order (of different iterations too, where their
// regions are not known to be apart); and what cannot be multiplied: a buffer whose address is taken, that a layout
// spreads over several owners, or whose extents depend on the loop.
//
// software_pipeline_async_stages names stages that may run asynchronously. On a CPU they run in order, like the others:
// it overlaps by itself what does not depend on each other. With `asynchronous`, what they do stands below the
// attribute async_copy (codegen/lower/gpu/async_copies.h makes copies by engines of it), each step closes a group of
// copies for each of these stages, and before a statement that uses what such a stage wrote, a wait leaves as many of
// the latest groups in flight as were issued after the one it needs.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// After MarkPipelines, when there are no blocks any more. Stages are asynchronous on GPUs alone.
absl::StatusOr<Function> InjectPipelines(const Function& function, const Target& target);

}  // namespace tilewright

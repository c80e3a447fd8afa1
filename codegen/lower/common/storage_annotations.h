// Moves what blocks say about the storage of the buffers they write to where the buffers are allocated.
//
//   X = T.allocate((16, 32))                                     X = T.allocate((16, 32),
//   for i, j in T.grid(16, 32):                                                 {"buffer_dim_align": [[0, 32, 8]]})
//       with T.block("X"):                                 =>    for i, j in T.grid(16, 32):
//           T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})      with T.block("X"):
//           X[i, j] = A[i, j]                                            X[i, j] = A[i, j]
//
// Three annotations are known:
//   - buffer_dim_align, a list of [write buffer, axis, factor, offset]: see align_strides.h, which honours it;
//   - double_buffer_scope, the number of a write buffer: see mark_pipelines.h;
//   - buffer_layout, a list of [write buffer, name]: see place_layouts.h.
// It runs after allocations are placed and before blocks lose their signatures.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

// Refuses annotations of another form, and those of buffers that are not allocated in the function.
absl::StatusOr<Function> PlaceStorageAnnotations(const Function& function);

// The numbers of a list of integers; nothing when it is no such list.
std::optional<std::vector<int64_t>> AsIntegers(const Annotation& annotation);

}  // namespace tilewright

// Lets the engine for bulk tensor copies (TMA, sm_90) copy whole boxes that one thread would copy asynchronously.
//
//   with T.attr(0, "async_copy", 1):               if tx == 0:
//       for i, j in T.grid(128, 64):                   T.cuda.tma_load(T.address_of(S[s, 0, 0]), map of A, k * 64, m * 128)
//           if tx == 0:                        =>
//               S[s, i, j] = A[m * 128 + i, k * 64 + j]
//
// A box is a nest of loops over the last two dimensions of a buffer in shared memory (or the last alone), each of which
// runs along one dimension of an array in global memory; the last dimension of both is the same. Where the elements of
// the box lie must be a form of the engine: rows of 32, 64 or 128 bytes with that swizzle, or of any multiple of 16
// bytes without. Wider boxes with a swizzle are cut into panels. In a pipeline whose copies are a producer's
// (warp_roles.h) all threads may copy a whole tile together, as for other kernels. Where zero is stored in the place of
// what is outside of the array, the engine does so too. Rows may also be pixels of an image (images/image_rows.h): the
// engine finds them by an im2col map. What is no such box is left as it is.
//
// In a pipeline whose copies are a producer's, what all blocks of a cluster need they copy for each other
// (multicast.h): each copies some of the rows, to all of them.
//
// The result is an instruction with the loops as its body (codegen/lower/common/instruction_attributes.h);
// bulk_barriers.h says when it is done. The map, T.cuda.tensor_map(array, type, span, rank, extents..., strides...,
// box...), innermost dimension first and strides in bytes, is encoded when the kernel is launched. In an im2col map,
// T.cuda.im2col_map(array, type, span, rank, extents..., strides..., channels, pixels, lower..., upper..., steps...),
// corners and steps are those of the axes of pixels.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

inline constexpr char kTensorMap[] = "cuda.tensor_map";
inline constexpr char kIm2colMap[] = "cuda.im2col_map";
inline constexpr char kBulkLoad[] = "cuda.tma_load";
// Behind the map come the mask of the blocks that receive the box, and how many such boxes each of them receives.
inline constexpr char kBulkMulticast[] = "cuda.tma_load_multicast";
// The names of ranks 3 to 5: "cuda.tma_load_im2col_4d".
inline constexpr char kIm2colLoad[] = "cuda.tma_load_im2col_";

bool IsBulkLoad(const CallNode& call);
bool IsTensorMap(const CallNode& call);
// Bytes that one copy by the map writes.
int64_t BytesOfBox(const CallNode& map);

// Expects buffers with their shapes.
Function MakeBulkCopies(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright

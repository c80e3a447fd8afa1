// Lets the engine for bulk tensor copies (TMA, sm_90) store tiles that the threads of a block would store.
//
//   for f in range(8):                                      if ty == 0 and tx == 0:
//       for v in T.vectorized(8):                   =>         T.cuda.tma_store(map, T.address_of(S[0, 0]), n, m)
//           if m + row < 1000:                                 T.cuda.tma_store(map, T.address_of(S[0, 64]), n + 64, m)
//               C[m + row, n + column] = S[row, column]
//   where row, column = element f * 2048 + ty * 1024 + tx * 8 + v of the tile
//
// A tile is copied whole from a buffer in shared memory whose rows are swizzled as the engine does it (32, 64 or 128
// bytes; wider ones are panels): by all threads together, each its part (first_threads_nest.h), or by the first one. In
// the array its rows and columns run along one dimension each, or lie at equal distances however many dimensions they
// run through: pixels of images that follow each other are rows of one matrix. What is not stored has to be outside of
// the array, where the engine stores nothing. What is no such tile is left as it is: vectors.
//
// The result is an instruction with the loops as its body (codegen/lower/common/instruction_attributes.h). Before it
// threads write the tile, fence the proxy and meet; who stores waits until the tile is read (order_async.h).
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

inline constexpr char kBulkStore[] = "cuda.tma_store";

// Expects buffers with their shapes.
Function MakeBulkStores(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright

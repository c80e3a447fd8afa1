// Tensorize: a block (or a loop, blockized first) that computes what an intrinsic describes is replaced by the
// intrinsic's implementation, over sub-buffers.
//
//   with T.block("C_update"):                               with T.block("C_update"):
//       vi_o, vj_o, vk_o = ...                                  vi_o, vj_o, vk_o = ...
//       for i_1, j_1, k_1 in T.grid(16, 16, 16):                A_1 = T.match_buffer(A[vi_o * 16:vi_o * 16 + 16, ...],
//           with T.block("C"):                         ->                            (16, 16), strides=[A_s0, 1], ...)
//               ...                                             ...
//               C[...] = C[...] + A[...] * B[...]               T.call_extern("int32", "tmm16", ...)
//
// The description's root block is matched against the block: the same statements, loops of the same extents, the same
// expressions; each access of a parameter's buffer is the same access of a buffer of the program, shifted by an origin
// that is constant in the block. A buffer of the program may have more dimensions than the parameter; the leading ones
// are then fixed by the origin.
//
// Conditions: that match; buffers have the parameters' types and scopes; the origin is a multiple of the parameter's
// offset_factor and the strides are those that the implementation asks for, where these are known.
//
// Ids: the block's survives, those inside of it die; ids of what the implementation brings are born.
#pragma once

#include <cstdint>

#include "intrin/intrin.h"
#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct TensorizeResult {
  Function function;
  uint32_t block = 0;
};

// `target`: the id of a loop or of a block.
Outcome<TensorizeResult> Tensorize(const Function& function, uint32_t target, const TensorIntrin& intrin,
                                   bool preserve_unit_iters = true);

}  // namespace tilewright

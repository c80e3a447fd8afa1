// Blocks of their own that say what the padding of a buffer's new layout holds; a part of transform_layout.
#pragma once

#include <vector>

#include "ir/arith/iter_map.h"
#include "ir/function.h"
#include "schedule/layout/layout_rewriter.h"

namespace tilewright {

// Loops over the shape of `change.to`, and the iterators of a block that they are bound to. An index that the map keeps
// keeps its name, others are called axis0, axis1, ...
struct PaddedAxes {
  std::vector<ForNode::Fields> loops;
  std::vector<IterVar> iterators;
  std::vector<Expr> loop_vars, iterator_vars;
};
PaddedAxes AxesOf(const LayoutChange& change, const arith::PaddedInverse& inverse, uint32_t* next_id);

// A block in front of what FillPaddingBehind adds, or around the last writer, that declares more than one element of
// `change.from`: in the new layout its region has padding, which nothing has written there. Null where there is none.
const BlockNode* BlockWithPadding(const Function& function, const LayoutChange& change,
                                  const std::vector<uint32_t>& writers);

// Behind the statement that holds the last block of `writers`, in the block that allocates `change.from`:
//
//   for axis0, axis1 in T.grid(4, 4):
//       with T.block("buffer_B_padding"):
//           T.where(axis0 == 3 and 2 <= axis1)
//           to[v_axis0, v_axis1] = pad
Function FillPaddingBehind(const Function& function, const LayoutChange& change, const arith::PaddedInverse& inverse,
                           const IndexMap& pad_value, const std::vector<uint32_t>& writers);

// In front of everything else, what callers have to keep: `change.from` is a parameter that the function only reads.
//
//   for axis0, axis1 in T.grid(4, 4):
//       with T.block("buffer_A_assumptions"):
//           T.assume(not (v_axis0 == 3 and 2 <= v_axis1) or to[v_axis0, v_axis1] == pad)
Function AssumePadding(const Function& function, const LayoutChange& change, const arith::PaddedInverse& inverse,
                       const IndexMap& pad_value);

}  // namespace tilewright

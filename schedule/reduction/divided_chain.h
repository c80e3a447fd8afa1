// A chain of reductions (schedule/reduction/online_chain.h) after rfactor has taken the loop that they will share:
//
//   for i, j_0, j_1 in T.grid(8, 4, 4):       M_rf[vi, vj_0] = max(M_rf[vi, vj_0], X[vi, vj])     the part
//   for i, j_0 in T.grid(8, 4):               M[vi] = max(M[vi], M_rf[vi, vj_0])                  what combines parts
//
// and so for each reduction among the others. rescale_reduction and rescale_parts build their nests from these blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "ir/reducer.h"
#include "schedule/core/refusal.h"
#include "schedule/reduction/online_chain.h"

namespace tilewright {

// A block with the loops around it.
struct PlacedBlock {
  const BlockRealizeNode* realize = nullptr;
  std::vector<const ForNode*> loops;
};
PlacedBlock Place(const Function& function, uint32_t block);

// What running values and corrections are stored to: the shape of the first reduction's partial results, whose last
// dimension counts iterations.
struct RunningBuffers {
  Buffer before, running;                    // null where parts do not follow each other
  std::vector<Buffer> references, rescales;  // one of each factor
};

struct DividedChain {
  Function function;  // with the blocks of parts
  OnlineChain chain;  // of the function before
  bool apart = false;
  std::vector<uint32_t> parts;         // blocks of partial results, that of the first reduction first
  PlacedBlock combining;               // the first reduction's second step
  Reducer reducer;                     // of it
  std::vector<const ForNode*> shared;  // loops around all blocks of the shared nest, and more
  RunningBuffers buffers;

  const Buffer& Reduced() const { return chain.first.component().accumulator.buffer; }
};

// `apart`: the parts do not follow each other. Refusals are in the name of `primitive`: those of rfactor, and of
// iterations that hold no term of the first reduction. The function that the chain is of must outlive the result.
Outcome<DividedChain> DivideChain(const char* primitive, const Function& function, OnlineChain chain, bool apart);

}  // namespace tilewright

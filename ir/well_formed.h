// What every function must satisfy, whoever made it:
//
//   * a variable or buffer is used only where it is defined, and defined once;
//   * a block's init and body use no loop variable from outside of the block: what they need of a loop is bound to an
//     iterator (the block's own or that of a block around it);
//   * ids of loops and blocks are unique, not 0 and less than the function's next_id;
//   * bindings match iterators in number and type; indices are integers, as many as the buffer has dimensions;
//     conditions are boolean; stored values have the buffer's type;
//   * elements of a parameter begin where its argument does: its elem_offset is 0 or a variable.
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct WellFormedViolation {
  uint32_t object = 0;  // id of the loop or block it lies in; 0: the function itself
  std::string reason;   // "variable i is used outside of its definition"
};

// Nothing when the function is well formed.
std::vector<WellFormedViolation> FindViolations(const Function& function);

}  // namespace tilewright

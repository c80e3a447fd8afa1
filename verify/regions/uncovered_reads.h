// What blocks read of memory that their scope allocates and that is not all written before; region_cover.h says what
// counts as written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/function.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

struct UncoveredReads {
  Diagnostics refused;                 // one for each read
  std::vector<Var> taken_as_positive;  // sizes and scalar parameters that proofs took to be at least 1
};

// `positive`: sizes and scalar parameters that may be taken to be at least 1; nothing: all of them.
UncoveredReads FindUncoveredReads(const Function& function, const std::optional<std::vector<Var>>& positive);

// "block C reads B[vi]", the start of such a diagnostic's reason.
std::string ReadOf(const Diagnostic& refused);
// Whether both are about one read of one block.
bool AreOfOneRead(const Diagnostic& a, const Diagnostic& b);

}  // namespace tilewright

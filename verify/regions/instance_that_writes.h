// Which instance of a block writes what another one reads.
//
//   B writes [v // 2, v % 2], C reads [u // 2, u % 2]: the instance v = u of B
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/region.h"
#include "ir/stmt.h"
#include "ir/substitute.h"

namespace tilewright {

// The values of the iterators with which a writer writes what is read; nothing when the regions have another form.
// Iterators that the region does not depend on are left out.
std::optional<VarMap> InstanceThatWrites(const std::vector<IterVar>& iterators, const arith::Region& written,
                                         const arith::Region& read);

}  // namespace tilewright

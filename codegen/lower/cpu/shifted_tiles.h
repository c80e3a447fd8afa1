// Tiles that overlap instead of a tile that is not full.
//
//   for t in range((n + 5) // 6):                       for t in range((n + 5) // 6):       n is 6 or more
//       for i in T.unroll(6):                               p = min(t * 6, n - 6)
//           if t * 6 + i < n:                      =>       for i in T.unroll(6):
//               B[t * 6 + i] = f(A, t * 6 + i)                  B[p + i] = f(A, p + i)
// Some rows are computed twice, which is harmless if no iteration reads what another one writes. All tiles are full,
// and their conditions at the end of the rows become constant: a window of 3 rows leaves the image in the last row of
// the last tile only.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/stmt.h"

namespace tilewright {

// Whether the statement may run twice: it does not read outer memory that it writes, and does not call anything with an
// effect.
bool MayRunTwice(const Stmt& body);

// The body of a tile that begins at `place` instead of at var * coefficient; nothing if it uses the variable otherwise.
std::optional<Stmt> AtPlace(const Stmt& body, const Var& var, int64_t coefficient, const Expr& place);

}  // namespace tilewright

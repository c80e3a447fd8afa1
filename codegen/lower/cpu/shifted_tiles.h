// Tiles that overlap instead of a tile that is not full.
//
//   for t in range((n + 5) // 6):                       for t in range((n + 5) // 6):       n is 6 or more
//       for i in T.unroll(6):                               p = min(t * 6, n - 6)
//           if t * 6 + i < n:                      =>       for i in T.unroll(6):
//               B[t * 6 + i] = f(A, t * 6 + i)                  B[p + i] = f(A, p + i)
//
// Some rows are computed twice, which changes nothing where an iteration reads nothing that one writes. All tiles are
// full then, and what they know of the end of the rows is constant: a window of 3 rows reaches beyond the end of an
// image in the last row of the last tile, and nowhere else.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/stmt.h"

namespace tilewright {

// Whether the statement may run twice: it reads no memory from outside that it writes, and calls nothing that has an
// effect.
bool MayRunTwice(const Stmt& body);

// The body of a tile that begins at `place` instead of at var * coefficient; nothing where it uses the variable in
// another way.
std::optional<Stmt> AtPlace(const Stmt& body, const Var& var, int64_t coefficient, const Expr& place);

}  // namespace tilewright

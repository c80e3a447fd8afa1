// The regions a block declares hold everything its body touches.
//
//   with T.block("B"):
//       vi = T.axis.spatial(15, i)
//       T.reads(A[vi]); T.writes(B[vi])
//       B[vi] = A[vi + 1]                  refused: A[vi + 1] is read, but only A[vi] is declared
//
// Code outside of a block trusts its signature, so a block that touches more breaks every later proof. Accesses whose
// place depends on memory or is made by an external call count as the whole buffer: declared whole, they are proven;
// otherwise reads are assumed to keep to the declared regions; writes have to be declared as they are used, B[P[vi]].
// What a block with an init reads of its own output need not be declared where it is written too.
#pragma once

#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckDeclaredRegions(const Function& function);

}  // namespace tilewright

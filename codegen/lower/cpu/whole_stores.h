// Stores of vectors to temporaries that leave out the lanes behind the end store these too, into room behind the end.
//
//   with T.decl_buffer((197,)) as E:
//       E.vstore([T.Ramp(192, 1, 16)], ..., predicate=T.Ramp(0, 1, 16) < T.Broadcast(5, 16))
//
// =>
//
//   with T.decl_buffer((208,)) as E:
//       E[192:208] = ...
// A core forwards a store to the load that follows only if the store wrote all that is loaded.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function StoreWhole(const Function& function);

}  // namespace tilewright

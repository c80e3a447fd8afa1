// Serial loops that have nothing to do with each other run at once, each on a core of its own.
//
//   for t in range(32):                          for part in T.parallel(2):
//       h[...] = f(h, x[t])                          if part < 1:
//       Y[t, 0] = h                                      for t in range(32): ...
//   for t in range(32):                  =>          else:
//       g[...] = f(g, x[31 - t])                         for t in range(32): ...
//       Y[t, 1] = g
// Steps of one recurrence are too short to divide among cores, and each waits for the one before. Another recurrence,
// such as the other direction of the same layer, does not wait for them.
// The loops are adjacent. None writes memory that another one reads or writes, as bounding boxes of their accesses
// prove. Nothing in them is parallel or called for an effect, and each takes much longer than starting threads. Where
// that depends on sizes, it is decided at run time (threads_from.h).
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// On flat programs that still have the shapes of buffers.
Function RunBeside(const Function& function, const Target& target);

}  // namespace tilewright

// Serial loops that have nothing to do with each other run at once, each on a core of its own.
//
//   for t in range(32):                          for part in T.parallel(2):
//       h[...] = f(h, x[t])                          if part < 1:
//       Y[t, 0] = h                                      for t in range(32): ...
//   for t in range(32):                  =>          else:
//       g[...] = f(g, x[31 - t])                         for t in range(32): ...
//       Y[t, 1] = g
//
// Why: steps of a recurrence are too short to share, and wait for each other; those of another recurrence, of the other
// direction of the same layer for example, do not.
//
// Loops stand one behind the other; no memory that one writes is memory that another reads or writes, which boxes of
// their accesses tell; nothing in them runs in parallel or is called for an effect; and each has much more to do than
// it takes to start threads. Where that depends on sizes, it is decided at run time (threads_from.h).
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// On flat programs that still have the shapes of buffers.
Function RunBeside(const Function& function, const Target& target);

}  // namespace tilewright

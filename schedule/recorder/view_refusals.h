// Primitives and memory that has several names (ir/shared_memory.h).
//
//   S = T.alloc_buffer((96,), "float32")
//   V = T.decl_buffer((8, 12), "float32", data=S.data)
//   block a writes S[v]; block b reads V[vi, vj]
//
// cache_write("a", 0, "local"), compute_inline("a") or transform_layout("a", ("write", 0), ...) would replace S and
// leave V as it is: primitives that replace, move or remove accesses refuse blocks with such buffers. Those that let
// iterations run in another order refuse loops below which one memory is used by two names, or by elements that
// overlap. What takes loops apart and leaves the order alone is applied as ever.
#pragma once

#include <optional>
#include <span>

#include "schedule/core/primitive.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// `args`: of the call, resolved.
std::optional<Refusal> WhyViewsForbid(const Primitive& primitive, const Function& function,
                                      std::span<const Value> args);

}  // namespace tilewright

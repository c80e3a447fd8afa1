// Memory scopes that calls name.
//
//   sch.cache_read("C", 0, "shared")               one word: a kind of memory
//   sch.cache_read("C", 0, "wmma.matrix_a")        the memory of a unit, which only intrinsics touch: with a dot
//   sch.cache_read("C", 0, "shred")                refused
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/buffer.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// The scopes that have a meaning for some target.
const std::vector<std::string>& KnownScopes();

// The scope that `text` names. Refused, in the name of `primitive`, which is about `block`, when it is not a list of
// identifiers joined by dots, or one word that is not a kind of memory: a program may give its buffers such a scope,
// but in a call it is a slip.
Outcome<Scope> ReadScope(const char* primitive, uint32_t block, std::string_view text);

}  // namespace tilewright

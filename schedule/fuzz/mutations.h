// Small changes that make valid programs wrong: what verify must notice by itself.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ir/function.h"
#include "schedule/core/random.h"

namespace tilewright::fuzz {

struct Mutation {
  const char* name;
  // Nothing when the program has no place for it.
  std::optional<Function> (*apply)(const Function& function, Random& random);
};

// Swapped bindings, regions that declare too little, a barrier less, reductions that say they are spatial, buffers that
// are too small, writes that overlap.
std::span<const Mutation> Mutations();

}  // namespace tilewright::fuzz
